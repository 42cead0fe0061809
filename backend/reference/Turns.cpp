// The programs of a cooperative grid hand the interpreter to each other in order.
#include "backend/reference/Turns.h"

using namespace tw::reference;

/// The operations of a turn: some iterations of a loop that waits, which has about four of them.
static constexpr int kOperationsPerTurn = 64;

Turns::Turns(uint64_t count) : wakes(count), hasEnded(count), stepsLeft(kOperationsPerTurn) {}

bool Turns::wait(std::unique_lock<std::mutex> &lock, uint64_t program) {
  wakes[program].wait(lock, [&] { return current == program || hasStopped; });
  return !hasStopped;
}

/// To the next that has not ended, if there is one.
void Turns::handOn(uint64_t program) {
  stepsLeft = kOperationsPerTurn;
  for (uint64_t i = 1; i <= wakes.size(); ++i) {
    uint64_t next = (program + i) % wakes.size();
    if (hasEnded[next])
      continue;
    current = next;
    wakes[next].notify_one();
    return;
  }
}

bool Turns::begin(uint64_t program) {
  std::unique_lock lock(mutex);
  return wait(lock, program);
}

bool Turns::step(uint64_t program) {
  if (hasStopped)
    return false;
  if (--stepsLeft > 0)
    return true;
  std::unique_lock lock(mutex);
  handOn(program);
  return wait(lock, program);
}

void Turns::end(uint64_t program, bool stops) {
  std::lock_guard lock(mutex);
  hasEnded[program] = true;
  if (stops)
    stopAll();
  else
    handOn(program);
}

void Turns::stopAll() {
  hasStopped = true;
  for (std::condition_variable &wake : wakes)
    wake.notify_all();
}

void Turns::stop() {
  std::lock_guard lock(mutex);
  stopAll();
}
