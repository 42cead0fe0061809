// Control flow: divergence, reconvergence, calls, exits, special registers, schedules.
#include "SimulationHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// %rd1 is the address of the thread's own element of p0, by its number in the grid.
static const char kOwn[] = R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.s32 %r3, %r1, %r2, %r0;
  mul.wide.u32 %rd30, %r3, 4;
  add.s64 %rd31, %rd0, %rd30;
)";

TEST(WarpsimMachine, BothSidesOfABranchRunAndMeet) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(64));
  simulation.launch.block = {64, 1, 1};
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  and.b32 %r4, %r0, 3;
  setp.eq.s32 %p0, %r4, 0;
  @%p0 bra THEN;
  add.s32 %r5, %r0, 100;
  bra JOIN;
THEN:
  add.s32 %r5, %r0, 200;
JOIN:
  activemask.b32 %r6;
  setp.eq.s32 %p1, %r6, -1;
  selp.b32 %r7, 1000, 0, %p1;
  add.s32 %r5, %r5, %r7;
  st.global.u32 [%rd31], %r5;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 1000 + i + (i % 4 == 0 ? 200 : 100)) << i;
  EXPECT_EQ(report.statistics.divergentBranches, 2u);
}

TEST(WarpsimMachine, LoopsOfDifferentLengthsMeetAfterwards) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  // Collatz steps of tid + 1: an inner branch in a loop whose trip count differs by lane.
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  add.s32 %r4, %r0, 1;
  mov.u32 %r5, 0;
HEAD:
  setp.eq.s32 %p0, %r4, 1;
  @%p0 bra DONE;
  and.b32 %r6, %r4, 1;
  setp.eq.s32 %p1, %r6, 0;
  @%p1 bra EVEN;
  mad.lo.s32 %r4, %r4, 3, 1;
  bra NEXT;
EVEN:
  shr.u32 %r4, %r4, 1;
NEXT:
  add.s32 %r5, %r5, 1;
  bra HEAD;
DONE:
  bar.sync 0;
  st.global.u32 [%rd31], %r5;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t steps = 0;
    for (uint32_t n = i + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
      ++steps;
    EXPECT_EQ(out[i], steps) << i;
  }
}

TEST(WarpsimMachine, JumpsByTable) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  rem.u32 %r4, %r0, 3;
TABLE: .branchtargets CASE0, CASE1, CASE2;
  brx.idx %r4, TABLE;
CASE0:
  mov.u32 %r5, 10;
  bra JOIN;
CASE1:
  mov.u32 %r5, 20;
  bra JOIN;
CASE2:
  mov.u32 %r5, 30;
JOIN:
  bar.sync 0;
  st.global.u32 [%rd31], %r5;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 10 + i % 3 * 10) << i;
}

TEST(WarpsimMachine, LanesThatLeaveAtOnceDoNotDivergeTheRest) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32, 7));
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  setp.ge.u32 %p0, %r0, 20;
  @%p0 bra END;
  bar.sync 0;
  st.global.u32 [%rd31], %r0;
END:)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 20 ? i : 7) << i;
}

TEST(WarpsimMachine, CallsFunctionsFromDivergedCode) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  mov.u32 %r9, 5;
  setp.lt.u32 %p0, %r0, 10;
  @%p0 bra SKIP;
  {
  .param .b32 argument;
  .param .b32 result;
  st.param.b32 [argument], %r0;
  call.uni (result), clampTo20, (argument);
  ld.param.b32 %r9, [result];
  }
SKIP:
  bar.sync 0;
  st.global.u32 [%rd31], %r9;)",
                                           R"(
.func (.param .b32 result) clampTo20(.param .b32 value)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value];
  setp.gt.u32 %p1, %r1, 20;
  @%p1 bra BIG;
  st.param.b32 [result], %r1;
  ret;
BIG:
  mov.u32 %r2, 20;
  st.param.b32 [result], %r2;
  ret;
}
)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i < 10 ? 5 : std::min(i, 20u)) << i;
}

TEST(WarpsimMachine, SpecialRegistersTellWhoAThreadIs) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(4 * 48 * 3));
  simulation.launch.grid = {2, 2, 1};
  simulation.launch.block = {8, 3, 2};
  SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %tid.y;
  mov.u32 %r2, %tid.z;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ctaid.y;
  mad.lo.s32 %r5, %r2, 3, %r1;
  mad.lo.s32 %r5, %r5, 8, %r0;
  mad.lo.s32 %r6, %r4, 2, %r3;
  mad.lo.s32 %r6, %r6, 48, %r5;
  mul.wide.u32 %rd1, %r6, 12;
  add.s64 %rd1, %rd0, %rd1;
  mov.u32 %r7, %laneid;
  mov.u32 %r8, %warpid;
  mov.u32 %r9, %lanemask_lt;
  st.global.u32 [%rd1], %r7;
  st.global.u32 [%rd1+4], %r8;
  st.global.u32 [%rd1+8], %r9;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 4 * 48; ++i) {
    uint32_t thread = i % 48, lane = thread % 32;
    EXPECT_EQ(out[3 * i], lane);
    EXPECT_EQ(out[3 * i + 1], thread / 32);
    EXPECT_EQ(out[3 * i + 2], (1u << lane) - 1);
  }
}

TEST(WarpsimMachine, AllSchedulesGiveTheSameResults) {
  using Schedule = LaunchOptions::Schedule;
  std::vector<uint32_t> expected;
  for (Schedule schedule :
       {Schedule::RoundRobin, Schedule::Greedy, Schedule::Reverse, Schedule::Random}) {
    Simulation simulation;
    auto &out = simulation.array("out", std::vector<uint32_t>(256));
    simulation.launch.block = {256, 1, 1};
    simulation.launch.options.schedule = schedule;
    simulation.launch.options.seed = 17;
    // Each thread reads what another warp has written, twice.
    SimulationReport report = simulation.run(std::string(kOwn) + R"(
  mov.u32 %r10, buffer;
  shl.b32 %r11, %r0, 2;
  add.s32 %r12, %r10, %r11;
  mul.lo.s32 %r13, %r0, 3;
  st.shared.u32 [%r12], %r13;
  bar.sync 0;
  xor.b32 %r14, %r11, 1020;
  add.s32 %r15, %r10, %r14;
  ld.shared.u32 %r16, [%r15];
  bar.sync 0;
  st.shared.u32 [%r12], %r16;
  bar.sync 0;
  xor.b32 %r14, %r11, 128;
  add.s32 %r15, %r10, %r14;
  ld.shared.u32 %r17, [%r15];
  st.global.u32 [%rd31], %r17;)");
    EXPECT_EQ(kindsIn(report), "");
    if (expected.empty())
      expected = out;
    EXPECT_EQ(out, expected);
    EXPECT_EQ(report.statistics.barriers, 3u);
  }
  EXPECT_EQ(expected[0], 3u * (255 - 32));
}

TEST(WarpsimMachine, RunsOnlyTheChosenCtas) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32 * 8, 9));
  simulation.launch.grid = {8, 1, 1};
  simulation.launch.options.ctas = {0, 7};
  SimulationReport report = simulation.run(std::string(kOwn) + "  st.global.u32 [%rd31], %r1;");
  EXPECT_EQ(kindsIn(report), "");
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(out[32], 9u);
  EXPECT_EQ(out[7 * 32], 7u);
}

TEST(WarpsimMachine, AnEndlessLoopEndsAtTheStepLimit) {
  Simulation simulation;
  simulation.launch.options.maxStepsPerWarp = 10000;
  SimulationReport report = simulation.run("LOOP:\n  bra LOOP;");
  EXPECT_EQ(kindsIn(report), "step-limit");
}

TEST(WarpsimMachine, WhoWaitsForAWarpAtTheStepLimitIsNoDeadlock) {
  Simulation simulation;
  simulation.launch.block = {64, 1, 1};
  simulation.launch.grid = {5, 1, 1};
  simulation.launch.options.maxStepsPerWarp = 10000;
  SimulationReport report = simulation.run(R"(
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, 32;
  @%p0 bra WAIT;
LOOP:
  bra LOOP;
WAIT:
  bar.sync 0;)");
  EXPECT_EQ(kindsIn(report), "step-limit");
}

TEST(WarpsimMachine, AnInterruptEndsTheLaunch) {
  Simulation simulation;
  simulation.launch.grid = {100, 1, 1};
  simulation.launch.options.maxStepsPerWarp = ~uint64_t(0);
  int numAsked = 0;
  simulation.launch.isInterrupted = [&] { return ++numAsked == 2; };
  SimulationReport report = simulation.run("LOOP:\n  bra LOOP;");
  EXPECT_TRUE(report.isInterrupted);
  EXPECT_EQ(numAsked, 2);
  EXPECT_EQ(kindsIn(report), "");
}

TEST(WarpsimMachine, ATrapEndsTheCta) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(64, 9));
  simulation.launch.grid = {2, 1, 1};
  SimulationReport report = simulation.run(std::string(kOwn) + R"(
  setp.eq.s32 %p0, %r1, 0;
  @%p0 trap;
  st.global.u32 [%rd31], %r1;)");
  EXPECT_EQ(kindsIn(report), "trap");
  EXPECT_EQ(out[0], 9u);
  EXPECT_EQ(out[32], 1u);
}

TEST(WarpsimMachine, ImpossibleLaunchesAreRefused) {
  auto refusalOf = [](auto change) {
    Simulation simulation;
    change(simulation.launch);
    SimulationReport report = simulation.run("");
    return findingOf(report, Kind::Unsupported).message;
  };
  EXPECT_NE(refusalOf([](Launch &l) { l.block = {1025, 1, 1}; }).find("1024"), std::string::npos);
  EXPECT_NE(refusalOf([](Launch &l) { l.block = {32, 33, 1}; }).find("1024"), std::string::npos);
  EXPECT_NE(refusalOf([](Launch &l) { l.block = {0, 1, 1}; }).find("without threads"),
            std::string::npos);
  EXPECT_NE(refusalOf([](Launch &l) { l.grid = {1, 65536, 1}; }).find("65535"), std::string::npos);
  EXPECT_NE(refusalOf([](Launch &l) { l.options.ctas = {3}; }).find("CTA 3"), std::string::npos);
}

TEST(WarpsimMachine, ReadingARegisterWithoutAValueIsReportedWhereItMatters) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  EXPECT_EQ(kindsIn(simulation.run("  add.s32 %r9, %r8, 1;")), "");
  SimulationReport stored = simulation.run(std::string(kOwn) + R"(
  add.s32 %r9, %r8, 1;
  st.global.u32 [%rd31], %r9;)");
  EXPECT_EQ(kindsIn(stored), "uninit-register");
  EXPECT_EQ(findingOf(stored, Kind::UninitRegister).buffer, "out");
  EXPECT_EQ(kindsIn(simulation.run("  setp.eq.s32 %p0, %r8, 0;\n  @%p0 bra A;\nA:")),
            "uninit-register");
  EXPECT_EQ(kindsIn(simulation.run("  ld.global.u32 %r1, [%rd9];")), "uninit-register");
  // Through shared memory the missing value travels unreported, and its use is.
  EXPECT_EQ(kindsIn(simulation.run(std::string(kOwn) + R"(
  mov.u32 %r10, buffer;
  mad.lo.u32 %r10, %r0, 4, %r10;
  st.shared.u32 [%r10], %r8;
  ld.shared.u32 %r11, [%r10];
  st.global.u32 [%rd31], %r11;)")),
            "uninit-register");
  EXPECT_EQ(out.size(), 32u);
}

TEST(WarpsimMachine, BytesPackedBesideBytesWithoutAValueHaveOne) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(32));
  auto kindsAfter = [&](const std::string &text) {
    return kindsIn(simulation.run(std::string(kOwn) + text));
  };
  // Byte 1 of %r10 is that of %r9, which has no value.
  const std::string packed = "  prmt.b32 %r10, %r0, %r9, 0x3340U;\n";
  EXPECT_EQ(kindsAfter(packed + "  st.global.u8 [%rd31], %r10;"), "");
  EXPECT_EQ(kindsAfter(packed + "  st.global.u16 [%rd31], %r10;"), "uninit-register");
  EXPECT_EQ(kindsAfter(packed + "  prmt.b32 %r11, %r10, 0, 0x4420U;\n"
                                "  st.global.u32 [%rd31], %r11;"),
            "");
  EXPECT_EQ(kindsAfter(packed + "  prmt.b32 %r11, %r10, 0, 0x4401U;\n"
                                "  st.global.u32 [%rd31], %r11;"),
            "uninit-register");
  EXPECT_EQ(kindsAfter(packed + "  and.b32 %r11, %r10, 0xff0000ff;\n"
                                "  st.global.u32 [%rd31], %r11;"),
            "");
  EXPECT_EQ(kindsAfter(packed + "  xor.b32 %r11, %r10, %r0;\n  st.global.u32 [%rd31], %r11;"),
            "uninit-register");
  EXPECT_EQ(kindsAfter("  and.b32 %r11, %r9, 255;\n  st.global.u32 [%rd31], %r11;"),
            "uninit-register");
  // Each picks the byte without a value, or the one above it.
  for (auto [bad, good] :
       {std::pair("shr.u32 %r11, %r10, 8", "shr.u32 %r11, %r10, 16"),
        {"shl.b32 %r11, %r10, 16", "shl.b32 %r11, %r10, 24"},
        {"shr.s32 %r11, %r10, 15", "shr.s32 %r11, %r10, 31"},
        {"bfe.u32 %r11, %r10, 4, 5", "bfe.u32 %r11, %r10, 16, 16"},
        {"bfi.b32 %r11, %r10, %r0, 0, 9", "bfi.b32 %r11, %r10, %r0, 24, 8"},
        {"bfi.b32 %r11, %r0, %r10, 9, 7", "bfi.b32 %r11, %r0, %r10, 8, 8"},
        {"cvt.u16.u32 %h1, %r10;\n  cvt.u32.u16 %r11, %h1", "cvt.u8.u32 %r11, %r10"}}) {
    const char *store = ";\n  st.global.u32 [%rd31], %r11;";
    EXPECT_EQ(kindsAfter(packed + "  " + bad + store), "uninit-register") << bad;
    EXPECT_EQ(kindsAfter(packed + "  " + good + store), "") << good;
  }
  const std::string pair = "  cvt.u16.u32 %h1, %r0;\n  mov.b32 %r10, {%h1, %h8};\n";
  for (const char *move :
       {"mov.b32 %r11, %r10", "selp.b32 %r11, %r10, %r0, 1",
        "shfl.sync.bfly.b32 %r11, %r10, 1, 31, -1", "add.f16x2 %r11, %r10, %r10"}) {
    std::string moved = pair + "  " + move + ";\n  mov.b32 {%h2, %h3}, %r11;\n";
    EXPECT_EQ(kindsAfter(moved + "  st.global.u16 [%rd31], %h2;"), "") << move;
    EXPECT_EQ(kindsAfter(moved + "  st.global.u16 [%rd31], %h3;"), "uninit-register") << move;
  }
}

TEST(WarpsimMachine, HalvesOf64BitsPackedBesideHalvesWithoutAValueHaveOne) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(32));
  simulation.launch.block = {1, 1, 1};
  // The upper half of %rd20 has no value.
  auto kindsAfter = [&](const std::string &text) {
    std::string packed = std::string(kOwn) + "  .reg .b128 %q<2>;\n  mov.b64 %rd20, {%r0, %r9};\n";
    std::string kernel = kernelText(packed + "  " + text, 1);
    return kindsIn(simulation.runText(kernel.replace(kernel.find("sm_80"), 5, "sm_100")));
  };
  for (std::string move :
       {"mov.b64 %rd21, %rd20", "selp.b64 %rd21, %rd20, 0, 1", "xor.b64 %rd21, %rd20, %rd20",
        "and.b64 %rd21, %rd20, -1", "shr.u64 %rd21, %rd20, 0", "shl.b64 %rd21, %rd20, 0",
        "bfi.b64 %rd21, %rd20, 0, 0, 64", "add.rn.f32x2 %rd21, %rd20, %rd20",
        "fma.rz.ftz.f32x2 %rd21, %rd20, %rd20, %rd20",
        "cvt.u32.u64 %r10, %rd20;\n  mov.b64 %rd21, {%r10, %r9}",
        "st.shared.b64 [buffer], %rd20;\n  ld.shared.b64 %rd21, [buffer]",
        "mov.b128 %q0, {%rd9, %rd20};\n  st.shared.b128 [buffer], %q0;\n"
        "  ld.shared.b128 %q1, [buffer];\n  mov.b128 {_, %rd21}, %q1"}) {
    move += ";\n  ";
    EXPECT_EQ(kindsAfter(move + "mov.b64 {%r11, _}, %rd21;\n  st.global.u32 [%rd31], %r11;"), "")
        << move;
    EXPECT_EQ(kindsAfter(move + "st.global.b32 [%rd31], %rd21;"), "") << move;
    EXPECT_EQ(kindsAfter(move + "mov.b64 {_, %r11}, %rd21;\n  st.global.u32 [%rd31], %r11;"),
              "uninit-register")
        << move;
    EXPECT_EQ(kindsAfter(move + "ld.global.u32 %r11, [%rd21];"), "uninit-register") << move;
  }
  // Each bit of a sum may follow from any below it.
  EXPECT_EQ(kindsAfter("add.s64 %rd21, %rd20, 1;\n  st.global.b64 [%rd31], %rd21;"),
            "uninit-register");
}

TEST(WarpsimMachine, BytesWithoutAValueTravelThroughSharedMemory) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(32));
  for (bool isUpper : {false, true})
    for (const char *load : {"ld.shared.u32 %r11, [%r12]",
                             "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r13]"}) {
      std::string text = std::string(kOwn) + R"(
  mov.u32 %r13, buffer;
  mad.lo.u32 %r12, %r0, 4, %r13;
  and.b32 %r14, %r0, 7;
  mad.lo.u32 %r13, %r14, 16, %r13;
  cvt.u16.u32 %h1, %r0;
  mov.b32 %r10, {%h1, %h8};
  st.shared.u32 [%r12], %r10;
  bar.warp.sync -1;
  )" + load + ";\n  mov.b32 {%h2, %h3}, %r11;\n  st.global.u16 [%rd31], " +
                         (isUpper ? "%h3" : "%h2") + ";";
      EXPECT_EQ(kindsIn(simulation.run(text)), isUpper ? "uninit-register" : "") << load;
    }
}
