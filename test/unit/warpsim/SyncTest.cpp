// Barriers, deadlocks, locks, atomics.
#include "SimulationHarness.h"
#include <bit>
#include <gtest/gtest.h>

using namespace tw::warpsim;

static std::string kindsOf(const std::string &body, uint32_t numThreads) {
  Simulation simulation;
  simulation.launch.block = {numThreads, 1, 1};
  return kindsIn(simulation.run("  mov.u32 %r0, %tid.x;\n" + body));
}

TEST(WarpsimBarrier, AnAlignedBarrierNeedsTheWholeWarp) {
  const std::string half = "  setp.lt.u32 %p0, %r0, 16;\n";
  EXPECT_EQ(kindsOf(half + "  @%p0 bar.sync 0;", 32), "divergent-barrier");
  // Lanes in both branches of an if: two barriers of parts of the warp.
  EXPECT_EQ(kindsOf(half + "  @%p0 bra A;\n  bar.sync 0;\n  bra B;\nA:\n  bar.sync 0;\nB:\n", 32),
            "divergent-barrier");
  // barrier.sync may be reached in parts.
  EXPECT_EQ(
      kindsOf(half + "  @%p0 bra A;\n  barrier.sync 0;\n  bra B;\nA:\n  barrier.sync 0;\nB:\n", 32),
      "");
}

TEST(WarpsimBarrier, WarpsThatNeverComeAreADeadlock) {
  Simulation simulation;
  simulation.launch.block = {96, 1, 1};
  SimulationReport report = simulation.run("  mov.u32 %r0, %tid.x;\n  setp.lt.u32 %p0, %r0, 32;\n"
                                           "  @%p0 bra END;\n  bar.sync 3, 96;\nEND:");
  EXPECT_EQ(kindsIn(report), "deadlock");
  Finding finding = findingOf(report, Kind::Deadlock);
  EXPECT_NE(finding.message.find("warp 0 has exited"), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("for barrier 3 (2 of 3 warps have arrived)"), std::string::npos)
      << finding.message;
}

TEST(WarpsimBarrier, AnExitCountsWheneverItsWarpIsPreempted) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Simulation simulation;
    simulation.launch.block = {96, 1, 1};
    simulation.launch.options.schedule = LaunchOptions::Schedule::Random;
    simulation.launch.options.seed = seed;
    EXPECT_EQ(kindsIn(simulation.run("  mov.u32 %r0, %tid.x;\n  setp.lt.u32 %p0, %r0, 32;\n"
                                     "  @%p0 exit;\n  bar.sync 0;\n  bar.sync 0;\n")),
              "");
  }
}

TEST(WarpsimBarrier, WhoHasExitedIsNotMissingAtABarrierOfAll) {
  const std::string first = "  setp.lt.u32 %p0, %r0, 32;\n", low = "  setp.lt.u32 %p0, %r0, 16;\n";
  for (const char *order : {"  @%p0 exit;\n", "  @!%p0 exit;\n"}) {
    EXPECT_EQ(kindsOf(first + order + "  bar.sync 0;\n  bar.sync 0;", 96), "");
    EXPECT_EQ(kindsOf(first + order + "  bar.sync 0, 96;", 96), "deadlock");
    // Half of each warp; those that wait may come before those that exit.
    EXPECT_EQ(kindsOf(low + order + "  barrier.sync 0;", 64), "");
    EXPECT_EQ(kindsOf(low + order + "  bar.sync 0;", 64), "");
  }
  EXPECT_EQ(kindsOf(low + "  @%p0 bra A;\n  barrier.sync 0;\n  bra.uni B;\nA:\n  exit;\nB:\n", 64),
            "");
  EXPECT_EQ(kindsOf(low + "  @%p0 bra A;\n  exit;\nA:\n  barrier.sync 0;\n", 64), "");
  // An exit orders nothing.
  const std::string address = "  mov.u32 %r1, buffer;\n  xor.b32 %r2, %r0, 32;\n"
                              "  mad.lo.u32 %r3, %r0, 4, %r1;\n  mad.lo.u32 %r2, %r2, 4, %r1;\n";
  EXPECT_EQ(kindsOf(first + address +
                        "  st.shared.u32 [%r3], %r0;\n  @%p0 exit;\n  bar.sync 0;\n"
                        "  ld.shared.u32 %r4, [%r2];",
                    64),
            "race-raw");
}

TEST(WarpsimBarrier, MisuseIsReported) {
  EXPECT_EQ(kindsOf("  bar.sync 16;", 32), "barrier-misuse");
  EXPECT_EQ(kindsOf("  bar.sync 0, 48;", 64), "barrier-misuse");
  EXPECT_EQ(kindsOf("  bar.sync 0, 128;", 64), "barrier-misuse");
  EXPECT_EQ(kindsOf("  setp.lt.u32 %p0, %r0, 32;\n  selp.u32 %r1, 64, 96, %p0;\n"
                    "  bar.sync 0, %r1;",
                    96),
            "barrier-misuse deadlock");
  EXPECT_EQ(kindsOf("  setp.lt.u32 %p0, %r0, 32;\n  @%p0 bar.arrive 0, 64;\n"
                    "  @%p0 bar.arrive 0, 64;",
                    64),
            "barrier-misuse");
}

TEST(WarpsimBarrier, ReducesPredicates) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(3 * 64));
  simulation.launch.block = {64, 1, 1};
  SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %tid.x;
  setp.lt.u32 %p0, %r0, 40;
  barrier.red.popc.aligned.u32 %r1, 0, %p0;
  barrier.red.and.aligned.pred %p1, 0, %p0;
  barrier.red.or.aligned.pred %p2, 0, %p0;
  selp.u32 %r2, 1, 0, %p1;
  selp.u32 %r3, 1, 0, %p2;
  mul.wide.u32 %rd5, %r0, 12;
  add.s64 %rd6, %rd0, %rd5;
  st.global.u32 [%rd6], %r1;
  st.global.u32 [%rd6+4], %r2;
  st.global.u32 [%rd6+8], %r3;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(out[3 * i], 40u);
    EXPECT_EQ(out[3 * i + 1], 0u);
    EXPECT_EQ(out[3 * i + 2], 1u);
  }
}

TEST(WarpsimSpin, ALockPassesBetweenCtasAndWarps) {
  for (unsigned numThreads : {1u, 3u}) {
    Simulation simulation;
    auto &data = simulation.array("data", {0, 0});
    simulation.launch.grid = {5, 1, 1};
    simulation.launch.block = {64, 1, 1};
    simulation.launch.options.numThreads = numThreads;
    // One lane of each warp adds to a plain counter under a lock.
    SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %laneid;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
SPIN:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd0], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  ld.global.u32 %r2, [%rd0+4];
  add.s32 %r2, %r2, 1;
  st.global.u32 [%rd0+4], %r2;
  atom.release.gpu.global.exch.b32 %r3, [%rd0], 0;
END:)");
    EXPECT_EQ(kindsIn(report), "");
    EXPECT_EQ(data[1], 10u);
  }
}

TEST(WarpsimSpin, LanesOfOneWarpMayWaitForEachOther) {
  Simulation simulation;
  auto &data = simulation.array("data", {0, 0});
  simulation.launch.options.maxStepsPerWarp = 10'000'000;
  SimulationReport report = simulation.run(R"(
SPIN:
  atom.acquire.gpu.global.cas.b32 %r1, [%rd0], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  ld.global.u32 %r2, [%rd0+4];
  add.s32 %r2, %r2, 1;
  st.global.u32 [%rd0+4], %r2;
  atom.release.gpu.global.exch.b32 %r3, [%rd0], 0;)");
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(data[1], 32u);
}

TEST(WarpsimSpin, CtasThatPassATurnFromOneToTheNext) {
  for (uint32_t isUpwards : {0u, 1u}) {
    Simulation simulation;
    auto &data = simulation.array("turn", {isUpwards ? 0u : 19u, 0});
    simulation.launch.grid = {20, 1, 1};
    simulation.scalar(isUpwards ? 1 : uint64_t(-1));
    // CTA n waits until the turn is n, appends itself, and passes the turn on.
    SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  cvt.u32.u64 %r2, %rd1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
SPIN:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.ne.u32 %p1, %r3, %r1;
  @%p1 bra SPIN;
  ld.global.u32 %r4, [%rd0+4];
  mad.lo.u32 %r4, %r4, 3, %r1;
  st.global.u32 [%rd0+4], %r4;
  add.s32 %r3, %r3, %r2;
  st.release.gpu.global.u32 [%rd0], %r3;
END:)");
    EXPECT_EQ(kindsIn(report), "");
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 20; ++i)
      expected = expected * 3 + (isUpwards ? i : 19 - i);
    EXPECT_EQ(data[1], expected);
  }
}

TEST(WarpsimSpin, WaitingForWhatNobodyDoesIsADeadlock) {
  Simulation simulation;
  simulation.array("flag", {0});
  simulation.launch.grid = {3, 1, 1};
  SimulationReport report = simulation.run(R"(
SPIN:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra SPIN;)");
  EXPECT_EQ(kindsIn(report), "deadlock");
  EXPECT_NE(findingOf(report, Kind::Deadlock).message.find("warp 0 spins at line"),
            std::string::npos);
}

/// Applies `atom` once by one lane to a word and returns the new value; the old one must be `old`.
static uint32_t applied(const std::string &operation, uint32_t old, const std::string &operands,
                        bool isShared = false) {
  Simulation simulation;
  auto &data = simulation.array("data", {old, 0});
  std::string space = isShared ? "shared" : "global", place = isShared ? "buffer" : "%rd0";
  SimulationReport report =
      simulation.run("  mov.u32 %r0, %tid.x;\n  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra END;\n"
                     "  ld.global.u32 %r2, [%rd0];\n  st.shared.u32 [buffer], %r2;\n"
                     "  atom." +
                     space + "." + operation + " %r1, [" + place + "], " + operands +
                     ";\n"
                     "  st.global.u32 [%rd0+4], %r1;\n  ld.shared.u32 %r3, [buffer];\n" +
                     (isShared ? "  st.global.u32 [%rd0], %r3;\n" : "") + "END:");
  EXPECT_EQ(kindsIn(report), "") << operation;
  EXPECT_EQ(data[1], old) << operation;
  return data[0];
}

TEST(WarpsimAtomic, OperationsOnWords) {
  for (bool isShared : {false, true}) {
    EXPECT_EQ(applied("add.u32", 0xfffffffe, "5", isShared), 3u);
    EXPECT_EQ(applied("and.b32", 0xff, "0x1f0", isShared), 0xf0u);
    EXPECT_EQ(applied("or.b32", 0xf, "0xf0", isShared), 0xffu);
    EXPECT_EQ(applied("xor.b32", 0xff, "0xf0", isShared), 0xfu);
    EXPECT_EQ(applied("exch.b32", 4, "9", isShared), 9u);
    EXPECT_EQ(applied("cas.b32", 4, "4, 9", isShared), 9u);
    EXPECT_EQ(applied("cas.b32", 4, "5, 9", isShared), 4u);
    EXPECT_EQ(applied("min.s32", 4, "-2", isShared), uint32_t(-2));
    EXPECT_EQ(applied("min.u32", 4, "-2", isShared), 4u);
    EXPECT_EQ(applied("max.s32", 4, "-2", isShared), 4u);
    EXPECT_EQ(applied("max.u32", 4, "-2", isShared), uint32_t(-2));
    EXPECT_EQ(applied("inc.u32", 4, "4", isShared), 0u);
    EXPECT_EQ(applied("inc.u32", 3, "4", isShared), 4u);
    EXPECT_EQ(applied("dec.u32", 0, "4", isShared), 4u);
    EXPECT_EQ(applied("dec.u32", 7, "4", isShared), 4u);
    EXPECT_EQ(applied("dec.u32", 3, "4", isShared), 2u);
  }
}

TEST(WarpsimAtomic, FloatsAddAsTheyAreDocumentedTo) {
  auto add = [](float a, float b, bool isShared) {
    Simulation simulation;
    auto &data = simulation.array("data", {std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)});
    std::string place = isShared ? "shared.add.f32 [buffer]" : "global.add.f32 [%rd0]";
    SimulationReport report =
        simulation.run("  mov.u32 %r0, %tid.x;\n  setp.ne.u32 %p0, %r0, 0;\n  @%p0 bra END;\n"
                       "  ld.global.f32 %f0, [%rd0];\n  ld.global.f32 %f1, [%rd0+4];\n"
                       "  st.shared.f32 [buffer], %f0;\n  red." +
                       place +
                       ", %f1;\n"
                       "  ld.shared.f32 %f2, [buffer];\n" +
                       (isShared ? "  st.global.f32 [%rd0], %f2;\n" : "") + "END:");
    EXPECT_EQ(kindsIn(report), "");
    return std::bit_cast<float>(data[0]);
  };
  EXPECT_EQ(add(1.5f, 2.25f, false), 3.75f);
  // Subnormals are flushed in global memory only.
  EXPECT_EQ(add(0x1p-140f, 0x1p-140f, false), 0.0f);
  EXPECT_EQ(add(0x1p-140f, 0x1p-140f, true), 0x1p-139f);
}

TEST(WarpsimAtomic, HalvesDoublesAndWideIntegers) {
  Simulation simulation;
  auto &data = simulation.array("data", {0x3c003e00, 0x3f803f80, 0, 0x3ff00000, 5, 1, 0x3c00, 0});
  std::string text = kernelText(R"(
  mov.u32 %r0, %tid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
  mov.b32 %r1, 0x40003c00;
  atom.global.add.noftz.f16x2 %r2, [%rd0], %r1;
  mov.b32 %r1, 0x40003f80;
  atom.global.add.noftz.bf16x2 %r2, [%rd0+4], %r1;
  atom.global.add.f64 %fd1, [%rd0+8], 0d3FF8000000000000;
  mov.u64 %rd5, 0xffffffffffffffff;
  atom.global.add.u64 %rd6, [%rd0+16], %rd5;
  mov.b16 %h1, 0x3800;
  atom.global.add.noftz.f16 %h2, [%rd0+24], %h1;
END:)",
                                1);
  SimulationReport report = simulation.runText(text.replace(text.find("sm_80"), 5, "sm_90"));
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(data, (std::vector<uint32_t>{0x42004100, 0x40404000, 0, 0x40040000, 4, 1, 0x3e00, 0}));
}

TEST(WarpsimAtomic, ManyCtasCountTogether) {
  Simulation simulation;
  auto &data = simulation.array("data", {0, 0});
  simulation.launch.grid = {40, 1, 1};
  simulation.launch.block = {96, 1, 1};
  SimulationReport report = simulation.run("  red.global.add.u32 [%rd0], 1;\n"
                                           "  atom.global.inc.u32 %r1, [%rd0+4], 99;");
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(data[0], 40u * 96);
  EXPECT_EQ(data[1], 40u * 96 % 100);
  EXPECT_EQ(report.statistics.atomics, 2u * 40 * 3);
}

TEST(WarpsimAtomic, AnOperandWithoutAValueIsReported) {
  Simulation simulation;
  simulation.array("data", {0});
  EXPECT_EQ(kindsIn(simulation.run("  red.global.add.u32 [%rd0], %r9;")), "uninit-register");
}
