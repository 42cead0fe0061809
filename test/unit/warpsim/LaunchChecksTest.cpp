// What is refused before a launch, limits of steps, bounds of shared variables, and where values
// that are missing should have come from.
#include "SimulationHarness.h"
#include "backend/warpsim/ptx/Parse.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tw::warpsim;

static std::string obstacleOf(const std::function<void(Launch &)> &change,
                              const std::string &directives = "") {
  std::string text = kernelText("", 0);
  text.replace(text.find(")\n{"), 1, ")\n" + directives + "\n");
  ParseError error;
  std::optional<Program> program = parsePtx(text, error);
  EXPECT_TRUE(program) << error.message;
  Launch launch;
  launch.kernel = "k";
  change(launch);
  return program ? findObstacle(*program, launch) : "";
}

TEST(WarpsimLaunch, WhatTheMachineCannotRunIsRefusedInWords) {
  EXPECT_EQ(obstacleOf([](Launch &) {}), "");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.dynamicSharedBytes = 163 * 1024 - 4096; }), "");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.dynamicSharedBytes = 163 * 1024 - 4095; }),
            "166913 bytes of shared memory are more than the 166912 of a CTA on sm_80");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.grid[1] = 0; }),
            "the grid (1, 0, 1) has no CTA");
  EXPECT_EQ(obstacleOf([](Launch &) {}, ".reqntid 64"),
            "the block (32, 1, 1) is not the kernel's .reqntid (64, 1, 1)");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.block = {64, 1, 1}; }, ".reqntid 64"), "");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.block = {64, 2, 1}; }, ".maxntid 64"),
            "the block (64, 2, 1) has more threads than the kernel's .maxntid (64, 1, 1)");
  EXPECT_EQ(obstacleOf([](Launch &launch) { launch.block = {1, 1, 128}; }),
            "a CTA has at most 64 threads along z");
}

TEST(WarpsimLaunch, UnknownVersionsAndTargetsAreRefused) {
  auto isRead = [](const std::string &old, const std::string &with) {
    std::string text = kernelText("", 0);
    text.replace(text.find(old), old.size(), with);
    ParseError error;
    return parsePtx(text, error).has_value();
  };
  for (const char *version : {"7.0", "7.8", "8.8", "9.0", "6.5"})
    EXPECT_TRUE(isRead("8.0", version)) << version;
  for (const char *version : {"7.9", "99.0", "0.5", "6.6", "12.0"})
    EXPECT_FALSE(isRead("8.0", version)) << version;
  for (const char *target : {"sm_70", "sm_90a", "sm_100f", "sm_120a"})
    EXPECT_TRUE(isRead("sm_80", target)) << target;
  for (const char *target : {"sm_81", "sm_80a", "sm_8", "sm_90f", "sm_1000", "compute_80"})
    EXPECT_FALSE(isRead("sm_80", target)) << target;
}

TEST(WarpsimLaunch, StepsOfACtaAndOfALaunchAreLimited) {
  const std::string loop = "  mov.u32 %r2, 0;\nLOOP:\n  add.s32 %r2, %r2, 1;\n"
                           "  setp.lt.u32 %p0, %r2, 1000;\n  @%p0 bra LOOP;\n";
  auto messageOf = [&](uint64_t ofCta, uint64_t ofLaunch, uint32_t numCtas) {
    Simulation simulation;
    simulation.launch.block = {128, 1, 1};
    simulation.launch.grid = {numCtas, 1, 1};
    simulation.launch.options.maxStepsPerCta = ofCta;
    simulation.launch.options.maxStepsPerLaunch = ofLaunch;
    SimulationReport report = simulation.run(loop);
    return report.findings.empty() ? "" : findingOf(report, Kind::StepLimit).message;
  };
  EXPECT_EQ(messageOf(20'000, 1'000'000, 2), ""); // four warps of 3000 each
  EXPECT_EQ(messageOf(10'000, 1'000'000, 1).find("the CTA has run 10000 instructions"), 0u);
  EXPECT_EQ(messageOf(20'000, 100'000, 20).find("the launch has run 100000 instructions"), 0u);
}

TEST(WarpsimShared, OneVariableDoesNotReachIntoTheNext) {
  const std::string two = ".shared .align 16 .b8 next[64];\n";
  auto kindsOf = [&](const std::string &body) {
    Simulation simulation;
    return kindsIn(simulation.run("  mov.u32 %r0, %tid.x;\n  shl.b32 %r4, %r0, 2;\n"
                                  "  mov.u32 %r3, buffer;\n  add.s32 %r5, %r3, %r4;\n" +
                                      body,
                                  two));
  };
  EXPECT_EQ(kindsOf("  st.shared.u32 [%r5+3968], %r0;"), "");
  EXPECT_EQ(kindsOf("  st.shared.u32 [%r5+3972], %r0;"), "out-of-bounds-shared");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r0, 31;\n  @%p0 st.shared.u32 [%r5+3972], %r0;"),
            "out-of-bounds-shared");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.shared.u32 [next], %r0;"), "");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.shared.u32 [buffer+4096], %r0;"),
            "out-of-bounds-shared");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.shared.u32 [next+-4], %r0;"),
            "out-of-bounds-shared");
  // Generic addresses too; one of either variable is not bound.
  EXPECT_EQ(kindsOf("  cvt.u64.u32 %rd5, %r5;\n  cvta.shared.u64 %rd6, %rd5;\n"
                    "  st.u32 [%rd6+3972], %r0;"),
            "out-of-bounds-shared");
  EXPECT_EQ(kindsOf("  mov.u32 %r6, next;\n  setp.eq.u32 %p0, %r0, 0;\n"
                    "  selp.u32 %r7, %r6, %r5, %p0;\n  @%p0 st.shared.u32 [%r7], %r0;"),
            "");
}

TEST(WarpsimGroups, LanesOfOneInstructionMayGiveAMaskPerGroup) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(64));
  const std::string start = "  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd5, %r0, 8;\n"
                            "  add.s64 %rd6, %rd0, %rd5;\n  and.b32 %r1, %r0, 24;\n"
                            "  shl.b32 %r2, 255, %r1;\n"; // groups of eight
  SimulationReport report = simulation.run(start + R"(
  redux.sync.add.u32 %r3, %r0, %r2;
  shfl.sync.idx.b32 %r4, %r0, %r1, 31, %r2;
  setp.eq.u32 %p0, %r0, 9;
  vote.sync.any.pred %p1, %p0, %r2;
  selp.u32 %r5, 1000, 0, %p1;
  add.s32 %r4, %r4, %r5;
  bar.warp.sync %r2;
  st.global.u32 [%rd6], %r3;
  st.global.u32 [%rd6+4], %r4;)");
  EXPECT_EQ(kindsIn(report), "");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(out[2 * i], i / 8 * 64 + 28);
    EXPECT_EQ(out[2 * i + 1], i / 8 * 8 + (i / 8 == 1 ? 1000 : 0));
  }
  auto kindsOf = [&](const std::string &body) {
    Simulation other;
    other.array("out", std::vector<uint32_t>(64));
    return kindsIn(other.run(start + body));
  };
  // A group's barrier orders that group only.
  const std::string share = "  mov.u32 %r3, buffer;\n  mad.lo.u32 %r4, %r0, 4, %r3;\n"
                            "  st.shared.u32 [%r4], %r0;\n  bar.warp.sync %r2;\n";
  EXPECT_EQ(kindsOf(share + "  xor.b32 %r5, %r0, 7;\n  mad.lo.u32 %r4, %r5, 4, %r3;\n"
                            "  ld.shared.u32 %r6, [%r4];"),
            "");
  EXPECT_EQ(kindsOf(share + "  xor.b32 %r5, %r0, 8;\n  mad.lo.u32 %r4, %r5, 4, %r3;\n"
                            "  ld.shared.u32 %r6, [%r4];"),
            "race-raw");
  EXPECT_EQ(kindsOf("  shfl.sync.bfly.b32 %r4, %r0, 8, 31, %r2;"), "inactive-lane");
  EXPECT_EQ(kindsOf("  or.b32 %r2, %r2, 1;\n  redux.sync.add.u32 %r3, %r0, %r2;"),
            "bad-membermask");
  EXPECT_EQ(kindsOf("  shl.b32 %r2, 254, %r1;\n  redux.sync.add.u32 %r3, %r0, %r2;"),
            "bad-membermask");
}

TEST(WarpsimOrigin, AMissingValueIsFollowedBack) {
  auto findingIn = [](const std::string &body) {
    Simulation simulation;
    simulation.array("out", std::vector<uint32_t>(32));
    SimulationReport report = simulation.run(
        "  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd5, %r0, 4;\n  add.s64 %rd6, %rd0, %rd5;\n" +
        body + "  st.global.u32 [%rd6], %r4;");
    EXPECT_EQ(kindsIn(report), "uninit-register") << body;
    return findingOf(report, Kind::UninitRegister);
  };
  Finding nothing = findingIn("  add.s32 %r3, %r9, 1;\n  mul.lo.u32 %r4, %r3, %r0;\n");
  EXPECT_NE(nothing.message.find("nothing writes `%r9`, which line"), std::string::npos)
      << nothing.message;
  EXPECT_EQ(nothing.otherPtxLine, nothing.ptxLine - 2);
  Finding skipped = findingIn("  setp.gt.u32 %p0, %r0, 99;\n  @%p0 mov.u32 %r3, 7;\n"
                              "  add.s32 %r4, %r3, 1;\n");
  EXPECT_NE(skipped.message.find("whose guard is false"), std::string::npos) << skipped.message;
  EXPECT_EQ(skipped.otherPtxLine, skipped.ptxLine - 2);
  Finding never = findingIn("  bra OVER;\n  mov.u32 %r3, 7;\nOVER:\n  add.s32 %r4, %r3, 1;\n");
  EXPECT_NE(never.message.find("which has not run"), std::string::npos) << never.message;
}

TEST(WarpsimOrigin, LogicWithAValueThatDecidesHasAValue) {
  auto kindsOf = [](const std::string &body) {
    Simulation simulation;
    simulation.array("out", std::vector<uint32_t>(64));
    return kindsIn(simulation.run("  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd5, %r0, 8;\n"
                                  "  add.s64 %rd6, %rd0, %rd5;\n  mov.u32 %r1, 0;\n" +
                                  body));
  };
  const std::string word = "  st.global.u32 [%rd6], %r4;", wide = "  st.global.u64 [%rd6], %rd8;";
  EXPECT_EQ(kindsOf("  and.b32 %r4, %r9, 0;\n" + word), "");
  EXPECT_EQ(kindsOf("  and.b32 %r4, %r9, %r1;\n" + word), "");
  EXPECT_EQ(kindsOf("  and.b32 %r4, %r9, 1;\n" + word), "uninit-register");
  EXPECT_EQ(kindsOf("  and.b32 %r4, %r9, %r0;\n" + word), "uninit-register");
  EXPECT_EQ(kindsOf("  or.b32 %r4, %r9, -1;\n" + word), "");
  EXPECT_EQ(kindsOf("  or.b32 %r4, %r9, 0;\n" + word), "uninit-register");
  EXPECT_EQ(kindsOf("  xor.b32 %r4, %r9, 0;\n" + word), "uninit-register");
  EXPECT_EQ(kindsOf("  and.b64 %rd8, %rd9, 0;\n" + wide), "");
  EXPECT_EQ(kindsOf("  or.b64 %rd8, %rd9, -1;\n" + wide), "");
  EXPECT_EQ(kindsOf("  and.b64 %rd8, %rd9, 255;\n" + wide), "uninit-register");
  EXPECT_EQ(kindsOf("  setp.gt.u32 %p1, %r0, 99;\n  and.pred %p2, %p3, %p1;\n"
                    "  @%p2 st.global.u32 [%rd6], %r0;"),
            "");
  EXPECT_EQ(kindsOf("  setp.lt.u32 %p1, %r0, 99;\n  and.pred %p2, %p3, %p1;\n"
                    "  @%p2 st.global.u32 [%rd6], %r0;"),
            "uninit-register");
}

TEST(WarpsimDivide, AnApproximateQuotientByAHugeDivisorIsZero) {
  auto divide = [](const std::string &operation, float a, float b) {
    Simulation simulation;
    auto &data = simulation.array("data", {std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b)});
    simulation.launch.block = {1, 1, 1};
    simulation.run("  ld.global.f32 %f0, [%rd0];\n  ld.global.f32 %f1, [%rd0+4];\n  " + operation +
                   " %f2, %f0, %f1;\n  st.global.f32 [%rd0], %f2;");
    return std::bit_cast<float>(data[0]);
  };
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(divide("div.approx.f32", 0x1p127f, 0x1p127f), 0.0f);
  EXPECT_EQ(divide("div.approx.ftz.f32", 0x1p127f, -0x1.8p126f), 0.0f);
  EXPECT_EQ(divide("div.approx.f32", 0x1p127f, 0x1p126f), 2.0f);
  EXPECT_TRUE(std::isnan(divide("div.approx.f32", infinity, 0x1p127f)));
  EXPECT_EQ(divide("div.approx.f32", 3.0f, infinity), 0.0f);
  EXPECT_EQ(divide("div.full.f32", 0x1p127f, 0x1p127f), 1.0f);
  EXPECT_EQ(divide("div.rn.f32", 0x1p127f, 0x1p127f), 1.0f);
}

TEST(WarpsimLaunch, LaunchesThatBeginEarlyWaitBeforeTheyUseGlobalMemory) {
  auto found = [](const std::string &body, bool isEarly) {
    Simulation simulation;
    simulation.launch.beginsEarly = isEarly;
    simulation.array("data", iota(64));
    std::string text = kernelText(body, 1);
    text.replace(text.find("sm_80"), 5, "sm_90");
    return kindsIn(simulation.runText(text));
  };
  const std::string wait = "griddepcontrol.wait;\n", load = "ld.global.u32 %r1, [%rd0+128];\n",
                    store = "mov.b32 %r2, 7;\nst.global.u32 [%rd0], %r2;\n",
                    permit = "griddepcontrol.launch_dependents;\n", only = "redundant-write";
  EXPECT_EQ(found(wait + load + permit + store, true), only);
  EXPECT_EQ(found(load + wait + store, true), only) << "what it reads before is the author's";
  EXPECT_EQ(found(store + wait, true), "launch-order " + only);
  EXPECT_EQ(found(load, true), "launch-order");
  EXPECT_EQ(found(store, false), only) << "launches follow each other";
}
