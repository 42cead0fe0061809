// Every way to misuse wgmma: each mistake is found, and the same kernel without it is clean.
#include "backend/warpsim/ptx/Parse.h"
#include "test/unit/warpsim/matrix/WarpgroupHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

/// A of 64 rows and B of 16 columns, K-major in rows of 128 bytes of which the product reads 32;
/// 2048 bytes behind them belong to nobody. Thread t of the first 128 has 16 bytes of every 2048 at
/// %at.
constexpr unsigned kBytesOfA = 8192, kBytesOfB = 2048, kSharedBytes = kBytesOfA + kBytesOfB + 2048;
static const std::string kBegin = R"(
  shl.b32 %r0, %thread, 4;
  add.u32 %at, %base, %r0;
  cvt.u64.u32 %from, %r0;
  add.u64 %from, %from, %rd0;
  setp.eq.u32 %always, %thread, %thread;
  setp.ne.u32 %first, %thread, %thread;
  setp.eq.u32 %p0, %thread, 0;
  setp.lt.u32 %p1, %thread, 32;
  setp.lt.u32 %p3, %thread, 128;
  shr.u32 %r1, %base, 4;
  cvt.u64.u32 %a, %r1;
  or.b64 %a, %a, 0x4000004000010000;
  add.u64 %b, %a, 512;
  mov.b32 %d0, 0;
  mov.b32 %d1, 0;
  mov.b32 %d2, 0;
  mov.b32 %d3, 0;
  mov.b32 %d4, 0;
  mov.b32 %d5, 0;
  mov.b32 %d6, 0;
  mov.b32 %d7, 0;
  mov.b32 %x0_0, 0;
  mov.b32 %x0_1, 0;
  mov.b32 %x0_2, 0;
  mov.b32 %x0_3, 0;
)";
static const std::string kStoreA = R"(
  @%p3 st.shared.v4.b32 [%at], {%r0, %r0, %r0, %r0};
  @%p3 st.shared.v4.b32 [%at+2048], {%r0, %r0, %r0, %r0};
  @%p3 st.shared.v4.b32 [%at+4096], {%r0, %r0, %r0, %r0};
  @%p3 st.shared.v4.b32 [%at+6144], {%r0, %r0, %r0, %r0};
)",
                         kStoreB = "  @%p3 st.shared.v4.b32 [%at+8192], {%r0, %r0, %r0, %r0};\n",
                         kProxy = "  fence.proxy.async;\n", kBarrier = "  bar.sync 0;\n",
                         kFence = "  wgmma.fence.sync.aligned;\n",
                         kCommit = "  wgmma.commit_group.sync.aligned;\n",
                         kWait = "  wgmma.wait_group.sync.aligned 0;\n",
                         kWaitOne = "  wgmma.wait_group.sync.aligned 1;\n",
                         kUse = "  st.global.b32 [%from], %d3;\n",
                         kFill = kBegin + kStoreA + kStoreB, kReady = kFill + kProxy + kBarrier;

static std::string product(const std::string &a = "%a", const std::string &b = "%b",
                           const std::string &scale = "%always") {
  return "  wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
         "{%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, " +
         a + ", " + b + ", " + scale + ", 1, 1, " + (a[0] == '{' ? "0;\n" : "0, 0;\n");
}
static const std::string kProduct = product(),
                         kOfRegisters = product("{%x0_0, %x0_1, %x0_2, %x0_3}"),
                         kNarrow = "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                                   "{%d0, %d1, %d2, %d3}, %a, %b, %always, 1, 1, 0, 0;\n",
                         kEnd = kCommit + kWait + kUse;

namespace {
struct ChecksRun {
  SimulationReport report;
  Program program;
  Op opOf(int32_t instruction) const { return program.code[size_t(instruction)].op; }
};
} // namespace

static ChecksRun runBody(const std::string &body, const LaunchOptions &options = {},
                         unsigned numThreads = 128) {
  Simulation simulation;
  simulation.array("data", std::vector<uint32_t>(4 * 256, 1));
  simulation.launch.block = {numThreads, 1, 1};
  simulation.launch.options = options;
  ChecksRun run;
  run.report = simulation.runText(warpgroupText(body, 1, kSharedBytes));
  run.program = simulation.program;
  return run;
}

/// The same kinds whenever products are computed.
static void expectKinds(const std::string &body, const std::string &kinds,
                        unsigned numThreads = 128) {
  LaunchOptions options;
  EXPECT_EQ(kindsIn(runBody(body, options, numThreads).report), kinds) << body;
  options.completion = Completion::Early;
  EXPECT_EQ(kindsIn(runBody(body, options, numThreads).report), kinds) << body << "early";
  options.completion = Completion::Random;
  for (options.completionSeed = 0; options.completionSeed < 4; ++options.completionSeed)
    EXPECT_EQ(kindsIn(runBody(body, options, numThreads).report), kinds)
        << body << "seed " << options.completionSeed;
}

/// Returns true if a kind is among those found, for mistakes that others follow from.
static bool has(const std::string &body, Kind kind, unsigned numThreads = 128) {
  SimulationReport report = runBody(body, {}, numThreads).report;
  return std::ranges::any_of(report.findings,
                             [&](const Finding &finding) { return finding.kind == kind; });
}

TEST(WarpsimWarpgroupChecks, RightKernelsAreClean) {
  expectKinds(kReady + kFence + kProduct + kEnd, "");
  expectKinds(kReady + kFence + kOfRegisters + kEnd, "");
  // A chain, in one group and in several.
  expectKinds(kReady + kFence + kProduct + kProduct + kEnd, "");
  expectKinds(kReady + kFence + kProduct + kCommit + kProduct + kCommit + kWaitOne + kWait + kUse,
              "");
  expectKinds(kReady + kFence + kOfRegisters + kOfRegisters + kEnd, "");
  // Two warpgroups.
  expectKinds(kReady + kFence + kProduct + kEnd, "", 256);
}

TEST(WarpsimWarpgroupChecks, ProductsComeAsLateAsTheirWait) {
  // Late products read what is written in flight, early ones what was there before.
  std::string body = kReady + kFence + kProduct + kCommit + kBarrier +
                     "  mov.b32 %r2, 0x3f803f80;\n"
                     "  st.shared.v4.b32 [%at], {%r2, %r2, %r2, %r2};\n"
                     "  st.shared.v4.b32 [%at+8192], {%r2, %r2, %r2, %r2};\n" +
                     kBarrier + kWait + kUse;
  for (Completion completion : {Completion::Late, Completion::Early}) {
    Simulation simulation;
    std::vector<uint32_t> &data = simulation.array("data", std::vector<uint32_t>(4 * 256));
    simulation.launch.block = {128, 1, 1};
    simulation.launch.options.completion = completion;
    SimulationReport report = simulation.runText(warpgroupText(body, 1, kSharedBytes));
    EXPECT_EQ(kindsIn(report), "async-race");
    // Row 8 of the first warp times column 1: 16 products of ones.
    EXPECT_EQ(std::bit_cast<float>(data[0]) == 16, completion == Completion::Late);
  }
}

TEST(WarpsimWarpgroupChecks, RegistersInFlight) {
  const std::string begin = kReady + kFence + kProduct;
  for (const char *touch :
       {"  add.u32 %r2, %d3, 1;\n", "  mov.b32 %d3, 0;\n", "  st.shared.b32 [%at+10240], %d7;\n",
        "  @%p0 mov.b32 %d3, 0;\n", "  mov.b64 %rd4, {%d0, %r2};\n",
        "  shfl.sync.bfly.b32 %r2, %d0, 1, 31, -1;\n"}) {
    expectKinds(begin + touch + kCommit + kWait, "register-race");
    expectKinds(begin + kCommit + touch + kWait, "register-race");
    expectKinds(begin + kCommit + kWaitOne + touch + kWait, "register-race");
    expectKinds(begin + kCommit + kWait + touch, "");
  }
  expectKinds(begin + kCommit + "  mov.b32 %d8, 0;\n  mov.b32 %x0_0, 0;\n" + kWait, "");
  expectKinds(begin + kCommit + "  @%first mov.b32 %d3, 0;\n" + kWait, "");
  // A in registers is not to be touched either.
  const std::string ofRegisters = kReady + kFence + kOfRegisters;
  expectKinds(ofRegisters + kCommit + "  mov.b32 %x0_2, 0;\n" + kWait, "register-race");
  expectKinds(ofRegisters + kCommit + kWait + "  mov.b32 %x0_2, 0;\n", "");
  // Only products of the same shape follow each other by themselves.
  expectKinds(begin + kFence + kNarrow + kEnd, "register-race");
  expectKinds(begin + kCommit + kWait + kFence + kNarrow + kEnd, "");
  expectKinds(begin + product("{%d0, %d1, %d2, %d3}") + kEnd, "register-race");
  ChecksRun run = runBody(begin + kCommit + "  mov.b32 %r2, %d3;\n" + kWait);
  Finding finding = findingOf(run.report, Kind::RegisterRace);
  EXPECT_EQ(run.opOf(finding.instruction), Op::Mov);
  EXPECT_EQ(run.opOf(finding.otherInstruction), Op::WarpgroupMma);
  EXPECT_NE(finding.message.find("`%d3` is read while"), std::string::npos) << finding.message;
}

TEST(WarpsimWarpgroupChecks, RegistersNeedAFence) {
  expectKinds(kReady + kProduct + kEnd, "missing-fence");
  for (const char *touch : {"  mov.b32 %d3, 0;\n", "  add.u32 %r2, %d3, 1;\n"}) {
    expectKinds(kReady + kFence + touch + kProduct + kEnd, "missing-fence");
    expectKinds(kReady + kFence + touch + kFence + kProduct + kEnd, "");
    const std::string again = kReady + kFence + kProduct + kCommit + kWait + touch;
    expectKinds(again + kProduct + kEnd, "missing-fence");
    expectKinds(again + kFence + kProduct + kEnd, "");
  }
  const std::string written = "  mov.b32 %x0_1, 0;\n";
  expectKinds(kReady + kFence + written + kOfRegisters + kEnd, "missing-fence");
  expectKinds(kReady + written + kFence + kOfRegisters + kEnd, "");
  expectKinds(kReady + kFence + "  mov.b32 %r2, %x0_1;\n" + kOfRegisters + kEnd, "");
  // Products of another shape, and results that become operands.
  const std::string done = kReady + kFence + kProduct + kCommit + kWait;
  expectKinds(done + kNarrow + kEnd, "missing-fence");
  expectKinds(done + kFence + kNarrow + kEnd, "");
  expectKinds(done + kProduct + kEnd, "");
  expectKinds(done + product("{%d0, %d1, %d2, %d3}") + kEnd, "missing-fence");
  ChecksRun run = runBody(kReady + kFence + "  mov.b32 %d3, 0;\n" + kProduct + kEnd);
  Finding finding = findingOf(run.report, Kind::MissingFence);
  EXPECT_EQ(run.opOf(finding.instruction), Op::WarpgroupMma);
  EXPECT_EQ(run.opOf(finding.otherInstruction), Op::Mov);
}

TEST(WarpsimWarpgroupChecks, OperandsWrittenInFlight) {
  const std::string begin = kReady + kFence + kProduct + kCommit + kBarrier;
  for (const std::string &write :
       {std::string("  st.shared.b32 [%at], %r0;\n"),
        std::string("  st.shared.b32 [%at+8192], 0;\n"),
        std::string("  @%p0 st.shared.b8 [%base], %r0;\n"),
        std::string("  red.shared.add.u32 [%at+8192], 1;\n"),
        std::string("  cp.async.cg.shared.global [%at+8192], [%from], 16;\n  cp.async.wait_all;\n"),
        std::string("  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%at], {%r0};\n")}) {
    expectKinds(begin + write + kWait, "async-race");
    expectKinds(begin + kWait + kBarrier + write, "");
  }
  // Bytes that the product does not read: the second half of a row, and what lies behind.
  expectKinds(begin + "  @%p0 st.shared.b32 [%base+64], 0;\n" + kWait, "");
  expectKinds(begin + "  @%p1 st.shared.b32 [%at+10240], 0;\n" + kWait, "");
  ChecksRun run = runBody(begin + "  st.shared.b32 [%at+8192], 0;\n" + kWait);
  Finding finding = findingOf(run.report, Kind::AsyncRace);
  EXPECT_EQ(finding.buffer, "tile");
  EXPECT_EQ(finding.offset / 2048, 4);
  EXPECT_EQ(run.opOf(finding.instruction), Op::St);
  EXPECT_EQ(run.opOf(finding.otherInstruction), Op::WarpgroupMma);
}

TEST(WarpsimWarpgroupChecks, OperandsWrittenByOthersNeedABarrierAfterTheWait) {
  // The second warpgroup writes what the first has read.
  const std::string roles = "  @!%p3 bra $other;\n" + kFence + kProduct + kCommit,
                    other = "  bra.uni $end;\n$other:\n";
  const std::string write = "  st.shared.b32 [%at+6144], 0;\n$end:\n";
  EXPECT_TRUE(has(kReady + roles + kWait + other + write, Kind::RaceWar, 256));
  expectKinds(kReady + roles + kWait + kBarrier + other + kBarrier + write, "", 256);
  const std::string arrive = "  bar.arrive 1, 256;\n", sync = "  bar.sync 1, 256;\n";
  expectKinds(kReady + roles + arrive + kWait + other + sync + write, "race-war", 256);
  expectKinds(kReady + roles + kWait + arrive + other + sync + write, "", 256);
}

TEST(WarpsimWarpgroupChecks, WritesOfThreadsNeedAProxyFence) {
  const std::string multiply = kFence + kProduct + kEnd;
  expectKinds(kFill + kBarrier + multiply, "proxy-race");
  expectKinds(kFill + "  fence.proxy.async.global;\n" + kBarrier + multiply, "proxy-race");
  expectKinds(kFill + "  fence.proxy.async.shared::cluster;\n" + kBarrier + multiply, "");
  expectKinds(kBegin + kProxy + kStoreA + kStoreB + kBarrier + multiply, "proxy-race");
  expectKinds(kBegin + kStoreA + kProxy + kStoreB + kBarrier + multiply, "proxy-race");
  expectKinds(kFill + "  @%p0 fence.proxy.async;\n" + kBarrier + multiply, "proxy-race");
  // The reader's fence after the barrier, and that of anybody between two barriers.
  expectKinds(kFill + kBarrier + kProxy + multiply, "");
  expectKinds(kFill + kBarrier + "  @%p0 fence.proxy.async;\n" + kBarrier + multiply, "");
  // By barriers of named threads.
  const std::string named = "  barrier.sync 1, 128;\n";
  expectKinds(kFill + named + multiply, "proxy-race");
  expectKinds(kFill + kProxy + named + multiply, "");
  expectKinds(kFill + named + kProxy + multiply, "");
  expectKinds(kFill + named + "  @%p0 fence.proxy.async;\n" + named + multiply, "");
  // A fence covers what came before it only, however often the memory was covered.
  expectKinds(kReady + kStoreB + kBarrier + multiply, "proxy-race");
  expectKinds(kReady + kBarrier + kStoreB + kProxy + kBarrier + multiply, "");
  ChecksRun run = runBody(kFill + kBarrier + multiply);
  Finding finding = findingOf(run.report, Kind::ProxyRace);
  EXPECT_EQ(run.opOf(finding.instruction), Op::WarpgroupMma);
  EXPECT_EQ(run.opOf(finding.otherInstruction), Op::St);
}

TEST(WarpsimWarpgroupChecks, CopiesNeedAProxyFenceAfterTheirWait) {
  const std::string copy = "  cp.async.cg.shared.global [%at+8192], [%from], 16;\n",
                    begin = kBegin + kStoreA + copy, wait = "  cp.async.wait_all;\n";
  const std::string multiply = kFence + kProduct + kEnd;
  expectKinds(begin + wait + kProxy + kBarrier + multiply, "");
  expectKinds(begin + wait + kBarrier + kProxy + multiply, "");
  expectKinds(begin + kProxy + wait + kBarrier + multiply, "proxy-race");
  EXPECT_TRUE(has(begin + kProxy + kBarrier + multiply + wait, Kind::AsyncRace));
}

TEST(WarpsimWarpgroupChecks, OrdinaryFaultsOfOperands) {
  const std::string multiply = kFence + kProduct + kEnd;
  EXPECT_TRUE(has(kFill + kProxy + multiply, Kind::RaceRaw));
  expectKinds(kBegin + kStoreA + kProxy + kBarrier + kFence + kProduct + kCommit + kWait,
              "uninit-shared");
  const std::string set = "  or.b64 %rd4, %b, ";
  auto withB = [&](const std::string &change) {
    return kReady + change + kFence + product("%a", "%rd4", "%first") + kCommit + kWait;
  };
  expectKinds(withB("  mov.b64 %rd4, %b;\n"), "");
  expectKinds(withB("  add.u64 %rd4, %b, 2;\n"), "");
  expectKinds(withB("  add.u64 %rd4, %b, 320;\n"), "out-of-bounds-shared");
  expectKinds(withB("  sub.u64 %rd4, %b, 8;\n"), "misaligned");
  expectKinds(withB(set + "0x4000;\n"), "matrix-misuse");
  expectKinds(withB(set + "0x0000400000000000;\n"), "matrix-misuse");
  expectKinds(withB(set + "0x0010000000000000;\n"), "matrix-misuse");
  expectKinds(withB(set + "0x0002000000000000;\n"), "unsupported");
  expectKinds(withB("  and.b32 %r2, %thread, 1;\n  setp.eq.u32 %p2, %r2, 0;\n"
                    "  selp.b64 %rd4, %b, %a, %p2;\n"),
              "matrix-misuse");
  EXPECT_TRUE(has(withB(""), Kind::UninitRegister));
}

TEST(WarpsimWarpgroupChecks, MissingValuesReachTheResult) {
  auto countOf = [](const std::string &body) {
    SimulationReport report = runBody(body + kEnd).report;
    EXPECT_EQ(kindsIn(report), "uninit-register");
    return report.findings.empty() ? 0 : report.findings[0].count;
  };
  // %d3 holds rows 8 to 15 of each warp and columns 1, 3, 5 and 7: each warp's store is told once.
  const std::string fill = "  mov.b32 %d3, 0;\n" + kFence;
  const std::string unset = "  .reg .b32 %unset;\n";
  EXPECT_EQ(countOf(unset + kReady + "  mov.b32 %d3, %unset;\n" + kFence + kProduct), 4u);
  expectKinds(unset + kReady + "  mov.b32 %d3, %unset;\n" + kFence + product("%a", "%b", "%first") +
                  kEnd,
              "");
  auto withUnset = [&](unsigned offset) {
    return unset + kFill + kBarrier + "  @%p0 st.shared.b32 [%base+" + std::to_string(offset) +
           "], %unset;\n" + kProxy + kBarrier + fill + kProduct;
  };
  EXPECT_EQ(countOf(withUnset(8 * 128)), 1u);                  // row 8 of A
  EXPECT_EQ(countOf(withUnset(kBytesOfA + 3 * 128 + 48)), 4u); // column 3 of B, exchanged pieces
  expectKinds(withUnset(kBytesOfA + 2 * 128 + 32) + kEnd, ""); // column 2 is in other registers
}

TEST(WarpsimWarpgroupChecks, FourWarpsAgree) {
  const std::string multiply = kFence + kProduct + kCommit + kWait;
  // One warp leaves the product to the others.
  expectKinds(kReady + "  @%p1 bra $end;\n" + multiply + "$end:\n", "warpgroup-misuse");
  expectKinds(kReady + "  @%p1 add.u64 %b, %b, 2;\n" + multiply, "warpgroup-misuse");
  expectKinds(kReady + "  @!%p1 bra $other;\n" + multiply + "  bra.uni $end;\n$other:\n" + kFence +
                  product("%a", "%b", "%first") + kCommit + kWait + "$end:\n",
              "warpgroup-misuse");
  EXPECT_TRUE(has(kReady + multiply, Kind::WarpgroupMisuse, 96));
}

TEST(WarpsimWarpgroupChecks, FunctionsThatAreCalled) {
  auto kindsWith = [](const std::string &function, const std::string &body, Completion completion) {
    std::string text = warpgroupText(body, 1, kSharedBytes);
    text.insert(text.find(".visible"), ".func callee() {\n" + function + "  ret;\n}\n");
    Simulation simulation;
    simulation.array("data", std::vector<uint32_t>(4 * 256, 1));
    simulation.launch.block = {128, 1, 1};
    simulation.launch.options.completion = completion;
    return kindsIn(simulation.runText(text));
  };
  // Registers of the same numbers are others.
  const std::string harmless = "  .reg .b32 %f<200>;\n  mov.b32 %f0, 0;\n  mov.b32 %f3, %f0;\n"
                               "  activemask.b32 %f1;\n  activemask.b32 %f2;\n",
                    during = kReady + kFence + kProduct + kCommit + "  call callee;\n" + kWait;
  for (Completion completion : {Completion::Late, Completion::Early, Completion::Random})
    EXPECT_EQ(kindsWith(harmless, during, completion), "");
  const std::string multiplies =
      "  .reg .b32 %d<4>;\n  .reg .b64 %a;\n  .reg .pred %p;\n  mov.b64 %a, 64;\n"
      "  setp.eq.u64 %p, %a, 0;\n  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
      "{%d0, %d1, %d2, %d3}, %a, %a, %p, 1, 1, 0, 0;\n";
  EXPECT_EQ(kindsWith(multiplies, kReady + "  call callee;\n", Completion::Late), "unsupported");
}

TEST(WarpsimWarpgroupChecks, WholeWarps) {
  auto guarded = [](std::string text) { return "  @!%p0 " + text.substr(2); };
  for (unsigned i = 0; i < 4; ++i) {
    std::string parts[] = {kFence, kProduct, kCommit, kWait};
    parts[i] = guarded(parts[i]);
    expectKinds(kReady + kFence + parts[0] + parts[1] + parts[2] + parts[3],
                "divergent-collective");
  }
}

TEST(WarpsimWarpgroupChecks, LeftInFlightIsALeak) {
  const std::string begin = kReady + kFence + kProduct;
  expectKinds(begin, "async-leak");
  expectKinds(begin + kWait, "async-leak");
  expectKinds(begin + kCommit, "async-leak");
  expectKinds(begin + kCommit + kProduct + kCommit + kWaitOne, "async-leak");
  expectKinds(begin + kCommit + kWait + kCommit, "");
}
