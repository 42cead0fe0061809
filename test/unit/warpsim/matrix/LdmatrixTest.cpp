// ldmatrix, stmatrix and movmatrix: what goes where, bank conflicts, and every fault of a row.
#include "test/unit/warpsim/SimulationHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// Fills the buffer with 16-bit elements 0, 1, 2, ... of 2048 bytes, by 128 threads.
static const char kFill[] = R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r40, buffer;
  shl.b32 %r1, %r0, 4;
  add.u32 %r2, %r40, %r1;
  shl.b32 %r3, %r0, 3;
  mad.lo.u32 %r4, %r3, 65537, 65536;
  add.u32 %r5, %r4, 131074;
  add.u32 %r6, %r5, 131074;
  add.u32 %r7, %r6, 131074;
  st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};
  bar.sync 0;
  shl.b32 %r8, %r0, 2;
  cvt.u64.u32 %rd10, %r8;
  add.s64 %rd11, %rd0, %rd10;
)";

/// The row of lane l is at byte rowBytes * l of the buffer; results are stored by register.
static std::string loadBody(unsigned count, bool isTransposed, unsigned rowBytes) {
  std::string registers = "{%r20", number = std::to_string(count);
  for (unsigned i = 1; i < count; ++i)
    registers += ", %r2" + std::to_string(i);
  std::string text = std::string(kFill) + "  setp.ge.u32 %p0, %r0, 32;\n  @%p0 bra END;\n" +
                     "  mad.lo.u32 %r9, %r0, " + std::to_string(rowBytes) +
                     ", %r40;\n  ldmatrix.sync.aligned.m8n8.x" + number +
                     (isTransposed ? ".trans" : "") + ".shared.b16 " + registers + "}, [%r9];\n";
  for (unsigned i = 0; i < count; ++i)
    text +=
        "  st.global.b32 [%rd11+" + std::to_string(128 * i) + "], %r2" + std::to_string(i) + ";\n";
  return text + "END:";
}

TEST(WarpsimLdmatrix, GivesEachLaneItsPairOfElements) {
  for (unsigned count : {1u, 2u, 4u})
    for (bool isTransposed : {false, true}) {
      Simulation simulation;
      auto &out = simulation.array("out", std::vector<uint32_t>(128));
      simulation.launch.block = {128, 1, 1};
      SimulationReport report = simulation.run(loadBody(count, isTransposed, 48));
      EXPECT_EQ(kindsIn(report), "");
      for (unsigned matrix = 0; matrix < count; ++matrix)
        for (unsigned lane = 0; lane < 32; ++lane)
          for (unsigned i = 0; i < 2; ++i) {
            // PTX ISA, ldmatrix: row lane / 4, elements 2 * (lane % 4) + i; transposed the other
            // way round.
            unsigned row = isTransposed ? 2 * (lane % 4) + i : lane / 4;
            unsigned column = isTransposed ? lane / 4 : 2 * (lane % 4) + i;
            uint32_t element = (8 * matrix + row) * 24 + column;
            EXPECT_EQ(out[32 * matrix + lane] >> 16 * i & 0xffff, element);
          }
    }
}

TEST(WarpsimLdmatrix, CountsTheWavefrontsOfEachGroupOfRows) {
  struct {
    unsigned rowBytes;
    uint64_t wavefronts; // of 4 groups of 8 rows
  } cases[] = {{16, 4}, {32, 8}, {48, 4}, {64, 16}};
  for (auto [rowBytes, wavefronts] : cases) {
    Simulation simulation;
    simulation.array("out", std::vector<uint32_t>(128));
    simulation.launch.block = {128, 1, 1};
    SimulationReport report = simulation.run(loadBody(4, false, rowBytes));
    EXPECT_EQ(report.statistics.matrixRowGroups, 4u);
    EXPECT_EQ(report.statistics.matrixWavefronts, wavefronts) << rowBytes;
  }
}

static SimulationReport runLoad(const std::string &setup, const std::string &instruction,
                                unsigned numThreads = 32) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(128));
  simulation.launch.block = {numThreads, 1, 1};
  return simulation.run("  mov.u32 %r0, %tid.x;\n  mov.u32 %r40, buffer;\n" + setup +
                        "  and.b32 %r50, %r0, 31;\n  mad.lo.u32 %r9, %r50, 16, %r40;\n" +
                        instruction);
}
static const char kLoadOne[] = "  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r9];\n";
static const char kLoadFour[] =
    "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r9];\n";
static const char kWriteRows[] = "  shl.b32 %r10, %r0, 4;\n  add.u32 %r10, %r10, %r40;\n"
                                 "  st.shared.v4.b32 [%r10], {%r0, %r0, %r0, %r0};\n";

TEST(WarpsimLdmatrix, EveryRowIsChecked) {
  EXPECT_EQ(kindsIn(runLoad("", kLoadOne)), "uninit-shared");
  EXPECT_EQ(findingOf(runLoad("", kLoadFour), Kind::UninitShared).count, 32u);
  const std::string written = std::string(kWriteRows) + "  bar.warp.sync -1;\n";
  EXPECT_EQ(kindsIn(runLoad(written, kLoadFour)), "");
  // Only lanes 0 to 7 of an x1 give addresses.
  EXPECT_EQ(
      kindsIn(runLoad(written + "  setp.ge.u32 %p0, %r0, 8;\n  @%p0 mov.u32 %r40, 1;\n", kLoadOne)),
      "");
  const std::string five = written + "  setp.eq.u32 %p0, %r0, 5;\n";
  EXPECT_EQ(kindsIn(runLoad(five + "  @%p0 add.u32 %r40, %r40, 8;\n", kLoadOne)), "misaligned");
  EXPECT_EQ(kindsIn(runLoad(five + "  @%p0 add.u32 %r40, %r40, 65536;\n", kLoadOne)),
            "out-of-bounds-shared");
  EXPECT_EQ(kindsIn(runLoad(written + "  setp.lt.u32 %p0, %r0, 31;\n",
                            "  @%p0 " + std::string(kLoadOne))),
            "divergent-collective");
  EXPECT_EQ(kindsIn(runLoad(written, "  ldmatrix.sync.aligned.m8n8.x1.b16 {%r20}, [%rd0];\n")),
            "out-of-bounds-shared");
}

TEST(WarpsimLdmatrix, RacesWithWhoeverWroteTheElements) {
  // Lane l wrote the row that it gives the address of, and other lanes get its elements.
  SimulationReport report = runLoad(kWriteRows, kLoadFour);
  EXPECT_EQ(kindsIn(report), "race-raw");
  EXPECT_NE(findingOf(report, Kind::RaceRaw).otherInstruction, -1);
  // Between warps a barrier of the warp is not enough.
  const std::string shifted = "  xor.b32 %r60, %r0, 32;\n  shl.b32 %r10, %r60, 4;\n"
                              "  add.u32 %r10, %r10, %r40;\n"
                              "  st.shared.v4.b32 [%r10], {%r0, %r0, %r0, %r0};\n"
                              "  and.b32 %r61, %r0, 32;\n  mad.lo.u32 %r40, %r61, 16, %r40;\n";
  EXPECT_EQ(kindsIn(runLoad(shifted + "  bar.warp.sync -1;\n", kLoadFour, 64)),
            "race-raw race-war uninit-shared");
  EXPECT_EQ(kindsIn(runLoad(shifted + "  bar.sync 0;\n", kLoadFour, 64)), "");
  // A store after the load, by another thread than those that got the elements.
  EXPECT_EQ(kindsIn(runLoad(std::string(kWriteRows) + "  bar.warp.sync -1;\n",
                            std::string(kLoadFour) + kWriteRows)),
            "race-war");
}

TEST(WarpsimLdmatrix, ValuesThatWereNeverSetStayThat) {
  const std::string setup = "  setp.ne.u32 %p0, %r0, 3;\n  @%p0 mov.u32 %r11, 7;\n"
                            "  shl.b32 %r10, %r0, 4;\n  add.u32 %r10, %r10, %r40;\n"
                            "  st.shared.v4.b32 [%r10], {%r0, %r11, %r0, %r0};\n"
                            "  bar.warp.sync -1;\n  mul.wide.u32 %rd10, %r0, 4;\n"
                            "  add.s64 %rd11, %rd0, %rd10;\n";
  SimulationReport report =
      runLoad(setup, std::string(kLoadOne) + "  st.global.b32 [%rd11], %r20;\n");
  EXPECT_EQ(kindsIn(report), "uninit-register");
  // Row 3, elements 2 and 3.
  EXPECT_EQ(findingOf(report, Kind::UninitRegister).thread[0], 13u);
}

TEST(WarpsimStmatrix, IsTheInverseOfLdmatrix) {
  for (const char *trans : {"", ".trans"}) {
    Simulation simulation;
    auto &out = simulation.array("out", std::vector<uint32_t>(128));
    std::string move = std::string("matrix.sync.aligned.m8n8.x4") + trans + ".shared.b16 ";
    std::string text =
        kernelText(std::string("  mov.u32 %r0, %laneid;\n  mov.u32 %r40, buffer;\n"
                               "  mad.lo.u32 %r9, %r0, 48, %r40;\n  add.u32 %r1, %r0, 100;\n"
                               "  add.u32 %r2, %r0, 6553600;\n  add.u32 %r3, %r0, 300;\n"
                               "  st") +
                       move + "[%r9], {%r0, %r1, %r2, %r3};\n  bar.warp.sync -1;\n  ld" + move +
                       "{%r20, %r21, %r22, %r23}, [%r9];\n  mul.wide.u32 %rd10, %r0, 16;\n"
                       "  add.s64 %rd11, %rd0, %rd10;\n"
                       "  st.global.v4.b32 [%rd11], {%r20, %r21, %r22, %r23};\n",
                   1);
    SimulationReport report = simulation.runText(text.replace(text.find("sm_80"), 5, "sm_90"));
    EXPECT_EQ(kindsIn(report), "");
    EXPECT_EQ(report.statistics.matrixWavefronts, 8u);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t expected[] = {lane, lane + 100, lane + 6553600, lane + 300};
      for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(out[4 * lane + i], expected[i]) << lane;
    }
  }
}

TEST(WarpsimStmatrix, OrdersNothing) {
  Simulation simulation;
  std::string text = kernelText("  mov.u32 %r0, %laneid;\n  mov.u32 %r40, buffer;\n"
                                "  mad.lo.u32 %r9, %r0, 16, %r40;\n"
                                "  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r9], {%r0};\n"
                                "  mad.lo.u32 %r10, %r0, -4, %r40;\n"
                                "  ld.shared.b32 %r11, [%r10+124];\n",
                                0);
  SimulationReport report = simulation.runText(text.replace(text.find("sm_80"), 5, "sm_90"));
  EXPECT_EQ(kindsIn(report), "race-raw");
}

TEST(WarpsimMovmatrix, Transposes) {
  Simulation simulation;
  auto &out = simulation.array("out", std::vector<uint32_t>(32));
  SimulationReport report = simulation.run(R"(
  mov.u32 %r0, %laneid;
  mad.lo.u32 %r1, %r0, 131074, 65536;
  movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
  mul.wide.u32 %rd10, %r0, 4;
  add.s64 %rd11, %rd0, %rd10;
  st.global.b32 [%rd11], %r2;)");
  EXPECT_EQ(kindsIn(report), "");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i)
      EXPECT_EQ(out[lane] >> 16 * i & 0xffff, 8 * (2 * (lane % 4) + i) + lane / 4);
}
