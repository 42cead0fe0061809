// A running launch: its CTAs, and what they share.
#ifndef BACKEND_WARPSIM_CORE_MACHINE_H
#define BACKEND_WARPSIM_CORE_MACHINE_H
#include "backend/warpsim/core/AsyncCopies.h"
#include "backend/warpsim/core/Findings.h"
#include "backend/warpsim/core/Memory.h"
#include "backend/warpsim/core/Warp.h"
#include <chrono>
#include <random>
#include <thread>

namespace tw::warpsim {

/// One of a CTA's 16 named barriers.
struct Barrier {
  unsigned expectedWarps = 0, arrivedWarps = 0; // expected 0: nobody has arrived
  bool isReduction = false, isOfAll = false;    // without a count: whoever exits is not waited for
  std::vector<LaneMask> arrived, receivers, parked; // by warp
  unsigned numTrue = 0, numLanes = 0;
  std::vector<int32_t> reducePc; // by warp: where the result goes
};

/// Decided once per instruction and launch.
struct Prepared {
  Handler handler = nullptr;  // of operations that core/ does not execute
  bool isPlain = false;       // has one, and no guard: nothing can go wrong or elsewhere
  Region *expected = nullptr; // the array that the address is derived from, when that is known
};

/// Addresses that somebody released, of global memory. The lock guards the map; `isUsed` says
/// without it that there is one.
struct SyncTable {
  std::mutex mutex;
  std::map<uint64_t, Knowledge> objects;
  std::atomic<bool> isUsed = false;
};

/// What all CTAs of a launch share.
/// Asks the launch whether to stop: only on the thread that launched, and not all the time.
class InterruptPoll {
public:
  explicit InterruptPoll(const std::function<bool()> &ask)
      : ask(ask), launcher(std::this_thread::get_id()), next(Clock::now() + kInterval) {}
  static constexpr std::chrono::milliseconds kInterval{50};
  bool isLauncher() const { return ask && std::this_thread::get_id() == launcher; }
  /// True when the launch is to stop.
  bool poll();
  std::atomic<bool> isInterrupted = false;

private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool()> &ask;
  std::thread::id launcher;
  Clock::time_point next; // only of the launching thread
};

struct LaunchState {
  LaunchState(const Program &program, const Launch &launch, const Function &kernel);
  const Program &program;
  const Launch &launch;
  const Function &kernel;
  unsigned numThreads, numWarps;
  unsigned arch; // NN of the program's target sm_NN
  uint32_t sharedBytes;
  uint64_t localBytes = 0;
  std::vector<Prepared> prepared;
  GlobalMemory memory;
  FindingLog findings;
  SyncTable released;
  InterruptPoll interrupts;
  std::atomic<bool> hasHitStepLimit = false; // no further CTA begins
};

enum class Turn { Finished, Progressed, Waited };

/// One CTA, resumable: `run` returns when it has ended or waits for others.
class Cta {
public:
  explicit Cta(LaunchState &launch);
  void start(uint64_t number);
  Turn run();
  /// Lets other lanes of the warps that spin go on: it may be those that they wait for. False where
  /// there are none.
  bool rotateSpinners();
  /// Says of every warp that has not ended what it waits for, and ends it.
  void reportDeadlock();

  LaunchState &launch;
  uint64_t number = 0;
  std::array<uint32_t, 3> position = {};
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  TrackedBytes shared;
  ShadowPage sharedShadow;
  Clocks clocks;
  AsyncCopies async;
  std::map<uint64_t, Knowledge> released; // addresses of shared memory
  std::string printed;
  uint64_t clock = 0;
  Statistics statistics;
  std::vector<uint64_t> executed;    // warp instructions by pc
  std::vector<uint32_t> regionHints; // by pc: index of the region last touched
  bool isStopped = false;            // by a trap, a failed assertion, a limit or an interrupt

  std::array<uint32_t, 3> threadPosition(unsigned warp, unsigned lane) const;
  /// Counts a fault; `describe` fills in the finding when its details are wanted.
  template <typename Describe>
  void report(Kind kind, const Warp &warp, unsigned lane, int32_t pc, Describe describe,
              int32_t otherPc = -1);

private:
  enum class Stop { Blocked, Ended, Fruitless, Preempted };
  Stop runWarp(Warp &warp, uint64_t maxSteps);
  void runPlain(Warp &warp);
  void execute(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
  void executeControl(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
  bool readGuard(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask &active);
  bool isFruitless(Warp &warp);
  bool isInterrupted();
  void stopAtLimit(Warp &warp, int32_t pc, LaneMask active);
  Warp *nextWarp();
  uint64_t sliceLength();

  unsigned lastWarp = 0;
  uint64_t nextPoll = 0; // value of `clock`
  std::mt19937_64 random;
  std::vector<bool> isSpinning; // by warp, since somebody last got on
};

template <typename Describe>
void Cta::report(Kind kind, const Warp &warp, unsigned lane, int32_t pc, Describe describe,
                 int32_t otherPc) {
  if (!launch.findings.count(kind, pc, otherPc, number))
    return;
  Finding finding;
  finding.kind = kind;
  finding.instruction = pc;
  finding.otherInstruction = otherPc;
  finding.cta = position;
  finding.thread = finding.otherThread = threadPosition(warp.index, lane);
  describe(finding);
  launch.findings.add(std::move(finding), number);
}

} // namespace tw::warpsim
#endif
