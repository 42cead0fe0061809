// Accesses: widths, spaces, bounds, alignment, what is initialized, and how requests are counted.
#include "SimulationHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// %r4 is tid * 4, %rd20 the address of p0[tid], %r5 that of the thread's word in `buffer`.
static const char kOwn[] = R"(
  mov.u32 %r0, %tid.x;
  shl.b32 %r4, %r0, 2;
  cvt.u64.u32 %rd19, %r4;
  add.s64 %rd20, %rd0, %rd19;
  mov.u32 %r5, buffer;
  add.s32 %r5, %r5, %r4;
)";
static std::string own(const std::string &body) { return kOwn + body; }

TEST(WarpsimMemory, LoadsExtendBySignAndWidth) {
  Simulation simulation;
  simulation.array("in", {0x8281f0ff, 0x7f008001});
  auto &out = simulation.array("out", std::vector<uint32_t>(10));
  SimulationReport report = simulation.run(R"(
  ld.global.u8 %r1, [%rd0];
  ld.global.s8 %r2, [%rd0];
  ld.global.u16 %r3, [%rd0+2];
  ld.global.s16 %r4, [%rd0+2];
  ld.global.s32 %rd5, [%rd0];
  ld.global.s8 %h1, [%rd0+3];
  cvt.s32.s16 %r5, %h1;
  ld.global.v2.u16 {%h2, %h3}, [%rd0+4];
  cvt.u32.u16 %r6, %h2;
  cvt.u32.u16 %r7, %h3;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r2;
  st.global.u32 [%rd1+8], %r3;
  st.global.u32 [%rd1+12], %r4;
  st.global.u64 [%rd1+16], %rd5;
  st.global.u32 [%rd1+24], %r5;
  st.global.v2.u32 [%rd1+32], {%r6, %r7};)");
  EXPECT_EQ(kindsIn(report), "redundant-write");
  EXPECT_EQ(out, (std::vector<uint32_t>{0xff, 0xffffffff, 0x8281, 0xffff8281, 0x8281f0ff,
                                        0xffffffff, 0xffffff82, 0, 0x8001, 0x7f00}));
}

TEST(WarpsimMemory, VectorsGoThroughSharedAndLocalMemory) {
  Simulation simulation;
  simulation.array("in", iota(128), true);
  auto &out = simulation.array("out", std::vector<uint32_t>(128));
  SimulationReport report = simulation.run(R"(
  .local .align 16 .b8 depot[32];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd5, %r0, 16;
  add.s64 %rd6, %rd0, %rd5;
  add.s64 %rd7, %rd1, %rd5;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd6];
  st.local.v2.u32 [depot+8], {%r1, %r2};
  ld.local.u64 %rd8, [depot+8];
  mov.u32 %r10, buffer;
  mad.lo.u32 %r10, %r0, 16, %r10;
  st.shared.u64 [%r10], %rd8;
  st.shared.v2.b32 [%r10+8], {%r3, %r4};
  ld.shared.v2.u64 {%rd9, %rd10}, [%r10];
  st.global.v2.u64 [%rd7], {%rd9, %rd10};)");
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(out, iota(128));
  EXPECT_EQ(report.statistics.localAccesses, 2u);
}

TEST(WarpsimMemory, GenericAddressesReachEverySpace) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(96));
  SimulationReport report = simulation.run(own(R"(
  .local .align 4 .b8 depot[4];
  cvt.u64.u32 %rd5, %r5;
  cvta.shared.u64 %rd5, %rd5;
  mov.u64 %rd6, depot;
  cvta.local.u64 %rd6, %rd6;
  setp.lt.u32 %p0, %r0, 16;
  selp.b64 %rd7, %rd5, %rd6, %p0;
  st.u32 [%rd7], %r4;
  ld.u32 %r9, [%rd7];
  st.u32 [%rd20], %r9;
  cvta.to.shared.u64 %rd8, %rd5;
  @%p0 ld.shared.u32 %r10, [%rd8];
  @%p0 st.global.u32 [%rd20+128], %r10;
  mov.u64 %rd9, total;
  cvta.global.u64 %rd9, %rd9;
  ld.u32 %r11, [%rd9];
  ld.const.u32 %r12, [fixed+4];
  add.s32 %r11, %r11, %r12;
  st.global.u32 [%rd20+256], %r11;)"),
                                           ".global .align 4 .u32 total = 40;\n"
                                           ".const .align 4 .u32 fixed[2] = {1, 2};\n");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], 4 * i);
    EXPECT_EQ(out[32 + i], i < 16 ? 4 * i : 0);
    EXPECT_EQ(out[64 + i], 42u);
  }
}

TEST(WarpsimMemory, AccessesOutsideOfAnArrayAreNamedAndNotDone) {
  Simulation simulation;
  std::vector<uint32_t> memory = iota(64); // the kernel gets the first 20 words of it
  simulation.array("x", iota(1));
  simulation.launch.allocations[0] = {"x", reinterpret_cast<uint64_t>(memory.data()), 80};
  Simulation direct;
  direct.launch.allocations = simulation.launch.allocations;
  direct.scalar(reinterpret_cast<uint64_t>(memory.data()));
  SimulationReport report = direct.run(own("  st.global.u32 [%rd20], 77;"));
  EXPECT_EQ(kindsIn(report), "out-of-bounds-global");
  Finding finding = findingOf(report, Kind::OutOfBoundsGlobal);
  EXPECT_EQ(finding.buffer, "x");
  EXPECT_EQ(finding.offset, 80);
  EXPECT_EQ(finding.thread[0], 20u);
  EXPECT_EQ(finding.count, 12u);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(memory[i], i < 20 ? 77 : i) << i;
}

TEST(WarpsimMemory, APointerBeforeAnArrayAndNullAreOutside) {
  Simulation simulation;
  simulation.array("x", iota(32));
  SimulationReport before = simulation.run("  ld.global.u32 %r1, [%rd0+-4];");
  EXPECT_EQ(findingOf(before, Kind::OutOfBoundsGlobal).offset, -4);
  SimulationReport null = simulation.run("  mov.u64 %rd5, 0;\n  ld.global.u32 %r1, [%rd5];");
  EXPECT_EQ(kindsIn(null), "out-of-bounds-global");
}

TEST(WarpsimMemory, RunningOffOneArrayIntoAnotherIsOutside) {
  std::vector<uint32_t> memory = iota(64); // two arrays without a gap
  auto base = reinterpret_cast<uint64_t>(memory.data());
  Simulation simulation;
  simulation.scalar(base);
  simulation.scalar(base + 128);
  simulation.launch.allocations = {{"x", base, 128}, {"y", base + 128, 128}};
  simulation.launch.allocationOfParameter = {0, 1};
  SimulationReport report =
      simulation.run(own("  add.s64 %rd21, %rd20, 4;\n  ld.global.u32 %r9, [%rd21];"));
  Finding finding = findingOf(report, Kind::OutOfBoundsGlobal);
  EXPECT_EQ(finding.buffer, "x");
  EXPECT_EQ(finding.offset, 128);
  EXPECT_EQ(finding.count, 1u);
  // An address that may come from either may point to either.
  EXPECT_EQ(kindsIn(simulation.run(own("  setp.lt.u32 %p0, %r0, 9;\n"
                                       "  selp.b64 %rd21, %rd0, %rd1, %p0;\n"
                                       "  ld.global.u32 %r9, [%rd21+4];"))),
            "");
}

TEST(WarpsimMemory, SharedLocalAndParameterBoundsHold) {
  Simulation simulation;
  simulation.array("x", iota(32));
  EXPECT_EQ(kindsIn(simulation.run("  ld.shared.u32 %r1, [buffer+4096];")), "out-of-bounds-shared");
  EXPECT_EQ(kindsIn(simulation.run("  mov.u32 %r2, 0;\n  ld.shared.u32 %r1, [%r2];")),
            "out-of-bounds-shared");
  EXPECT_EQ(kindsIn(simulation.run("  .local .align 4 .b8 depot[16];\n"
                                   "  mov.u32 %r2, depot;\n  st.local.u32 [%r2+16], 0;")),
            "out-of-bounds-local");
  EXPECT_EQ(kindsIn(simulation.run("  mov.u64 %rd5, p0;\n  ld.param.u64 %rd6, [%rd5+8];")),
            "out-of-bounds-param");
}

TEST(WarpsimMemory, DynamicSharedMemoryFollowsTheStatic) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  simulation.launch.dynamicSharedBytes = 128;
  std::string body = own(R"(
  mov.u32 %r6, more;
  add.s32 %r6, %r6, %r4;
  st.shared.u32 [%r6], %r0;
  ld.shared.u32 %r7, [%r6];
  st.global.u32 [%rd20], %r7;)");
  EXPECT_EQ(kindsIn(simulation.run(body, ".extern .shared .align 16 .b8 more[];\n")), "");
  EXPECT_EQ(out, iota(32));
  simulation.launch.dynamicSharedBytes = 64;
  EXPECT_EQ(kindsIn(simulation.run(body, ".extern .shared .align 16 .b8 more[];\n")),
            "out-of-bounds-shared uninit-register");
}

TEST(WarpsimMemory, MisalignedAccessesAreReported) {
  Simulation simulation;
  simulation.array("x", iota(64));
  EXPECT_EQ(kindsIn(simulation.run("  ld.global.u32 %r1, [%rd0+2];")), "misaligned");
  EXPECT_EQ(kindsIn(simulation.run(own("  add.s64 %rd20, %rd20, 4;\n"
                                       "  ld.global.v2.u32 {%r1, %r2}, [%rd20];"))),
            "misaligned");
  EXPECT_EQ(kindsIn(simulation.run("  st.shared.v4.u32 [buffer+8], {%r1, %r1, %r1, %r1};")),
            "misaligned");
}

TEST(WarpsimMemory, ReadOnlyArraysCannotBeWritten) {
  Simulation simulation;
  auto &x = simulation.array("x", iota(32), true);
  SimulationReport report = simulation.run(own("  st.global.u32 [%rd20], 5;"));
  EXPECT_EQ(kindsIn(report), "read-only");
  EXPECT_EQ(findingOf(report, Kind::ReadOnly).buffer, "x");
  EXPECT_EQ(x, iota(32));
}

TEST(WarpsimMemory, SharedBytesThatNobodyWroteAreReported) {
  Simulation simulation;
  simulation.array("x", iota(32));
  simulation.launch.sharedBuffers = {{"partial", 0, 64}, {"rest", 64, 4032}};
  SimulationReport report = simulation.run(own(R"(
  setp.lt.u32 %p0, %r0, 20;
  @%p0 st.shared.u32 [%r5], %r0;
  bar.sync 0;
  ld.shared.u32 %r6, [%r5];)"));
  EXPECT_EQ(kindsIn(report), "uninit-shared");
  Finding finding = findingOf(report, Kind::UninitShared);
  EXPECT_EQ(finding.buffer, "rest");
  EXPECT_EQ(finding.offset, 16);
  EXPECT_EQ(finding.count, 12u);
  // By byte: half a word written is half a word known.
  EXPECT_EQ(kindsIn(simulation.run(own("  st.shared.u16 [%r5], 1;\n  ld.shared.u16 %h1, [%r5];"))),
            "");
  EXPECT_EQ(kindsIn(simulation.run(own("  st.shared.u16 [%r5], 1;\n  ld.shared.u32 %r9, [%r5];"))),
            "uninit-shared");
  // And nothing is left from the CTA before.
  simulation.launch.grid = {2, 1, 1};
  simulation.launch.options.numThreads = 1;
  EXPECT_EQ(kindsIn(simulation.run(own("  mov.u32 %r8, %ctaid.x;\n  setp.eq.u32 %p0, %r8, 0;\n"
                                       "  @%p0 st.shared.u32 [%r5], 1;\n"
                                       "  ld.shared.u32 %r9, [%r5];"))),
            "uninit-shared");
}

TEST(WarpsimMemory, UninitializedArraysAreFollowedByByte) {
  Simulation simulation;
  simulation.array("x", iota(32));
  std::vector<uint64_t> initialized = {~uint64_t(0), 0}; // the first 16 words
  simulation.launch.allocations[0].initialized = &initialized;
  SimulationReport report = simulation.run(own("  ld.global.u32 %r6, [%rd20];"));
  EXPECT_EQ(findingOf(report, Kind::UninitGlobal).offset, 64);
  EXPECT_EQ(kindsIn(simulation.run(own("  st.global.u32 [%rd20], 3;\n"
                                       "  ld.global.u32 %r6, [%rd20];"))),
            "");
  EXPECT_EQ(initialized[1], ~uint64_t(0));
}

TEST(WarpsimMemory, CountsSectors) {
  Simulation simulation;
  simulation.array("x", iota(4096));
  auto countOf = [&](const std::string &address, const std::string &load) {
    SimulationReport report = simulation.run(own("  " + address +
                                                 "\n  cvt.u64.u32 %rd5, %r6;\n"
                                                 "  add.s64 %rd5, %rd5, %rd0;\n  " +
                                                 load));
    EXPECT_EQ(kindsIn(report), "");
    EXPECT_EQ(report.statistics.globalLoadRequests, 1u);
    return report.statistics;
  };
  EXPECT_EQ(countOf("shl.b32 %r6, %r0, 2;", "ld.global.u32 %r7, [%rd5];").globalLoadSectors, 4u);
  Statistics wide =
      countOf("shl.b32 %r6, %r0, 4;", "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd5];");
  EXPECT_EQ(wide.globalLoadSectors, 16u);
  EXPECT_EQ(wide.globalLoadEfficiency(), 1.0);
  Statistics strided = countOf("shl.b32 %r6, %r0, 7;", "ld.global.u32 %r7, [%rd5];");
  EXPECT_EQ(strided.globalLoadSectors, 32u);
  EXPECT_EQ(strided.globalLoadEfficiency(), 0.125);
  EXPECT_EQ(countOf("mov.u32 %r6, 64;", "ld.global.u32 %r7, [%rd5];").globalLoadSectors, 1u);
  EXPECT_EQ(countOf("xor.b32 %r6, %r4, 124;", "ld.global.u32 %r7, [%rd5];").globalLoadSectors, 4u);
}

TEST(WarpsimMemory, CountsBankConflicts) {
  auto wavefrontsOf = [](const std::string &address, const std::string &store) {
    Simulation simulation;
    SimulationReport report = simulation.run("  mov.u32 %r0, %tid.x;\n  mov.u32 %r5, buffer;\n  " +
                                             address + "\n  add.s32 %r6, %r6, %r5;\n  " + store);
    EXPECT_EQ(report.statistics.sharedRequests, 1u);
    return std::pair(report.statistics.sharedWavefronts, report.statistics.idealSharedWavefronts);
  };
  using Counts = std::pair<uint64_t, uint64_t>;
  const char *store = "st.shared.u32 [%r6], %r0;";
  const char *wide = "st.shared.v4.u32 [%r6], {%r0, %r0, %r0, %r0};";
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 2;", store), Counts(1, 1));
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 3;", store), Counts(2, 1));
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 7;", store), Counts(32, 1));
  EXPECT_EQ(wavefrontsOf("mul.lo.u32 %r6, %r0, 132;", "@!%p0 st.shared.u32 [%r6], %r0;"),
            Counts(1, 1));
  EXPECT_EQ(wavefrontsOf("xor.b32 %r6, %r0, 5; shl.b32 %r6, %r6, 2;", store), Counts(1, 1));
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 4;", wide), Counts(4, 4));
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 6;", wide), Counts(16, 4));
  // The same word for all lanes is one pass; half-words of one word do not conflict.
  EXPECT_EQ(wavefrontsOf("mov.u32 %r6, 8;", "ld.shared.u32 %r7, [%r6];"), Counts(1, 1));
  EXPECT_EQ(wavefrontsOf("shl.b32 %r6, %r0, 1;", "st.shared.u16 [%r6], 1;"), Counts(1, 1));
}
