// A running launch: its CTAs, and what they share.
#ifndef BACKEND_WARPSIM_CORE_MACHINE_H
#define BACKEND_WARPSIM_CORE_MACHINE_H
#include "backend/warpsim/core/clocks/ProxyFences.h"
#include "backend/warpsim/core/memory/Memory.h"
#include "backend/warpsim/core/state/AsyncCopies.h"
#include "backend/warpsim/core/state/AsyncProducts.h"
#include "backend/warpsim/core/state/Barrier.h"
#include "backend/warpsim/core/state/BulkCopies.h"
#include "backend/warpsim/core/state/Cluster.h"
#include "backend/warpsim/core/state/Coverage.h"
#include "backend/warpsim/core/state/Findings.h"
#include "backend/warpsim/core/state/Interaction.h"
#include "backend/warpsim/core/state/InterruptPoll.h"
#include "backend/warpsim/core/state/Prepared.h"
#include "backend/warpsim/core/state/Warp.h"
#include <random>

namespace tw::warpsim {

/// The state that all CTAs of a launch share.
struct LaunchState {
  LaunchState(const Program &program, const Launch &launch, const Function &kernel);
  /// The number in the grid of the CTA that begins as number `index`.
  uint64_t numberOf(uint64_t index) const {
    return launch.options.ctas.empty() ? index : launch.options.ctas[index];
  }
  const Program &program;
  const Launch &launch;
  const Function &kernel;
  unsigned numThreads, numWarps;
  std::array<uint32_t, 3> cluster; // CTAs along each axis
  unsigned clusterSize() const { return cluster[0] * cluster[1] * cluster[2]; } // in CTAs
  unsigned arch; // NN of the program's target sm_NN
  uint32_t sharedBytes;
  uint64_t localBytes = 0;
  Synchronization sync;
  bool hasProducts = false; // the kernel has wgmma
  std::vector<Prepared> prepared;
  GlobalMemory memory;
  FindingLog findings;
  SyncTable released;
  InterruptPoll interrupts;
  std::atomic<bool> hasHitStepLimit = false; // no further CTA begins
  std::atomic<uint64_t> numSteps = 0;        // warp instructions, as far as CTAs have told
  std::vector<Timeline> timelines;           // of CTAs that have ended
};

/// Why a warp has stopped: it waits at a barrier; it has ended; it has read the same values
/// again and again; it has run as long as it may; others see what it does next.
enum class Stop { Blocked, Ended, Fruitless, Preempted, AtSync };

/// One CTA.
class Cta {
public:
  explicit Cta(LaunchState &launch);
  /// `index` is its place among the CTAs that run.
  void start(uint64_t number, uint64_t index);
  /// Runs a CTA whose warps cannot see in which order they run, to its end.
  void run();
  /// Runs the CTAs of a cluster to their end.
  static void runTogether(Cluster &cluster);
  bool isClustered() const { return cluster->ctas.size() > 1; }
  /// Runs a warp up to the next instruction that others see, and through that one first where
  /// `passesSync` of the warp is set. It counts as fruitless after `maxFruitless` reads of the same
  /// values.
  Stop advance(Warp &warp, uint64_t maxSteps, uint32_t maxFruitless);
  /// True when no warp can go on by itself: then it has ended, perhaps by a deadlock, reported
  /// here.
  bool hasEnded();
  /// Lets other lanes of the warps that spin go on: it may be those that they wait for. False where
  /// there are none.
  bool rotateSpinners();
  /// Says of every warp that has not ended what it waits for, and ends it.
  void reportDeadlock();

  LaunchState &launch;
  uint64_t number = 0;        // in the grid
  Cluster *cluster = nullptr; // with itself alone where there are no clusters
  unsigned rank = 0;          // in the cluster
  uint32_t slot = 0;          // among the CTAs that run, from 1: who it is in records and clocks
  bool isAhead = false;       // begun before others of lower number
  std::array<uint32_t, 3> position = {};
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  TrackedBytes shared;
  ShadowPage sharedShadow;
  Clocks clocks;       // where barriers order by themselves, of all memory; else of shared memory
  Clocks globalClocks; // where they do not
  Coverage coverage;
  AsyncCopies async;
  AsyncProducts products;
  BulkCopies bulk;
  RegisterShares registerShares;
  ProxyFences proxyFences;
  std::map<uint64_t, SyncObject> released; // offsets in shared memory
  std::string printed;
  uint64_t clock = 0;
  uint64_t numChanges = 0; // values that strong writes have changed
  Statistics statistics;
  std::vector<uint64_t> executed;      // warp instructions by pc
  std::vector<LineStatistics> counted; // by pc, without warpInstructions
  std::vector<uint32_t> regionHints;   // by pc: index of the region last touched
  Timeline timeline;
  bool isStopped = false; // by a trap, a failed assertion, a limit or an interrupt
  Clocks &clocksOf(bool isShared) {
    return launch.program.isAmdgcn && !isShared ? globalClocks : clocks;
  }
  std::array<uint32_t, 3> threadPosition(unsigned warp, unsigned lane) const;
  /// Counts a fault; `describe` fills in the finding when its details are wanted.
  template <typename Describe>
  void report(Kind kind, const Warp &warp, unsigned lane, int32_t pc, Describe describe,
              int32_t otherPc = -1);

private:
  Cluster alone;
  Stop runWarp(Warp &warp, uint64_t maxSteps), runTurn(Warp &warp, uint64_t maxSteps);
  template <bool hasProducts> void runPlain(Warp &warp);
  void execute(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
  void executeControl(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
  bool readGuard(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask &active);
  bool isFruitless(Warp &warp) const;
  void stopAtLimit(Warp &warp, int32_t pc, LaneMask active, const char *who, uint64_t limit);
  bool checkLimits(Warp &warp, int32_t pc, LaneMask active);
  Warp *nextWarp();
  uint64_t sliceLength();

  unsigned lastWarp = 0;
  uint64_t nextPoll = 0, numTold = 0; // values of `clock`
  uint32_t maxFruitlessReads = ~uint32_t(0);
  std::mt19937_64 random;
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
  launch.findings.add(std::move(finding), number, otherPc);
}

} // namespace tw::warpsim
#endif
