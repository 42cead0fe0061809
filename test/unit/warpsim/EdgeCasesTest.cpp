// What the simulator once got wrong or could: state that outlives a CTA, the ends of allocations,
// the widest accesses, operands without a value, partial warps.
#include "SimulationHarness.h"
#include "test/unit/warpsim/parse/ParseText.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace tw::warpsim;

// %r0 the thread, %rd9 the thread's word of the last array.
static std::string own(const std::string &body, unsigned last) {
  return "  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd8, %r0, 4;\n  add.s64 %rd9, %rd" +
         std::to_string(last) + ", %rd8;\n" + body;
}

TEST(WarpsimEdge, ACarryDoesNotOutliveItsCta) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(32));
  simulation.launch.grid = {4, 1, 1};
  simulation.launch.options.numThreads = 1;
  SimulationReport report = simulation.run(own(R"(
  mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra LATER;
  add.cc.u32 %r2, %r0, 1;
  bra END;
LATER:
  addc.u32 %r3, %r0, 0;
  st.global.u32 [%rd9], %r3;
END:)",
                                               0));
  EXPECT_EQ(findingOf(report, Kind::UninitRegister).cta[0], 1u);
}

TEST(WarpsimEdge, NegatedPredicatesAreOperands) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(64));
  SimulationReport report = simulation.run(own(R"(
  setp.lt.u32 %p0, %r0, 10;
  selp.u32 %r1, 7, 9, !%p0;
  setp.ge.and.u32 %p1, %r0, 5, !%p0;
  selp.u32 %r2, 1, 0, %p1;
  st.global.u32 [%rd9], %r1;
  st.global.u32 [%rd9+128], %r2;)",
                                               0));
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], i < 10 ? 9u : 7u) << i;
    EXPECT_EQ(out[32 + i], uint32_t(i >= 10)) << i;
  }
}

TEST(WarpsimEdge, NarrowAtomicsStayInTheirBytes) {
  Simulation simulation;
  // The last two bytes of an array, with a word behind it that belongs to nobody.
  std::vector<uint32_t> memory = {0xaaaa0000, 0x5a5a5a5a};
  auto address = reinterpret_cast<uint64_t>(memory.data());
  simulation.launch.allocations.push_back({"half", address, 4, false});
  simulation.launch.allocationOfParameter.push_back(0);
  simulation.launch.block = {1, 1, 1};
  simulation.launch.parameters.assign(8, 0);
  memcpy(simulation.launch.parameters.data(), &address, 8);
  std::string body = "  mov.b16 %h0, 0xaaaa;\n  mov.b16 %h1, 0x1234;\n"
                     "  atom.global.cas.b16 %h2, [%rd0+2], %h0, %h1;\n"
                     "  mov.b16 %h3, 0x3c00;\n  atom.global.add.noftz.f16 %h4, [%rd0], %h3;\n";
  simulation.program = parsed(kernelText(body, 1));
  simulation.launch.kernel = "k";
  EXPECT_EQ(kindsIn(simulate(simulation.program, simulation.launch)), "");
  EXPECT_EQ(memory[0], 0x12343c00u);
  EXPECT_EQ(memory[1], 0x5a5a5a5au);
  simulation.program = parsed(kernelText("  mov.b16 %h0, 1;\n  atom.global.cas.b16 %h2, [%rd0+4], "
                                         "%h0, %h0;\n",
                                         1));
  EXPECT_EQ(kindsIn(simulate(simulation.program, simulation.launch)), "out-of-bounds-global");
  EXPECT_EQ(memory[1], 0x5a5a5a5au);
}

TEST(WarpsimEdge, AccessesOf32BytesKeepToTheirLanes) {
  alignas(32) std::array<uint32_t, 256> x, out = {};
  std::iota(x.begin(), x.end(), 0u);
  Simulation simulation;
  simulation.launch.parameters.assign(16, 0);
  for (size_t i = 0; i < 2; ++i) {
    auto address = reinterpret_cast<uint64_t>(i ? out.data() : x.data());
    simulation.launch.allocations.push_back({i ? "out" : "x", address, sizeof(x), false});
    simulation.launch.allocationOfParameter.push_back(int(i));
    memcpy(simulation.launch.parameters.data() + 8 * i, &address, 8);
  }
  simulation.program = parsed(kernelText(R"(
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd8, %r0, 32;
  add.s64 %rd9, %rd0, %rd8;
  add.s64 %rd10, %rd1, %rd8;
  ld.global.L2::evict_last.v4.b64 {%rd11, %rd12, %rd13, %rd14}, [%rd9];
  st.global.v8.b32 [%rd10], {%r0, 1, 2, 3, 4, 5, 6, %r0};
  ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd10];
  setp.lt.u32 %p0, %r0, 16;
  @%p0 st.global.L2::evict_last.v4.b64 [%rd10], {%rd11, %rd12, %rd13, %rd14};)",
                                         2));
  simulation.launch.kernel = "k";
  EXPECT_EQ(kindsIn(simulate(simulation.program, simulation.launch)), "");
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t stored = i % 8 == 0 || i % 8 == 7 ? i / 8 : i % 8;
    EXPECT_EQ(out[i], i < 128 ? i : stored) << i;
  }
}

TEST(WarpsimEdge, SectorsAreCountedFromTheArraysFirstByte) {
  for (uint32_t shift : {0u, 4u, 8u}) { // words: the array begins 0, 16 or 32 bytes later
    Simulation simulation;
    std::vector<uint32_t> memory(64);
    auto address = reinterpret_cast<uint64_t>(memory.data() + shift);
    simulation.launch.allocations.push_back({"x", address, 128, false});
    simulation.launch.allocationOfParameter.push_back(0);
    simulation.launch.parameters.assign(8, 0);
    memcpy(simulation.launch.parameters.data(), &address, 8);
    simulation.program = parsed(kernelText(own("  ld.global.u32 %r1, [%rd9];", 0), 1));
    simulation.launch.kernel = "k";
    SimulationReport report = simulate(simulation.program, simulation.launch);
    EXPECT_EQ(report.statistics.globalLoadSectors, 4u) << shift;
    EXPECT_EQ(report.statistics.globalLoadEfficiency(), 1.0) << shift;
  }
}

static std::string kindsOf(const std::string &body, uint32_t numThreads = 32) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(numThreads));
  simulation.launch.block = {numThreads, 1, 1};
  return kindsIn(simulation.run(own(body, 0)));
}

TEST(WarpsimEdge, OperandsThatDecideMustHaveAValue) {
  EXPECT_EQ(kindsOf("  bar.sync 0, %r5;"), "barrier-misuse uninit-register");
  EXPECT_EQ(kindsOf("  barrier.red.popc.aligned.u32 %r1, 0, %p5;"), "uninit-register");
  EXPECT_EQ(kindsOf("  vote.sync.any.pred %p1, %p5, -1;\n  @%p1 st.global.u32 [%rd9], 1;"),
            "uninit-register");
  EXPECT_EQ(kindsOf("T: .branchtargets A, B;\n  brx.idx %r5, T;\nA:\n  add.u32 %r1, %r0, 1;\nB:"),
            "uninit-register");
}

TEST(WarpsimEdge, AnIndexPastTheBranchTargetsIsReported) {
  EXPECT_EQ(kindsOf("  rem.u32 %r1, %r0, 3;\nT: .branchtargets A, B;\n  brx.idx %r1, T;\n"
                    "A:\n  add.u32 %r2, %r0, 1;\nB:"),
            "branch-index");
  EXPECT_EQ(kindsOf("  rem.u32 %r1, %r0, 2;\nT: .branchtargets A, B;\n  brx.idx %r1, T;\n"
                    "A:\n  add.u32 %r2, %r0, 1;\nB:"),
            "");
}

TEST(WarpsimEdge, LoopsThroughABranchTableMeetAgain) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  SimulationReport report = simulation.run(own(R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
T: .branchtargets DONE, STEP, DONE;
LOOP:
  setp.lt.u32 %p0, %r1, %r0;
  selp.u32 %r3, 1, 2, %p0;
  brx.idx %r3, T;
STEP:
  add.u32 %r1, %r1, 1;
  add.u32 %r2, %r2, %r1;
  bra LOOP;
DONE:
  shfl.sync.idx.b32 %r4, %r2, 31, 31, -1;
  bar.sync 0;
  st.global.u32 [%rd9], %r4;)",
                                               0));
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t value : out)
    EXPECT_EQ(value, 496u);
}

TEST(WarpsimEdge, UndefinedBitsFollowTheData) {
  const std::string store = "  st.global.u32 [%rd9], %r1;";
  EXPECT_EQ(kindsOf("  mov.u32 %r1, %r5;\n" + store), "uninit-register");
  EXPECT_EQ(kindsOf("  prmt.b32 %r1, %r4, %r5, 0x7654;\n" + store), "uninit-register");
  EXPECT_EQ(kindsOf("  prmt.b32 %r1, %r0, %r5, 0x3210;\n" + store), "");
  EXPECT_EQ(kindsOf("  prmt.b32 %r1, %r0, %r0, %r5;\n" + store), "uninit-register");
  EXPECT_EQ(kindsOf("  shf.l.wrap.b32 %r1, %r0, %r5, 3;\n" + store), "uninit-register");
  EXPECT_EQ(kindsOf("  setp.lt.u32 %p0, %r0, 64;\n  selp.u32 %r1, %r0, %r5, %p0;\n" + store), "");
  EXPECT_EQ(kindsOf("  setp.lt.u32 %p0, %r0, 31;\n  selp.u32 %r1, %r0, %r5, %p0;\n" + store),
            "uninit-register");
  // Through shared memory: one byte of four is missing, then one of two lanes' words.
  const std::string at = "  shl.b32 %r2, %r0, 2;\n  mov.u32 %r3, buffer;\n"
                         "  add.u32 %r3, %r3, %r2;\n";
  const std::string three = at + "  st.shared.u16 [%r3], %r0;\n  st.shared.u8 [%r3+2], %r0;\n";
  EXPECT_EQ(kindsOf(three + "  ld.shared.u32 %r1, [%r3];\n" + store),
            "uninit-register uninit-shared");
  EXPECT_EQ(kindsOf(three + "  ld.shared.u16 %r1, [%r3];\n" + store), "");
  EXPECT_EQ(kindsOf(at + "  st.shared.u32 [%r3], %r5;\n  ld.shared.u32 %r1, [%r3];\n" + store),
            "uninit-register");
}

TEST(WarpsimEdge, LocalMemoryIsTheLanesOwnAndStartsWithoutValues) {
  const std::string store = "  st.global.u32 [%rd9], %r1;";
  const std::string stack = "  .local .align 8 .b8 stack[16];\n";
  EXPECT_EQ(kindsOf(stack + "  ld.local.u32 %r1, [stack+4];\n" + store), "uninit-register");
  EXPECT_EQ(
      kindsOf(stack + "  st.local.u32 [stack+4], %r0;\n  ld.local.u32 %r1, [stack+4];\n" + store),
      "");
  EXPECT_EQ(kindsOf(stack + "  ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [stack+16];\n"),
            "out-of-bounds-local");
}

TEST(WarpsimEdge, PartialWarpsTakePartAsTheyAre) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(40));
  simulation.launch.block = {40, 1, 1};
  SimulationReport report = simulation.run(own(R"(
  mov.u32 %r1, %laneid;
  shfl.sync.idx.b32 %r2, %r0, 0, 31, -1;
  vote.sync.ballot.b32 %r3, %p7, -1;
  setp.eq.u32 %p7, %r1, 0;
  vote.sync.ballot.b32 %r3, %p7, -1;
  bar.sync 0;
  activemask.b32 %r4;
  add.u32 %r2, %r2, %r4;
  st.global.u32 [%rd9], %r2;)",
                                               0));
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 40; ++i)
    EXPECT_EQ(out[i], i < 32 ? ~0u : 32 + 0xff) << i;
  EXPECT_EQ(kindsOf("  shfl.sync.down.b32 %r1, %r0, 1, 31, -1;", 40), "inactive-lane");
}

TEST(WarpsimEdge, ReturnsInsideOfDivergedCodeLeaveTheOthersTogether) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(64));
  simulation.launch.block = {64, 1, 1};
  SimulationReport report = simulation.run(own(R"(
  and.b32 %r1, %r0, 3;
  setp.eq.u32 %p0, %r1, 0;
  @%p0 bra KEEP;
  setp.eq.u32 %p1, %r1, 1;
  @%p1 ret;
  st.global.u32 [%rd9], 5;
  ret;
KEEP:
  st.global.u32 [%rd9], 6;)",
                                               0));
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i % 4 == 0 ? 6u : i % 4 == 1 ? 0u : 5u) << i;
}

TEST(WarpsimEdge, TheReadOnlyCacheDoesNotSeeThisLaunchsStores) {
  const std::string store = "  st.global.u32 [%rd9], %r0;\n";
  EXPECT_EQ(kindsOf(store + "  ld.global.nc.u32 %r1, [%rd9];"), "race-raw");
  EXPECT_EQ(kindsOf(store + "  ld.global.u32 %r1, [%rd9];"), "");
  // What it reads may not change during the whole launch, afterwards neither.
  EXPECT_EQ(kindsOf("  ld.global.nc.u32 %r1, [%rd9];\n" + store), "race-war");
}

TEST(WarpsimEdge, CtasThatWriteTheSameValueAreNeverARace) {
  // On several host threads: what another CTA stored is compared once it is there.
  for (int repeat = 0; repeat < 50; ++repeat) {
    Simulation simulation;
    simulation.array("out", std::vector<uint32_t>(64));
    simulation.launch.grid = {16, 1, 1};
    simulation.launch.block = {64, 1, 1};
    simulation.launch.options.numThreads = 4;
    SimulationReport report = simulation.run(own("  st.global.u32 [%rd9], %r0;", 0));
    ASSERT_EQ(kindsIn(report), "redundant-write") << repeat;
    ASSERT_FALSE(report.hasErrors());
  }
}

TEST(WarpsimEdge, LanesAreNotPartedByAWaitForASlowCta) {
  // CTA 0 waits with one lane while its others are before an aligned barrier; CTA 1 takes its time.
  Simulation simulation;
  simulation.array("flag", {0});
  simulation.launch.grid = {2, 1, 1};
  simulation.launch.options.numThreads = 2;
  SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, 0;
  setp.ne.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra WAIT;
WORK:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 100000;
  @%p2 bra WORK;
  @%p0 bra END;
  st.release.gpu.global.u32 [%rd0], 1;
  bra END;
WAIT:
  @%p0 bra WAITED;
SPIN:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra SPIN;
WAITED:
  bar.sync 0;
END:)");
  EXPECT_EQ(kindsIn(report), "");
}
