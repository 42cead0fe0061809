// Shuffles, votes, matches, reductions of a warp; printing and assertions.
#include "SimulationHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

static const char kStart[] = R"(
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd5, %r0, 4;
  add.s64 %rd6, %rd0, %rd5;
  mul.lo.u32 %r1, %r0, 10;
)";

/// What each lane of a warp gets in %r9, and the kinds of the report.
static std::vector<uint32_t> resultOf(const std::string &body, const std::string &kinds = "") {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  EXPECT_EQ(kindsIn(simulation.run(kStart + body + "\n  st.global.u32 [%rd6], %r9;")), kinds)
      << body;
  return out;
}

TEST(WarpsimShuffle, EachModeReadsItsLane) {
  auto up = resultOf("  shfl.sync.up.b32 %r9, %r1, 3, 0, -1;");
  auto down = resultOf("  shfl.sync.down.b32 %r9, %r1, 5, 31, -1;");
  auto butterfly = resultOf("  shfl.sync.bfly.b32 %r9, %r1, 6, 31, -1;");
  auto index = resultOf("  and.b32 %r2, %r0, 7;\n  shfl.sync.idx.b32 %r9, %r1, %r2, 31, -1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], 10 * (i < 3 ? i : i - 3));
    EXPECT_EQ(down[i], 10 * (i + 5 > 31 ? i : i + 5));
    EXPECT_EQ(butterfly[i], 10 * (i ^ 6));
    EXPECT_EQ(index[i], 10 * (i % 8));
  }
}

TEST(WarpsimShuffle, SegmentsBoundTheSource) {
  // Width 8: the mask is (32 - 8) << 8, with the clamp of the mode.
  auto up = resultOf("  shfl.sync.up.b32 %r9, %r1, 3, 0x1800, -1;");
  auto down = resultOf("  shfl.sync.down.b32 %r9|%p0, %r1, 3, 0x181f, -1;\n"
                       "  @!%p0 mov.u32 %r9, 7;");
  auto index = resultOf("  shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], 10 * (i % 8 < 3 ? i : i - 3));
    EXPECT_EQ(down[i], i % 8 + 3 > 7 ? 7 : 10 * (i + 3));
    EXPECT_EQ(index[i], 10 * (i / 8 * 8 + 2));
  }
}

TEST(WarpsimShuffle, LanesThatDoNotTakePartHaveNoValue) {
  const std::string half = "  setp.lt.u32 %p0, %r0, 16;\n  mov.u32 %r9, 1;\n";
  auto inside = resultOf(half + "  @%p0 shfl.sync.bfly.b32 %r9, %r1, 1, 31, 0xffff;");
  EXPECT_EQ(inside[3], 20u);
  EXPECT_EQ(inside[20], 1u);
  resultOf(half + "  @%p0 shfl.sync.bfly.b32 %r9, %r1, 16, 31, 0xffff;",
           "inactive-lane uninit-register");
  resultOf(half + "  @%p0 shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", "divergent-collective");
  resultOf(half + "  shfl.sync.bfly.b32 %r9, %r1, 1, 31, 0xffff;", "bad-membermask");
  resultOf("  shfl.sync.idx.b32 %r9, %r1, %r20, 31, -1;", "uninit-register");
}

TEST(WarpsimVote, ModesAndBallot) {
  const std::string odd = "  and.b32 %r2, %r0, 1;\n  setp.eq.u32 %p0, %r2, 1;\n";
  EXPECT_EQ(resultOf(odd + "  vote.sync.ballot.b32 %r9, %p0, -1;")[5], 0xaaaaaaaau);
  EXPECT_EQ(resultOf(odd + "  vote.sync.ballot.b32 %r9, !%p0, -1;")[5], 0x55555555u);
  auto vote = [&](const std::string &mode) {
    return resultOf(odd + "  vote.sync." + mode +
                    ".pred %p1, %p0, -1;\n"
                    "  selp.u32 %r9, 1, 0, %p1;")[0];
  };
  EXPECT_EQ(vote("all"), 0u);
  EXPECT_EQ(vote("any"), 1u);
  EXPECT_EQ(vote("uni"), 0u);
}

TEST(WarpsimMatch, FindsEqualValues) {
  auto any = resultOf("  rem.u32 %r2, %r0, 3;\n  match.any.sync.b32 %r9, %r2, -1;");
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t expected = 0;
    for (uint32_t j = i % 3; j < 32; j += 3)
      expected |= 1u << j;
    EXPECT_EQ(any[i], expected);
  }
  EXPECT_EQ(resultOf("  mov.u32 %r2, 4;\n  match.all.sync.b32 %r9|%p0, %r2, -1;")[9], ~0u);
  EXPECT_EQ(resultOf("  match.all.sync.b32 %r9|%p0, %r0, -1;")[9], 0u);
}

TEST(WarpsimReduce, AllOperations) {
  auto reduced = [](const std::string &operation) {
    return resultOf("  sub.s32 %r2, %r0, 4;\n  redux.sync." + operation + " %r9, %r2, -1;")[7];
  };
  EXPECT_EQ(reduced("add.s32"), 496u - 128);
  EXPECT_EQ(reduced("min.s32"), uint32_t(-4));
  EXPECT_EQ(reduced("max.s32"), 27u);
  EXPECT_EQ(reduced("min.u32"), 0u);
  EXPECT_EQ(reduced("max.u32"), ~0u);
  EXPECT_EQ(reduced("and.b32"), 0u);
  EXPECT_EQ(reduced("or.b32"), ~0u);
  uint32_t all = 0;
  for (uint32_t i = 0; i < 32; ++i)
    all ^= i - 4;
  EXPECT_EQ(reduced("xor.b32"), all);
}

TEST(WarpsimPrint, FormatsWhatTheArgumentBufferHolds) {
  Simulation simulation;
  simulation.launch.grid = {2, 1, 1};
  simulation.launch.block = {2, 1, 1};
  SimulationReport report = simulation.run(R"(
  .local .align 8 .b8 depot[64];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u64 %rd5, depot;
  cvta.local.u64 %rd6, %rd5;
  st.local.u32 [%rd5], %r1;
  st.local.u32 [%rd5+4], %r0;
  mov.u32 %r2, -3;
  st.local.u32 [%rd5+8], %r2;
  mov.u64 %rd7, -5000000000;
  st.local.u64 [%rd5+16], %rd7;
  mov.f64 %fd0, 0d3FF8000000000000;
  st.local.f64 [%rd5+24], %fd0;
  mov.u64 %rd8, word;
  cvta.global.u64 %rd8, %rd8;
  st.local.u64 [%rd5+32], %rd8;
  mov.u32 %r3, 65;
  st.local.u32 [%rd5+40], %r3;
  mov.u64 %rd9, format;
  cvta.global.u64 %rd10, %rd9;
  {
  .param .b64 p0;
  .param .b64 p1;
  .param .b32 result;
  st.param.b64 [p0], %rd10;
  st.param.b64 [p1], %rd6;
  call.uni (result), vprintf, (p0, p1);
  ld.param.b32 %r9, [result];
  })",
                                           R"(
.extern .func (.param .b32 result) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 format[38] = {37,117,32,37,117,58,32,37,100,32,37,108,108,100,32,37,46,50,102,
  32,37,53,115,32,37,99,32,49,37,37,10,0,0,0,0,0,0,0};
.global .align 1 .b8 word[4] = {97,98,99,0};
)");
  EXPECT_EQ(kindsIn(report), "");
  // %u %u: %d %lld %.2f %5s %c 1%%
  EXPECT_EQ(simulation.printed, "0 0: -3 -5000000000 1.50   abc A 1%\n"
                                "0 1: -3 -5000000000 1.50   abc A 1%\n"
                                "1 0: -3 -5000000000 1.50   abc A 1%\n"
                                "1 1: -3 -5000000000 1.50   abc A 1%\n");
}

TEST(WarpsimAssert, EndsTheCtaWithItsMessage) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(2, 9));
  simulation.launch.grid = {2, 1, 1};
  SimulationReport report = simulation.run(R"(
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd0, %rd5;
  setp.eq.u32 %p0, %r1, 0;
  mov.u32 %r3, %tid.x;
  setp.eq.u32 %p1, %r3, 0;
  @%p0 bra FINE;
  mov.u64 %rd9, text;
  cvta.global.u64 %rd10, %rd9;
  mov.u32 %r2, 12;
  mov.u64 %rd11, 1;
  {
  .param .b64 p0;
  .param .b64 p1;
  .param .b32 p2;
  .param .b64 p3;
  .param .b64 p4;
  st.param.b64 [p0], %rd10;
  st.param.b64 [p1], %rd10;
  st.param.b32 [p2], %r2;
  st.param.b64 [p3], %rd10;
  st.param.b64 [p4], %rd11;
  call.uni __assertfail, (p0, p1, p2, p3, p4);
  }
FINE:
  @%p1 st.global.u32 [%rd6], 1;)",
                                           R"(
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,
                           .param .b64 e);
.global .align 1 .b8 text[4] = {98,97,100,0};
)");
  EXPECT_EQ(kindsIn(report), "assertion");
  EXPECT_EQ(findingOf(report, Kind::Assertion).message,
            "device-side assert failed at bad:12: bad (pid (1, 0, 0))");
  EXPECT_EQ(out, (std::vector<uint32_t>{1, 9}));
}
