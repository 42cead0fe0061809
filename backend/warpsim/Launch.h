// A launch of a decoded kernel on the simulated GPU, and the report of what it did wrong.
#ifndef BACKEND_WARPSIM_LAUNCH_H
#define BACKEND_WARPSIM_LAUNCH_H
#include "backend/warpsim/Program.h"
#include "backend/warpsim/Statistics.h"
#include "backend/warpsim/Timeline.h"
#include <functional>
#include <string>
#include <vector>

namespace tw::warpsim {

/// The subject of a report; `nameOf` gives the stable text: "race-raw", "uninit-shared", ...
enum class Kind : uint8_t {
  RaceRaw,
  RaceWar,
  RaceWaw,
  RedundantWrite,
  UninitShared,
  UninitGlobal,
  UninitRegister,
  OutOfBoundsGlobal,
  OutOfBoundsShared,
  OutOfBoundsLocal,
  OutOfBoundsParam,
  ReadOnly,
  Misaligned,
  DivergentCollective,
  DivergentBarrier,
  BadMembermask,
  InactiveLane,
  BarrierMisuse,
  Deadlock,
  Trap,
  Assertion,
  Unsupported,
  StepLimit,
  BranchIndex,
  AsyncRace,
  AsyncLeak,
  AsyncMisuse,
  MatrixMisuse,
  WarpgroupMisuse,
  RegisterRace,
  MissingFence,
  ProxyRace,
  MbarrierMisuse,
  TensorMapMisuse,
  LaunchOrder,
  ClusterMisuse
};
const char *nameOf(Kind kind);

/// One distinct finding (kind, instruction, other instruction), first occurrence in detail.
struct Finding {
  Kind kind = Kind::RaceRaw;
  bool isError = true; // RedundantWrite is information
  std::string message; // one sentence with buffer, offset, thread and previous access
  std::string buffer;  // argument, shared buffer or variable; empty unknown
  int64_t offset = 0;  // bytes from the start of the buffer
  int32_t instruction = -1, otherInstruction = -1; // into Program::code
  int32_t ptxLine = 0, otherPtxLine = 0;
  std::string file; // the user's source, when known
  int32_t sourceLine = 0, sourceColumn = 0;
  std::array<uint32_t, 3> cta = {}, thread = {}, otherThread = {};
  uint64_t count = 1; // occurrences
};

/// A named range of host memory that the kernel may touch.
struct Allocation {
  std::string name;
  uint64_t base = 0, bytes = 0;
  bool isReadOnly = false;
  std::vector<uint64_t> *initialized = nullptr; // a bit per byte with a value; null: all have one
  uint8_t skippedBytes = 0;                     // modulo 256, of a GPU's allocation before `base`
};

struct SharedBuffer {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

struct LaunchOptions {
  enum class Schedule { RoundRobin, Greedy, Reverse, Random } schedule = Schedule::RoundRobin;
  uint64_t seed = 0;
  /// When an asynchronous copy moves its bytes and a wgmma is computed: at the wait that needs it,
  /// at its issue, or between, by `completionSeed`. A right program computes the same with each.
  enum class Completion { Late, Early, Random } completion = Completion::Late;
  uint64_t completionSeed = 0;
  /// How mma and wgmma round: as a chain of fused multiply-adds, or bit for bit as the target's
  /// tensor cores are known to (some forty times slower).
  enum class Arithmetic { Fast, Exact } arithmetic = Arithmetic::Fast;
  std::vector<uint64_t> ctas; // linear numbers of the CTAs to run; empty: all
  /// Instructions after which a warp counts as in an endless loop. No further CTA begins then.
  uint64_t maxStepsPerWarp = 5'000'000;
  /// The same of all warps of a CTA, and of all CTAs together.
  uint64_t maxStepsPerCta = 100'000'000, maxStepsPerLaunch = 20'000'000'000;
  unsigned numThreads = 0; // host threads, 0: all cores
  bool checksRaces = true, checksInitialized = true;
  size_t maxFindings = 64;
  unsigned numTimelines = 0; // the first CTAs that begin have one
};

struct Launch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {32, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::string parameters; // the bytes of their space, at the offsets of Function::parameters
  /// Parameter i of pointer kind -> index into `allocations`, or -1: an address derived from it
  /// must stay there (provenance is by range: each argument's memory is one allocation).
  std::vector<int> allocationOfParameter;
  std::vector<Allocation> allocations;
  std::vector<SharedBuffer> sharedBuffers;         // names for reports
  bool beginsEarly = false, isCooperative = false; // griddepcontrol; all CTAs are there at once
  LaunchOptions options;
  /// Output of device printf, called in CTA order per CTA; unset: standard output.
  std::function<void(const std::string &)> print;
  /// Asked now and then on the thread that called `simulate`; true: stop here. May be unset.
  std::function<bool()> isInterrupted;
};

struct SimulationReport {
  std::vector<Finding> findings;
  Statistics statistics;
  std::vector<Timeline> timelines; // by CTA
  bool isInterrupted = false;      // by Launch::isInterrupted: the rest is incomplete
  bool hasErrors() const;
  /// A JSON object {"findings": [...], "statistics": {...}}; keys as the fields above. Where there
  /// are timelines, they and their instructions are in it, too.
  std::string json(const Program &program) const;
  /// The findings for people, and the same with a line of statistics.
  std::string findingsText(const Program &program) const;
  std::string text(const Program &program) const;
};

} // namespace tw::warpsim
#endif
