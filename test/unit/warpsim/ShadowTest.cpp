// Data races: what orders accesses and what does not.
#include "SimulationHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// A thread's word in `buffer` is at %r5, that of the lane with one bit flipped at %r6, that of the
/// warp beside it at %r7.
static std::string shared(const std::string &body) {
  return R"(
  mov.u32 %r0, %tid.x;
  shl.b32 %r4, %r0, 2;
  mov.u32 %r3, buffer;
  add.s32 %r5, %r3, %r4;
  xor.b32 %r6, %r4, 4;
  add.s32 %r6, %r3, %r6;
  xor.b32 %r7, %r4, 128;
  add.s32 %r7, %r3, %r7;
)" + body;
}

static std::string racesIn(const std::string &body, uint32_t numThreads = 64) {
  std::string kinds;
  for (auto schedule : {LaunchOptions::Schedule::RoundRobin, LaunchOptions::Schedule::Reverse}) {
    Simulation simulation;
    simulation.launch.block = {numThreads, 1, 1};
    simulation.launch.options.schedule = schedule;
    std::string found = kindsIn(simulation.run(shared(body)));
    // What is wrong does not depend on the order in which warps happen to run, its name may.
    if (schedule == LaunchOptions::Schedule::RoundRobin)
      kinds = found;
    else
      EXPECT_EQ(found.empty(), kinds.empty()) << body;
  }
  return kinds;
}

TEST(WarpsimRace, ABarrierOrdersWarps) {
  const std::string write = "  st.shared.u32 [%r5], %r0;\n", read = "  ld.shared.u32 %r9, [%r7];\n",
                    barrier = "  bar.sync 0;\n";
  EXPECT_EQ(racesIn(write + barrier + read), "");
  EXPECT_EQ(racesIn(write + barrier + read + barrier + write), "");
  // Without it the first warp also reads what nobody wrote.
  EXPECT_EQ(racesIn(write + read), "race-raw race-war uninit-shared");
  EXPECT_EQ(racesIn(write + barrier + read + write), "race-raw race-war");
}

TEST(WarpsimRace, WritesOfTwoWarpsToOneWord) {
  const std::string place = "  and.b32 %r8, %r4, 127;\n  add.s32 %r8, %r8, %r3;\n";
  EXPECT_EQ(racesIn(place + "  st.shared.u32 [%r8], %r0;"), "race-waw");
  EXPECT_EQ(racesIn(place + "  st.shared.u32 [%r8], 3;"), "redundant-write");
  EXPECT_EQ(racesIn(place + "  st.shared.u32 [%r8], %r0;\n  bar.sync 0;\n"
                            "  st.shared.u32 [%r8], 5;",
                    32),
            "");
}

TEST(WarpsimRace, LanesOfOneInstructionThatWriteOneWord) {
  EXPECT_EQ(racesIn("  st.shared.u32 [buffer], %r0;", 32), "race-waw");
  EXPECT_EQ(racesIn("  st.shared.u32 [buffer], 8;", 32), "redundant-write");
  EXPECT_EQ(racesIn("  shr.u32 %r8, %r0, 1;\n  mad.lo.u32 %r8, %r8, 4, %r3;\n"
                    "  st.shared.u32 [%r8], %r0;",
                    32),
            "race-waw");
}

TEST(WarpsimRace, LanesOfAWarpNeedBarWarpSync) {
  const std::string write = "  st.shared.u32 [%r5], %r0;\n", read = "  ld.shared.u32 %r9, [%r6];\n";
  EXPECT_EQ(racesIn(write + read, 32), "race-raw");
  EXPECT_EQ(racesIn(write + "  bar.warp.sync -1;\n" + read, 32), "");
  EXPECT_EQ(racesIn(write + "  shfl.sync.bfly.b32 %r10, %r0, 1, 31, -1;\n" + read, 32), "race-raw");
  EXPECT_EQ(racesIn(write + "  bar.warp.sync -1;\n" + read + write, 32), "race-war");
  EXPECT_EQ(racesIn(write + "  bar.warp.sync -1;\n" + read + "  bar.warp.sync -1;\n" + write, 32),
            "");
  // A barrier of half of the warp orders that half.
  const std::string half =
      "  setp.lt.u32 %p0, %r0, 16;\n" + write + "  @%p0 bar.warp.sync 65535;\n";
  EXPECT_EQ(racesIn(half + "  @%p0 ld.shared.u32 %r9, [%r6];\n", 32), "");
  EXPECT_EQ(racesIn(half + "  @!%p0 ld.shared.u32 %r9, [%r6];\n", 32), "race-raw");
}

TEST(WarpsimRace, ABroadcastReadAndALaterWriteOfOneLane) {
  const std::string start = "  setp.eq.u32 %p0, %r0, 0;\n  @%p0 st.shared.u32 [buffer], 1;\n"
                            "  bar.warp.sync -1;\n  ld.shared.u32 %r9, [buffer];\n";
  EXPECT_EQ(racesIn(start + "  @%p0 st.shared.u32 [buffer], 2;", 32), "race-war");
  EXPECT_EQ(racesIn(start + "  bar.warp.sync -1;\n  @%p0 st.shared.u32 [buffer], 2;", 32), "");
}

TEST(WarpsimRace, NarrowAccessesOfOneWordAreApart) {
  const std::string place = "  shl.b32 %r8, %r0, 1;\n  add.s32 %r8, %r8, %r3;\n";
  EXPECT_EQ(racesIn(place + "  st.shared.u16 [%r8], 1;\n  ld.shared.u16 %h1, [%r8];\n"
                            "  st.shared.u16 [%r8], 2;"),
            "");
  EXPECT_EQ(racesIn(place + "  st.shared.u16 [%r8], 1;\n  xor.b32 %r9, %r8, 2;\n"
                            "  ld.shared.u16 %h1, [%r9];",
                    32),
            "race-raw");
  const std::string bytes = "  add.s32 %r8, %r0, %r3;\n";
  EXPECT_EQ(racesIn(bytes + "  st.shared.u32 [%r5], 0;\n  bar.sync 0;\n"
                            "  st.shared.u8 [%r8], 1;\n  bar.sync 0;\n  ld.shared.u32 %r9, [%r5];"),
            "");
  EXPECT_EQ(racesIn(bytes + "  st.shared.u32 [%r5], 0;\n  bar.sync 0;\n"
                            "  st.shared.u8 [%r8], 1;\n  ld.shared.u32 %r9, [buffer+32];"),
            "race-raw");
}

TEST(WarpsimRace, NamedBarriersOrderThoseWhoTakePart) {
  // Warps 0 and 1 meet at barrier 1; warps 2 and 3 at barrier 2.
  const std::string pairs = "  shr.u32 %r8, %r0, 6;\n  add.s32 %r8, %r8, 1;\n"
                            "  st.shared.u32 [%r5], %r0;\n  bar.sync %r8, 64;\n";
  EXPECT_EQ(racesIn(pairs + "  ld.shared.u32 %r9, [%r7];", 128), "");
  EXPECT_EQ(racesIn(pairs + "  xor.b32 %r10, %r4, 256;\n  add.s32 %r10, %r10, %r3;\n"
                            "  ld.shared.u32 %r9, [%r10];",
                    128)
                .find("race-"),
            0u);
}

TEST(WarpsimRace, ProducerAndConsumerWithArrive) {
  // Warp 0 writes and arrives; warp 1 waits and reads. The other way round nothing is ordered.
  const std::string split = "  setp.lt.u32 %p0, %r0, 32;\n  @%p0 bra WRITER;\n";
  EXPECT_EQ(racesIn(split + "  bar.sync 1, 64;\n  ld.shared.u32 %r9, [%r7];\n  bra END;\n"
                            "WRITER:\n  st.shared.u32 [%r5], 1;\n  bar.arrive 1, 64;\nEND:"),
            "");
  EXPECT_EQ(racesIn(split + "  ld.shared.u32 %r9, [buffer+4];\n  bar.sync 1, 64;\n  bra END;\n"
                            "WRITER:\n  bar.arrive 1, 64;\n  st.shared.u32 [%r5], 1;\nEND:")
                .find("race-"),
            0u);
}

TEST(WarpsimRace, AtomicsDoNotRaceWithEachOther) {
  EXPECT_EQ(racesIn("  st.shared.u32 [%r5], 0;\n  bar.sync 0;\n"
                    "  atom.shared.add.u32 %r9, [buffer], 1;\n  red.shared.add.u32 [buffer], 1;"),
            "");
  EXPECT_EQ(racesIn("  st.shared.u32 [%r5], 0;\n  bar.sync 0;\n"
                    "  red.shared.add.u32 [buffer], 1;\n  ld.shared.u32 %r9, [buffer];")
                .find("race-raw"),
            0u);
}

TEST(WarpsimRace, CtasOfAGridAreNotOrdered) {
  auto kindsOf = [](const std::string &body) {
    Simulation simulation;
    simulation.array("out", std::vector<uint32_t>(64));
    simulation.launch.grid = {2, 1, 1};
    simulation.launch.options.numThreads = 1;
    SimulationReport report = simulation.run("  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n"
                                             "  mul.wide.u32 %rd5, %r0, 4;\n"
                                             "  add.s64 %rd6, %rd0, %rd5;\n" +
                                             body);
    for (const Finding &finding : report.findings)
      EXPECT_EQ(finding.buffer, "out");
    return kindsIn(report);
  };
  EXPECT_EQ(kindsOf("  st.global.u32 [%rd6], %r1;"), "race-waw");
  EXPECT_EQ(kindsOf("  st.global.u32 [%rd6], 4;"), "redundant-write");
  EXPECT_EQ(kindsOf("  ld.global.u32 %r2, [%rd6];"), "");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r1, 0;\n  @%p0 ld.global.u32 %r2, [%rd6];\n"
                    "  @!%p0 st.global.u32 [%rd6], 1;"),
            "race-war");
  EXPECT_EQ(kindsOf("  setp.eq.u32 %p0, %r1, 0;\n  @%p0 st.global.u32 [%rd6], 9;\n"
                    "  @!%p0 ld.global.u32 %r2, [%rd6];"),
            "race-raw");
  EXPECT_EQ(kindsOf("  red.global.add.u32 [%rd6], 1;"), "");
  EXPECT_EQ(kindsOf("  red.relaxed.cta.global.add.u32 [%rd6], 1;"), "race-waw");
  // In place by one CTA, one half each.
  EXPECT_EQ(kindsOf("  mul.wide.u32 %rd7, %r1, 128;\n  add.s64 %rd6, %rd6, %rd7;\n"
                    "  ld.global.u32 %r2, [%rd6];\n  st.global.u32 [%rd6], 3;"),
            "");
}

/// CTA 0 writes data and sets a flag; CTA 1 waits for the flag and reads the data.
static std::string messageKinds(const std::string &set, const std::string &poll) {
  std::string kinds;
  for (unsigned numThreads : {1u, 2u}) {
    Simulation simulation;
    simulation.array("data", std::vector<uint32_t>(32));
    simulation.array("flag", {0});
    auto &out = simulation.array("out", std::vector<uint32_t>(32));
    simulation.launch.grid = {2, 1, 1};
    simulation.launch.options.numThreads = numThreads;
    // The waiting CTA has the lower number, so that on one host thread it runs first.
    std::string text = R"(
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd5, %r0, 4;
  add.s64 %rd6, %rd0, %rd5;
  add.s64 %rd7, %rd2, %rd5;
  setp.eq.u32 %p0, %r1, 0;
  setp.ne.u32 %p1, %r0, 0;
  @%p0 bra READER;
  add.s32 %r2, %r0, 500;
  st.global.u32 [%rd6], %r2;
  bar.sync 0;
  @%p1 bra END;
)" + set + R"(
  bra END;
READER:
  @%p1 bra WAITED;
SPIN:
)" + poll + R"(
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra SPIN;
WAITED:
  bar.sync 0;
  ld.global.u32 %r4, [%rd6];
  st.global.u32 [%rd7], %r4;
END:)";
    kinds = kindsIn(simulation.run(text));
    if (kinds.empty())
      for (uint32_t i = 0; i < 32; ++i)
        EXPECT_EQ(out[i], 500 + i);
  }
  return kinds;
}

TEST(WarpsimRace, ReleaseAndAcquireOrderCtas) {
  EXPECT_EQ(messageKinds("  st.release.gpu.global.u32 [%rd1], 1;",
                         "  ld.acquire.gpu.global.u32 %r3, [%rd1];"),
            "");
  EXPECT_EQ(messageKinds("  red.release.gpu.global.add.u32 [%rd1], 1;",
                         "  atom.acquire.gpu.global.or.b32 %r3, [%rd1], 0;"),
            "");
  EXPECT_EQ(messageKinds("  fence.acq_rel.gpu;\n  st.relaxed.gpu.global.u32 [%rd1], 1;",
                         "  ld.relaxed.gpu.global.u32 %r3, [%rd1];\n  fence.acq_rel.gpu;"),
            "");
  EXPECT_EQ(messageKinds("  membar.gl;\n  st.volatile.global.u32 [%rd1], 1;",
                         "  ld.volatile.global.u32 %r3, [%rd1];\n  membar.gl;"),
            "");
  EXPECT_EQ(messageKinds("  st.relaxed.gpu.global.u32 [%rd1], 1;",
                         "  ld.acquire.gpu.global.u32 %r3, [%rd1];"),
            "race-raw");
  EXPECT_EQ(messageKinds("  st.release.gpu.global.u32 [%rd1], 1;",
                         "  ld.relaxed.gpu.global.u32 %r3, [%rd1];"),
            "race-raw");
  EXPECT_EQ(messageKinds("  fence.acq_rel.gpu;\n  st.relaxed.gpu.global.u32 [%rd1], 1;",
                         "  ld.relaxed.gpu.global.u32 %r3, [%rd1];"),
            "race-raw");
}

TEST(WarpsimRace, AWriteIsAfterEachOfManyReads) {
  // Warps 0 to 6 read in turn; one of them has no part in the barrier before warp 7 writes.
  for (int absent = 0; absent < 7; ++absent)
    for (const char *read : {"  @%p0 ld.shared.u32 %r9, [buffer];\n",
                             "  and.b32 %r10, %r4, 127;\n  add.s32 %r10, %r10, %r3;\n"
                             "  @%p0 ld.shared.u32 %r9, [%r10];\n"}) {
      const std::string body =
          "  setp.eq.u32 %p2, %r0, 0;\n  shr.u32 %r8, %r0, 5;\n  setp.ne.u32 %p0, %r8, 7;\n"
          "  setp.eq.u32 %p1, %r8, " +
          std::to_string(absent) +
          ";\n  and.b32 %r10, %r4, 127;\n  add.s32 %r10, %r10, %r3;\n"
          "  st.shared.u32 [%r5], %r0;\n  bar.sync 0;\n" +
          read + "  @%p1 bra END;\n  bar.sync 1, 224;\n  @!%p0 st.shared.u32 [buffer], %r0;\nEND:";
      EXPECT_NE(racesIn(body, 256).find("race-"), std::string::npos) << absent << read;
    }
  EXPECT_EQ(racesIn("  shr.u32 %r8, %r0, 5;\n  setp.ne.u32 %p0, %r8, 7;\n"
                    "  st.shared.u32 [%r5], %r0;\n  bar.sync 0;\n"
                    "  @%p0 ld.shared.u32 %r9, [buffer];\n  bar.sync 1, 256;\n"
                    "  setp.eq.u32 %p1, %r0, 224;\n  @%p1 st.shared.u32 [buffer], %r0;\n",
                    256),
            "");
}

TEST(WarpsimRace, ReadsAtLaterTimesAreApart) {
  // The second warp knows of the first read of lane 0, and not of the second one.
  EXPECT_EQ(racesIn("  setp.lt.u32 %p0, %r0, 32;\n  setp.eq.u32 %p1, %r0, 0;\n"
                    "  setp.eq.u32 %p2, %r0, 32;\n  @!%p0 bra WRITER;\n"
                    "  ld.shared.u32 %r9, [buffer+16];\n  bar.arrive 1, 64;\n"
                    "  @%p1 ld.shared.u32 %r9, [buffer+16];\n  bra END;\nWRITER:\n"
                    "  bar.sync 1, 64;\n  @%p2 st.shared.u32 [buffer+16], 1;\nEND:")
                .find("race-"),
            0u);
}

TEST(WarpsimRace, AStrongWriteDoesNotHideAnotherOne) {
  // Both lanes count; lane 0 then reads what lane 1 has also written.
  const std::string count = "  setp.eq.u32 %p0, %r0, 0;\n  st.shared.u32 [buffer], 0;\n"
                            "  bar.sync 0;\n  @!%p0 red.shared.add.u32 [buffer], 1;\n"
                            "  @%p0 red.shared.add.u32 [buffer], 1;\n";
  EXPECT_EQ(racesIn(count + "  @%p0 ld.shared.u32 %r9, [buffer];", 2), "race-raw redundant-write");
  EXPECT_EQ(racesIn(count + "  bar.sync 0;\n  @%p0 ld.shared.u32 %r9, [buffer];", 2),
            "redundant-write");
}

TEST(WarpsimRace, ManyCtasAndManyBarriersAreToldApart) {
  Simulation simulation;
  simulation.array("out", {0});
  simulation.launch.grid = {65537, 1, 1};
  SimulationReport report =
      simulation.run("  mov.u32 %r1, %ctaid.x;\n  and.b32 %r2, %r1, 0xffff;\n"
                     "  mov.u32 %r0, %tid.x;\n  or.b32 %r2, %r2, %r0;\n"
                     "  setp.eq.u32 %p0, %r2, 0;\n  @%p0 st.global.u32 [%rd0], %r1;");
  EXPECT_EQ(kindsIn(report), "race-waw");
  Simulation loop;
  loop.array("out", std::vector<uint32_t>(64));
  loop.launch.block = {64, 1, 1};
  EXPECT_EQ(kindsIn(loop.run("  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd5, %r0, 4;\n"
                             "  add.s64 %rd6, %rd0, %rd5;\n  xor.b32 %r1, %r0, 32;\n"
                             "  mul.wide.u32 %rd5, %r1, 4;\n  add.s64 %rd7, %rd0, %rd5;\n"
                             "  st.global.u32 [%rd6], %r0;\n  mov.u32 %r2, 0;\nLOOP:\n"
                             "  bar.sync 0;\n  add.s32 %r2, %r2, 1;\n"
                             "  setp.lt.u32 %p0, %r2, 65536;\n  @%p0 bra LOOP;\n"
                             "  ld.global.u32 %r3, [%rd7];")),
            "");
}

TEST(WarpsimRace, AFindingNamesPlaceThreadsAndBothInstructions) {
  Simulation simulation;
  simulation.launch.block = {64, 1, 1};
  simulation.launch.sharedBuffers = {{"tile", 0, 256}};
  SimulationReport report =
      simulation.run(shared("  st.shared.u32 [%r5], %r0;\n  ld.shared.u32 %r9, [%r6];"));
  Finding finding = findingOf(report, Kind::RaceRaw);
  EXPECT_EQ(finding.buffer, "tile");
  EXPECT_EQ(finding.offset, 4);
  EXPECT_EQ(finding.thread[0], 0u);
  EXPECT_EQ(finding.otherThread[0], 1u);
  EXPECT_EQ(finding.count, 64u);
  EXPECT_EQ(finding.ptxLine, finding.otherPtxLine + 1);
  EXPECT_EQ(finding.message,
            "thread (0, 0, 0) reads `tile` + 4, which thread (1, 0, 0) wrote, with "
            "nothing that orders the two");
}

TEST(WarpsimRace, ChecksCanBeSwitchedOff) {
  Simulation simulation;
  simulation.launch.options.checksRaces = false;
  EXPECT_EQ(kindsIn(simulation.run("  mov.u32 %r0, %tid.x;\n  st.shared.u32 [buffer], %r0;")), "");
}
