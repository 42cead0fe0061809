// Who runs of the programs of a cooperative grid.
#ifndef BACKEND_REFERENCE_TURNS_H
#define BACKEND_REFERENCE_TURNS_H
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tw::reference {

/// Programs have a thread each, and run in turns, each for some operations: a context of MLIR
/// serves one thread at a time, and the same launch does the same every time.
class Turns {
public:
  explicit Turns(uint64_t count);
  /// Waits for a program's first turn. False, here and below: the launch is to stop.
  bool begin(uint64_t program);
  /// Before each operation: the turn may go to the others.
  bool step(uint64_t program);
  /// After the last one; all others stop, too, if it failed.
  void end(uint64_t program, bool stops);
  void stop();
  bool isStopped() const { return hasStopped; }

private:
  bool wait(std::unique_lock<std::mutex> &lock, uint64_t program);
  void handOn(uint64_t program);
  void stopAll();

  std::mutex mutex;                           // guards what follows
  std::vector<std::condition_variable> wakes; // one for each program
  std::vector<bool> hasEnded;
  uint64_t current = 0; // whose turn it is
  std::atomic<bool> hasStopped = false;
  int stepsLeft; // of the one whose turn it is, which alone counts
};

} // namespace tw::reference
#endif
