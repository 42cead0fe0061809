// Runs the programs of a grid on the cores of this machine.
#include "backend/cpu/GridRun.h"
#include "backend/cpu/MatrixUnit.h"
#include "runtime/threads/Gang.h"
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tw;

namespace {
/// Gives the kernel the default floating-point environment, whatever the caller's thread has set:
/// round to nearest even, denormals kept. And orders non-temporal stores before the launch returns.
class KernelEnvironment {
public:
#if defined(__x86_64__)
  KernelEnvironment() : saved(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~KernelEnvironment() {
    _mm_sfence();
    _mm_setcsr(saved);
  }

private:
  unsigned saved;
#endif
};

/// The bounds of the work of loops between two polls, in steps of about a nanosecond: how many
/// follows from how long the last ones took.
constexpr int32_t kFirstSteps = 1 << 10, kMostSteps = 1 << 16;
/// The steps of a program that others may wait for, on fewer cores than there are programs: then it
/// yields.
constexpr int32_t kStepsBeforeYield = 1 << 6;

/// A worker's chunk of programs; `tw_poll` finds it from the program, its first member.
struct Chunk {
  TwProgram program;
  GridRun *run;
  bool isCaller;
  int32_t stepsPerPoll = kFirstSteps;
  std::chrono::steady_clock::time_point lastPoll = {};
  jmp_buf exit;
};
static_assert(offsetof(Chunk, program) == 0);
} // namespace

bool InterruptPoll::look() {
  auto now = Clock::now();
  if (lastLook == Clock::time_point())
    lastLook = now;
  auto elapsed = now - lastLook;
  lastLook = now;
  if (elapsed < std::chrono::milliseconds(1))
    stride = std::min<uint64_t>(2 * stride, 1 << 16);
  else if (elapsed > std::chrono::milliseconds(10))
    stride = 1;
  untilLook = stride;
  return interrupts.ask();
}

/// Leaves the kernel by a jump: compiled code owns nothing, so nothing has to be unwound.
extern "C" void tw_poll(TwProgram *program) {
  auto &chunk = *reinterpret_cast<Chunk *>(program);
  GridRun &run = *chunk.run;
  auto now = std::chrono::steady_clock::now();
  auto elapsed = now - chunk.lastPoll;
  if (elapsed < std::chrono::microseconds(100))
    chunk.stepsPerPoll = std::min(2 * chunk.stepsPerPoll, kMostSteps);
  else if (elapsed > std::chrono::milliseconds(10) && chunk.lastPoll.time_since_epoch().count())
    chunk.stepsPerPoll = 1;
  program->untilPoll = chunk.stepsPerPoll;
  chunk.lastPoll = now;
  if (run.launch.isCooperative) {
    program->untilPoll = std::min(chunk.stepsPerPoll, kStepsBeforeYield);
    sched_yield();
  }
  if (chunk.isCaller) {
    // A handler of a signal may run kernels, ours or others'.
    KeptMatrixConfiguration configuration;
    if (run.interrupts.ask())
      run.interrupt();
    run.locks.get(); // the handler may have forked
  }
  if (linearProgram(*program) >= run.launch.end.load(std::memory_order_relaxed))
    longjmp(chunk.exit, 1);
}

void tw::leaveKernel(const TwProgram &program) {
  longjmp(const_cast<Chunk &>(reinterpret_cast<const Chunk &>(program)).exit, 1);
}

/// Programs [begin, end) of the grid, of which `program` is the first.
static void runChunk(GridRun &run, TwProgram &program, uint64_t begin, uint64_t end,
                     bool isCaller) {
  const auto &extents = run.grid.programs;
  for (uint64_t i = begin; i < end; ++i) {
    if (isCaller && run.polls.isDue()) {
      if (run.polls.look())
        run.interrupt();
      run.locks.get();
    }
    if (i >= run.launch.end.load(std::memory_order_relaxed))
      return;
    run.entry(run.arguments, &program);
    if (++program.programId[0] < extents[0])
      continue;
    program.programId[0] = 0;
    if (++program.programId[1] < extents[1])
      continue;
    program.programId[1] = 0;
    ++program.programId[2];
  }
}

/// Programs [begin, end) of the grid, x fastest.
static void runPrograms(void *context, int worker, uint64_t begin, uint64_t end) {
  GridRun &run = *static_cast<GridRun *>(context);
  const auto &extents = run.grid.programs;
  Chunk chunk;
  TwProgram &program = chunk.program;
  chunk.run = &run;
  chunk.isCaller = worker == 0 && !run.launch.isCooperative;
  program.untilPoll = run.launch.isCooperative ? kStepsBeforeYield : kFirstSteps;
  memcpy(program.numPrograms, extents.data(), sizeof(program.numPrograms));
  program.scratch = run.scratch.piece(worker);
  program.launch = &run.launch;
  program.arguments = run.launch.arguments.data();
  program.locks = run.locks.get();
  program.programId[0] = int32_t(begin % uint64_t(extents[0]));
  uint64_t rows = begin / uint64_t(extents[0]);
  program.programId[1] = int32_t(rows % uint64_t(extents[1]));
  program.programId[2] = int32_t(rows / uint64_t(extents[1]));
  KernelEnvironment environment;
  if (_setjmp(chunk.exit))
    return releaseMatrixUnit();
  runChunk(run, program, begin, end, chunk.isCaller);
}

/// While the thread that launched waits for the others.
static void pollForInterrupt(void *context) {
  GridRun &run = *static_cast<GridRun *>(context);
  if (!run.isInterrupted && run.interrupts.ask())
    run.interrupt();
}

/// Work below this is done before another thread has begun; measured beside a team that is awake.
static constexpr uint64_t kAloneNanoseconds = 4000;
/// Work that was expected to be short is handed out when it has taken this long.
static constexpr uint64_t kPatienceNanoseconds = 4 * kAloneNanoseconds;

/// Programs are handed out for at least so long at once: so much is lost at the end at most, and
/// what handing out costs, some 100 nanoseconds, does not count.
static constexpr uint64_t kChunkNanoseconds = 2000;

using Clock = std::chrono::steady_clock;

static uint64_t nanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

/// Runs a launch that was short the last time, or whose length is unknown, on this thread; in
/// slices, so that it is not alone for long if it is a long one. `run.numDone` says how far it got.
static void runAlone(GridRun &run, uint64_t count, Clock::time_point start) {
  const uint64_t slice = (count + 7) / 8;
  while (run.numDone < count) {
    uint64_t end = std::min(count, run.numDone + slice);
    runPrograms(&run, 0, run.numDone, end);
    run.numDone = end;
    if (nanosecondsSince(start) > kPatienceNanoseconds)
      return;
  }
}

static void runHandedOut(void *context, int worker, uint64_t begin, uint64_t end) {
  uint64_t first = static_cast<GridRun *>(context)->numDone;
  runPrograms(context, worker, first + begin, first + end);
}

std::optional<RuntimeError> tw::runTogether(GridRun &run, uint64_t count) {
  auto call = [](void *context, int member) {
    runPrograms(context, member, uint64_t(member), uint64_t(member) + 1);
  };
  GangOutcome outcome = runGang(int(count), {call, &run, pollForInterrupt});
  if (outcome == GangOutcome::Forked)
    run.isInterrupted = true;
  if (outcome != GangOutcome::NoThreads)
    return std::nullopt;
  return tooFewThreads(run.grid, run.launch.kernel);
}

bool tw::runGrid(GridRun &run, uint64_t count, ThreadPool &pool, const ThreadPool::Plan &plan,
                 std::atomic<uint32_t> &programNanoseconds) {
  Clock::time_point start = Clock::now();
  uint64_t program = programNanoseconds.load(std::memory_order_relaxed);
  uint64_t expected = program * count;
  // Unknown: the first slice tells. One program has nobody to share with.
  bool isShort = expected < kAloneNanoseconds || count == 1 || plan.numWorkers == 1;
  if (isShort)
    runAlone(run, count, start);
  uint64_t numAlone = run.numDone;
  uint64_t spent = nanosecondsSince(start);
  uint64_t least = std::max<uint64_t>(1, kChunkNanoseconds / std::max<uint64_t>(1, program));
  ChunkFunction handOut = {runHandedOut, &run, pollForInterrupt, program ? least : 1};
  bool isWhole = pool.run(plan, count - numAlone, handOut);
  uint64_t each = numAlone ? spent / numAlone : nanosecondsSince(start) * plan.numWorkers / count;
  programNanoseconds.store(uint32_t(std::clamp<uint64_t>(each, 1, ~0u)), std::memory_order_relaxed);
  return isWhole;
}
