// CTAs as resumable jobs of a team of host threads.
#include "backend/warpsim/core/Grid.h"
#include "backend/warpsim/ptx/Parse.h"
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

using namespace tw::warpsim;

// Turns without progress that each waiting CTA gets before that counts as a deadlock, and before
// lanes that wait for others of their own warp let those go on. Only when nobody else can: lanes
// that go on without the others may diverge at a barrier, which a short wait must not cause.
constexpr uint64_t kFruitlessTurns = 64, kTurnsBeforeRotation = 4, kMaxRotations = 64;
constexpr size_t kMaxThreads = 64;

namespace {
class GridRun {
public:
  explicit GridRun(LaunchState &launch);
  void work();
  Statistics finish();
  uint64_t numCtas() const { return count; }

private:
  std::unique_ptr<Cta> take(std::unique_lock<std::mutex> &lock);
  std::unique_ptr<Cta> startNext();
  void giveBack(std::unique_ptr<Cta> cta, Turn turn);
  /// All CTAs have begun, and each has had its turns in vain. Final once none is running.
  bool isStuck(uint64_t turns) const {
    return !hasNext() && !waiting.empty() && fruitlessTurns > turns * (waiting.size() + numRunning);
  }
  bool rotateWaiting();
  void endWaiting();
  void waitForChange(std::unique_lock<std::mutex> &lock);
  /// Whether CTAs may still begin.
  bool hasNext() const { return nextIndex < count && !launch.hasHitStepLimit; }
  void print();
  uint64_t numberOf(uint64_t index) const {
    const std::vector<uint64_t> &chosen = launch.launch.options.ctas;
    return chosen.empty() ? index : chosen[index];
  }

  LaunchState &launch;
  uint64_t count;
  std::mutex mutex; // guards all below
  std::condition_variable changed;
  uint64_t nextIndex = 0, fruitlessTurns = 0, numRotations = 0; // the last two: since progress
  size_t numRunning = 0;
  std::deque<std::unique_ptr<Cta>> waiting; // begun, and waiting for others
  std::vector<std::unique_ptr<Cta>> idle;   // ended: registers and memory to use again
  std::map<uint64_t, std::string> printed;  // by CTA, of those that printed
};
} // namespace

GridRun::GridRun(LaunchState &launch) : launch(launch) {
  const auto &grid = launch.launch.grid;
  uint64_t total = uint64_t(grid[0]) * grid[1] * grid[2];
  count = launch.launch.options.ctas.empty() ? total : launch.launch.options.ctas.size();
}

std::unique_ptr<Cta> GridRun::startNext() {
  std::unique_ptr<Cta> cta;
  if (idle.empty()) {
    cta = std::make_unique<Cta>(launch);
  } else {
    cta = std::move(idle.back());
    idle.pop_back();
  }
  cta->start(numberOf(nextIndex++));
  return cta;
}

/// True when some lanes that wait have let others of their warps go on.
bool GridRun::rotateWaiting() {
  if (numRotations == kMaxRotations)
    return false;
  bool hasRotated = false;
  for (std::unique_ptr<Cta> &cta : waiting)
    hasRotated |= cta->rotateSpinners();
  ++numRotations;
  return hasRotated;
}

/// Those that are left wait for what nobody does: unless a limit has stopped whom they wait for.
void GridRun::endWaiting() {
  for (std::unique_ptr<Cta> &cta : waiting) {
    if (!launch.hasHitStepLimit)
      cta->reportDeadlock();
    printed[cta->number] = std::move(cta->printed);
    idle.push_back(std::move(cta));
  }
  waiting.clear();
}

/// Until another thread is done with a CTA. The launching thread wakes up to poll for interrupts.
void GridRun::waitForChange(std::unique_lock<std::mutex> &lock) {
  if (!launch.interrupts.isLauncher())
    return changed.wait(lock);
  changed.wait_for(lock, InterruptPoll::kInterval);
  lock.unlock();
  launch.interrupts.poll();
  lock.lock();
}

/// The next CTA to run, or null when there is none left.
std::unique_ptr<Cta> GridRun::take(std::unique_lock<std::mutex> &lock) {
  while (!launch.interrupts.isInterrupted) {
    if (isStuck(kTurnsBeforeRotation) && numRunning > 0) {
      waitForChange(lock);
      continue;
    }
    if (isStuck(kTurnsBeforeRotation) && rotateWaiting())
      fruitlessTurns = 0;
    if (isStuck(kFruitlessTurns))
      endWaiting();
    // CTAs that wait go before new ones, unless all have been tried in vain: so few are in memory.
    bool mayResume = !waiting.empty() && (!hasNext() || fruitlessTurns < waiting.size());
    if (!mayResume && hasNext())
      return startNext();
    if (mayResume) {
      std::unique_ptr<Cta> cta = std::move(waiting.front());
      waiting.pop_front();
      return cta;
    }
    if (numRunning == 0)
      return nullptr;
    waitForChange(lock);
  }
  return nullptr;
}

void GridRun::giveBack(std::unique_ptr<Cta> cta, Turn turn) {
  fruitlessTurns = turn == Turn::Waited ? fruitlessTurns + 1 : 0;
  numRotations = turn == Turn::Waited ? numRotations : 0;
  if (turn != Turn::Finished) {
    waiting.push_back(std::move(cta));
    return;
  }
  if (!cta->printed.empty())
    printed[cta->number] = std::move(cta->printed);
  idle.push_back(std::move(cta));
}

void GridRun::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (std::unique_ptr<Cta> cta = take(lock)) {
    ++numRunning;
    lock.unlock();
    Turn turn = cta->run();
    launch.interrupts.poll();
    lock.lock();
    --numRunning;
    giveBack(std::move(cta), turn);
    changed.notify_all();
  }
  changed.notify_all();
}

static std::string nameOfOperation(const Program &program, const Instruction &instruction) {
  std::string text = printInstruction(program, instruction);
  size_t begin = 0;
  if (text.starts_with("@"))
    begin = text.find_first_not_of(" \t", text.find_first_of(" \t"));
  return text.substr(begin, text.find_first_of(" \t;", begin) - begin);
}

static void add(Statistics &sum, const Statistics &part) {
  sum.warpInstructions += part.warpInstructions;
  sum.threadInstructions += part.threadInstructions;
  sum.globalLoadRequests += part.globalLoadRequests;
  sum.globalLoadSectors += part.globalLoadSectors;
  sum.globalLoadBytes += part.globalLoadBytes;
  sum.globalStoreRequests += part.globalStoreRequests;
  sum.globalStoreSectors += part.globalStoreSectors;
  sum.globalStoreBytes += part.globalStoreBytes;
  sum.sharedRequests += part.sharedRequests;
  sum.sharedWavefronts += part.sharedWavefronts;
  sum.idealSharedWavefronts += part.idealSharedWavefronts;
  sum.matrixRowGroups += part.matrixRowGroups;
  sum.matrixWavefronts += part.matrixWavefronts;
  sum.asyncCopies += part.asyncCopies;
  sum.barriers += part.barriers;
  sum.atomics += part.atomics;
  sum.localAccesses += part.localAccesses;
  sum.divergentBranches += part.divergentBranches;
}

void GridRun::print() {
  const auto &sink = launch.launch.print;
  for (const auto &[number, text] : printed) {
    if (text.empty())
      continue;
    if (sink)
      sink(text);
    else
      fwrite(text.data(), 1, text.size(), stdout);
  }
  if (!sink && !printed.empty())
    fflush(stdout);
}

Statistics GridRun::finish() {
  print();
  Statistics sum;
  std::vector<uint64_t> executed(launch.program.code.size());
  for (const std::unique_ptr<Cta> &cta : idle) {
    add(sum, cta->statistics);
    for (size_t i = 0; i < executed.size(); ++i)
      executed[i] += cta->executed[i];
  }
  for (size_t i = 0; i < executed.size(); ++i) {
    if (!executed[i])
      continue;
    sum.warpInstructions += executed[i];
    sum.mix[nameOfOperation(launch.program, launch.program.code[i])] += executed[i];
  }
  return sum;
}

Statistics tw::warpsim::runGrid(LaunchState &launch) {
  GridRun run(launch);
  size_t numThreads = launch.launch.options.numThreads;
  if (numThreads == 0)
    numThreads = std::max(1u, std::thread::hardware_concurrency());
  numThreads = std::min<size_t>({numThreads, kMaxThreads, run.numCtas()});
  std::vector<std::thread> team;
  for (size_t i = 1; i < numThreads; ++i)
    team.emplace_back([&run] { run.work(); });
  run.work();
  for (std::thread &member : team)
    member.join();
  return run.finish();
}
