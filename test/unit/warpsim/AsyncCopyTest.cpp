// cp.async: what arrives and when, and every way to touch a copy that is still in flight.
#include "SimulationHarness.h"
#include "backend/warpsim/ptx/Parse.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

/// Thread t of 64 has 16 bytes of the buffer (%r41), of `data` (%rd11) and of `out` (%rd12); %r42
/// is the place in the buffer of the thread 32 further.
static const char kSetup[] = R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r40, buffer;
  shl.b32 %r1, %r0, 4;
  add.u32 %r41, %r40, %r1;
  xor.b32 %r2, %r1, 512;
  add.u32 %r42, %r40, %r2;
  cvt.u64.u32 %rd10, %r1;
  add.s64 %rd11, %rd0, %rd10;
  add.s64 %rd12, %rd1, %rd10;
)";
static const std::string kCopy = "  cp.async.cg.shared.global [%r41], [%rd11], 16;\n",
                         kFarCopy = "  cp.async.cg.shared.global [%r41+1024], [%rd11], 16;\n",
                         kCommit = "  cp.async.commit_group;\n",
                         kWait = "  cp.async.wait_group 0;\n",
                         kWaitOne = "  cp.async.wait_group 1;\n",
                         kWaitAll = "  cp.async.wait_all;\n", kBarrier = "  bar.sync 0;\n",
                         kReadOwn = "  ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r41];\n",
                         kReadFar = "  ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r41+1024];\n",
                         kReadOther = "  ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r42];\n",
                         kKeep = "  st.global.v4.b32 [%rd12], {%r20, %r21, %r22, %r23};\n";

namespace {
struct CopyRun {
  SimulationReport report;
  std::vector<uint32_t> out;
  Program program;
  std::string kinds() const { return kindsIn(report); }
};
struct Policy {
  Completion completion;
  uint64_t seed = 0;
};
} // namespace

static std::vector<Policy> policies() {
  std::vector<Policy> all = {{Completion::Late}, {Completion::Early}};
  for (uint64_t seed = 0; seed < 8; ++seed)
    all.push_back({Completion::Random, seed});
  return all;
}

static CopyRun runBody(const std::string &body, Policy policy = {Completion::Late}) {
  Simulation simulation;
  simulation.array("data", iota(256));
  auto &out = simulation.array("out", std::vector<uint32_t>(256));
  simulation.launch.block = {64, 1, 1};
  simulation.launch.options.completion = policy.completion;
  simulation.launch.options.completionSeed = policy.seed;
  CopyRun run;
  run.report = simulation.run(kSetup + body);
  run.out = out;
  run.program = simulation.program;
  return run;
}

/// The same kinds whenever the copies complete.
static void expectKinds(const std::string &body, const std::string &kinds) {
  for (Policy policy : policies())
    EXPECT_EQ(runBody(body, policy).kinds(), kinds)
        << body << "completion " << int(policy.completion) << ", seed " << policy.seed;
}

TEST(WarpsimAsyncCopy, ArrivesBeforeItsWaitIsOver) {
  for (Policy policy : policies())
    for (const std::string &waited : {kCommit + kWait, kWaitAll, kCommit + kWaitAll}) {
      CopyRun run = runBody(kCopy + waited + kReadOwn + kKeep, policy);
      EXPECT_EQ(run.kinds(), "");
      EXPECT_EQ(run.out, iota(256));
      EXPECT_EQ(run.report.statistics.asyncCopies, 2u);
      run = runBody(kCopy + waited + kBarrier + kReadOther + kKeep, policy);
      EXPECT_EQ(run.kinds(), "");
      for (uint32_t i = 0; i < 256; ++i)
        EXPECT_EQ(run.out[i], i ^ 128);
    }
}

TEST(WarpsimAsyncCopy, ReadInFlightGivesNothingUseful) {
  CopyRun run = runBody(kCopy + kCommit + kReadOwn + kKeep + kWait);
  EXPECT_EQ(run.out, std::vector<uint32_t>(256, 0xffffffff));
  EXPECT_EQ(run.kinds(), "async-race uninit-register");
  Finding finding = findingOf(run.report, Kind::AsyncRace);
  EXPECT_EQ(finding.buffer, "buffer");
  EXPECT_EQ(run.program.code[size_t(finding.instruction)].op, Op::Ld);
  EXPECT_EQ(run.program.code[size_t(finding.otherInstruction)].op, Op::AsyncCopy);
  EXPECT_EQ(finding.otherPtxLine + 2, finding.ptxLine);
  EXPECT_NE(finding.message.find("has not waited for its group"), std::string::npos);
}

TEST(WarpsimAsyncCopy, EveryAccessInFlightIsReported) {
  const std::string end = kWaitAll;
  expectKinds(kCopy + kCommit + kReadOwn + end, "async-race");
  expectKinds(kCopy + kCommit + kBarrier + kReadOther + kBarrier + end, "async-race");
  expectKinds(kCopy + kCommit + "  st.shared.b32 [%r41+4], %r0;\n" + end, "async-race");
  expectKinds(kCopy + kCommit + kCopy + kCommit + end, "async-race");
  expectKinds(kCopy + kCommit + "  st.global.b32 [%rd11+12], %r0;\n" + end, "async-race");
  expectKinds(kCopy + kCommit + "  red.shared.add.u32 [%r41], 1;\n" + end, "async-race");
  expectKinds(kCopy + kCommit + "  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r41];\n" +
                  end,
              "async-race");
  // Reading the source is not a fault, nor is what lies beside the destination.
  expectKinds(kCopy + kCommit + "  ld.global.b32 %r20, [%rd11];\n" + end, "");
  expectKinds(kCopy + kCommit + "  st.shared.b32 [%r41+1024], %r0;\n" + end, "");
}

TEST(WarpsimAsyncCopy, WaitsCountGroupsOfTheirOwnThread) {
  const std::string two = kCopy + kCommit + kFarCopy + kCommit;
  expectKinds(two + kWaitOne + kReadOwn + kWait, "");
  expectKinds(two + kWaitOne + kReadFar + kWait, "async-race");
  expectKinds(two + kCommit + kWaitOne + kReadFar, ""); // an empty group counts
  // Copies without a group are not waited for.
  CopyRun run = runBody(kCopy + kWait + kReadOwn + kWaitAll);
  EXPECT_EQ(run.kinds(), "async-race");
  EXPECT_NE(findingOf(run.report, Kind::AsyncRace).message.find("committed it to a group"),
            std::string::npos);
  // Lanes may have committed different numbers of groups.
  const std::string odd = "  and.b32 %r3, %r0, 1;\n  setp.eq.u32 %p0, %r3, 1;\n";
  expectKinds(odd + kCopy + kCommit + "  @%p0 cp.async.commit_group;\n" + kWaitOne + "  @%p0" +
                  kReadOwn + kWait,
              "");
  expectKinds(odd + kCopy + kCommit + "  @%p0 cp.async.commit_group;\n" + kWaitOne + "  @!%p0" +
                  kReadOwn + kWait,
              "async-race");
}

TEST(WarpsimAsyncCopy, OtherThreadsNeedABarrierAfterTheWait) {
  CopyRun run = runBody(kCopy + kCommit + kWait + kReadOther);
  EXPECT_NE(run.kinds().find("race-raw"), std::string::npos) << run.kinds();
  Finding finding = findingOf(run.report, Kind::RaceRaw);
  EXPECT_EQ(run.program.code[size_t(finding.otherInstruction)].op, Op::AsyncCopy);
  // A barrier before the wait orders the issue, not the bytes.
  expectKinds(kCopy + kCommit + kBarrier + kWait + kBarrier + kReadOther, "");
  EXPECT_NE(runBody(kCopy + kCommit + kBarrier + kWait + kReadOther).kinds(), "");
}

TEST(WarpsimAsyncCopy, MustNotOverwriteWhatOthersMayStillRead) {
  const std::string filled = "  st.shared.v4.b32 [%r41], {%r0, %r0, %r0, %r0};\n" + kBarrier;
  const std::string copied = kCopy + kCommit + kWait;
  CopyRun run = runBody(filled + kReadOther + copied);
  Finding finding = findingOf(run.report, Kind::RaceWar);
  EXPECT_EQ(run.program.code[size_t(finding.instruction)].op, Op::AsyncCopy);
  EXPECT_EQ(run.program.code[size_t(finding.otherInstruction)].op, Op::Ld);
  expectKinds(filled + kReadOther + kBarrier + copied, "");
  // Nor what others have written.
  EXPECT_EQ(runBody("  st.shared.b32 [%r42], %r0;\n" + copied).kinds(), "race-waw");
}

TEST(WarpsimAsyncCopy, LeftInFlightIsALeak) {
  expectKinds(kCopy + kCommit, "async-leak");
  expectKinds(kCopy + kWait, "async-leak");
  expectKinds(kCopy + kCommit + kFarCopy + kCommit + kWaitOne, "async-leak");
  expectKinds(kCopy + kCommit + kWait + kCommit, "");
}

TEST(WarpsimAsyncCopy, FillsWithZeros) {
  // The source is there only as far as it is read.
  struct {
    std::string size;
    uint32_t numWords;
  } cases[] = {{"4", 1}, {"12", 3}, {"0", 0}, {"%r5", 2}, {"%p0", 0}, {"!%p0", 4}};
  for (const auto &[size, numWords] : cases) {
    CopyRun run = runBody("  mov.u32 %r5, 8;\n  setp.lt.u32 %p0, %r0, 64;\n"
                          "  cp.async.cg.shared.global [%r41], [%rd11], 16, " +
                          size + ";\n" + kWaitAll + kReadOwn + kKeep);
    EXPECT_EQ(run.kinds(), "");
    for (uint32_t i = 0; i < 256; ++i)
      EXPECT_EQ(run.out[i], i % 4 < numWords ? i : 0) << size;
  }
  const std::string beyond = "  add.s64 %rd11, %rd11, 1008;\n";
  auto copyOf = [](const char *size) {
    return std::string("  cp.async.ca.shared.global [%r41], [%rd11], 16, ") + size + ";\n" +
           kWaitAll;
  };
  expectKinds(beyond + copyOf("0"), "");
  expectKinds(beyond + "  setp.gt.u32 %p0, %r0, 0;\n" + copyOf("%p0"), "");
  expectKinds(beyond + copyOf("16"), "out-of-bounds-global");
}

TEST(WarpsimAsyncCopy, ChecksBothAddresses) {
  auto copyOf = [](const char *to, const char *from, const char *bytes) {
    return std::string("  cp.async.ca.shared.global [%r41") + to + "], [%rd11" + from + "], " +
           bytes + ";\n" + kWaitAll;
  };
  expectKinds(copyOf("+8", "", "16"), "misaligned");
  expectKinds(copyOf("", "+8", "16"), "misaligned");
  expectKinds(copyOf("+8", "+8", "8"), "");
  expectKinds(copyOf("+4", "+12", "4"), "");
  expectKinds(copyOf("+4096", "", "16"), "out-of-bounds-shared");
  expectKinds(copyOf("", "+16", "16"), "out-of-bounds-global");
  Finding finding = findingOf(runBody(copyOf("", "+16", "16")).report, Kind::OutOfBoundsGlobal);
  EXPECT_EQ(finding.buffer, "data");
  EXPECT_EQ(finding.offset, 1024);
  expectKinds("  mov.u32 %r5, 17;\n  cp.async.cg.shared.global [%r41], [%rd11], 16, %r5;\n",
              "async-misuse");
  // Lanes of one instruction.
  expectKinds(
      "  setp.lt.u32 %p0, %r0, 32;\n  @%p0 cp.async.cg.shared.global [%r40], [%rd11], 16;\n" +
          kWaitAll,
      "async-race");
}

TEST(WarpsimAsyncCopy, ASourceWithoutAValueIsReported) {
  Simulation simulation;
  simulation.array("data", iota(256));
  simulation.array("out", iota(256));
  std::vector<uint64_t> initialized(16, ~uint64_t(0));
  initialized[3] = 0;
  simulation.launch.allocations[0].initialized = &initialized;
  SimulationReport report = simulation.run(kSetup + kCopy + kWaitAll + kReadOwn + kKeep);
  EXPECT_EQ(kindsIn(report), "uninit-global uninit-register");
  EXPECT_EQ(findingOf(report, Kind::UninitGlobal).count, 4u);
}

TEST(WarpsimAsyncCopy, ParserRefusesWhatPtxDoesNotHave) {
  auto errorOf = [](const std::string &statement) {
    ParseError error;
    EXPECT_FALSE(parsePtx(kernelText(statement, 2), error)) << statement;
    return error.message;
  };
  EXPECT_EQ(errorOf("cp.async.cg.shared.global [%r1], [%rd1], 8;"),
            "cp.async copies 16 bytes, not 8");
  EXPECT_EQ(errorOf("cp.async.ca.shared.global [%r1], [%rd1], 12;"),
            "cp.async copies 4, 8 or 16 bytes, not 12");
  EXPECT_EQ(errorOf("cp.async.ca.shared.global [%r1], [%rd1], 8, 9;"),
            "cp.async cannot read 9 bytes to write 8");
  EXPECT_EQ(errorOf("cp.async.ca.shared.global [%r1], [%r1], 8;"),
            "register %r1 of type .b32 cannot hold this address");
  EXPECT_EQ(errorOf("cp.async.wait_group %r1;"), "expected an integer instead of '%r1'");
  EXPECT_EQ(errorOf("cp.async.mbarrier.arrive.shared.b32 [%r1];"),
            "modifier .b32 does not fit here in cp.async.mbarrier.arrive.shared.b32");
  EXPECT_EQ(errorOf("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2];"),
            "expected ',' instead of '}'");
  EXPECT_EQ(errorOf("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r2];"),
            "expected a vector of 1 register");
  EXPECT_EQ(errorOf("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};"),
            "stmatrix.sync.aligned.m8n8.x1.shared.b16 needs sm_90, and the target is sm_80");
  EXPECT_EQ(errorOf("mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%f0};"),
            "modifier .row does not fit here in mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32");
  EXPECT_EQ(errorOf("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, "
                    "{%f4, %r1}, {%r2}, {%f0, %f1, %f2, %f3};"),
            "register %f4 of type .f32 cannot be a .u32 operand");
}
