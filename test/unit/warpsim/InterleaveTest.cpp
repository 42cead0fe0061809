// CTAs that take turns: contention, scopes, and the same outcome on any number of host threads.
#include "SimulationHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Schedule = LaunchOptions::Schedule;

namespace {
struct Trial {
  Schedule schedule;
  uint64_t seed;
};
/// What each kernel runs under.
const Trial kTrials[] = {{Schedule::RoundRobin, 0}, {Schedule::Greedy, 0}, {Schedule::Reverse, 0},
                         {Schedule::Random, 0},     {Schedule::Random, 1}, {Schedule::Random, 2},
                         {Schedule::Random, 3},     {Schedule::Random, 4}};
} // namespace

/// %r0 is the thread, %r1 the CTA, %rd0 to %rd2 are arrays of 64 words: `sync` and `data` are zero.
static SimulationReport runTrial(const std::string &body, uint32_t numCtas, uint32_t numThreads,
                                 const Trial &trial, unsigned numHostThreads,
                                 std::vector<uint32_t> *data = nullptr) {
  Simulation simulation;
  simulation.array("sync", std::vector<uint32_t>(64));
  auto &kept = simulation.array("data", std::vector<uint32_t>(64));
  simulation.array("out", std::vector<uint32_t>(64));
  simulation.launch.grid = {numCtas, 1, 1};
  simulation.launch.block = {numThreads, 1, 1};
  simulation.launch.options.schedule = trial.schedule;
  simulation.launch.options.seed = trial.seed;
  simulation.launch.options.numThreads = numHostThreads;
  simulation.launch.options.maxStepsPerWarp = 1'000'000;
  SimulationReport report =
      simulation.run("  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n" + body);
  if (data)
    *data = kept;
  return report;
}

/// True when each trial reports the kind; prints the others.
static void expectKind(const std::string &body, const std::string &kind, uint32_t numCtas = 4,
                       uint32_t numThreads = 64) {
  for (const Trial &trial : kTrials) {
    std::string found = kindsIn(runTrial(body, numCtas, numThreads, trial, 1));
    bool isFound = kind.empty() ? found.empty() : found.find(kind) != std::string::npos;
    EXPECT_TRUE(isFound) << "schedule " << int(trial.schedule) << ", seed " << trial.seed << ": "
                         << found << " instead of " << kind << "\n"
                         << body;
  }
}

static std::string replaced(std::string text, const std::string &old, const std::string &with) {
  size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), with);
}

// A thread of each CTA takes a lock; all of its threads then add to an array.
static const char *const kLocked = R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra TAKEN;
SPIN:
  atom.acquire.gpu.global.cas.b32 %r2, [%rd0], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra SPIN;
TAKEN:
  bar.sync 0;
  and.b32 %r3, %r0, 63;
  mul.wide.u32 %rd5, %r3, 4;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r4, [%rd6];
  add.s32 %r4, %r4, 1;
  st.global.u32 [%rd6], %r4;
  bar.sync 1;
  @%p0 bra END;
  atom.release.gpu.global.exch.b32 %r5, [%rd0], 0;
END:)";

TEST(WarpsimInterleave, ALockWorksUnderEverySchedule) {
  for (const Trial &trial : kTrials) {
    std::vector<uint32_t> data;
    EXPECT_EQ(kindsIn(runTrial(kLocked, 20, 64, trial, 1, &data)), "");
    EXPECT_EQ(data, std::vector<uint32_t>(64, 20));
  }
}

TEST(WarpsimInterleave, ALockThatIgnoresItsCasIsARace) {
  expectKind(replaced(kLocked, "  @%p1 bra SPIN;\n", ""), "race-");
  expectKind(replaced(kLocked, "setp.ne.u32 %p1, %r2, 0;", "setp.gt.u32 %p1, %r2, 1;"), "race-");
  expectKind(replaced(kLocked, "cas.b32 %r2, [%rd0], 0, 1", "or.b32 %r2, [%rd0], 0"), "race-");
  expectKind(replaced(kLocked, "  bar.sync 0;\n", ""), "race-");
  expectKind(replaced(kLocked, "  bar.sync 1;\n", ""), "race-");
  expectKind(replaced(kLocked, "atom.release", "atom.relaxed"), "race-");
  expectKind(replaced(kLocked, "atom.acquire", "atom.relaxed"), "race-");
  expectKind(replaced(kLocked, "atom.release.gpu", "atom.release.cta"), "race-");
  expectKind(replaced(kLocked, "atom.acquire.gpu", "atom.acquire.cta"), "race-");
  expectKind(replaced(kLocked, "atom.acquire.gpu", "atom.acquire.cluster"), "race-");
  // Released before the last access.
  expectKind(replaced(replaced(kLocked, "  bar.sync 1;\n", ""), "  bar.sync 0;\n",
                      "  bar.sync 0;\n  @!%p0 red.release.gpu.global.and.b32 [%rd0], 0;\n"),
             "race-");
}

TEST(WarpsimInterleave, WarpsOfOneCtaContendForALockToo) {
  const std::string lock = R"(
  and.b32 %r3, %r0, 31;
  setp.ne.u32 %p0, %r3, 0;
  st.shared.u32 [buffer], 0;
  st.shared.u32 [buffer+4], 0;
  bar.sync 0;
  @%p0 bra END;
SPIN:
  atom.acquire.cta.shared.cas.b32 %r2, [buffer], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra SPIN;
  ld.shared.u32 %r4, [buffer+4];
  add.s32 %r4, %r4, 1;
  st.shared.u32 [buffer+4], %r4;
  atom.release.cta.shared.exch.b32 %r5, [buffer], 0;
END:)";
  for (const Trial &trial : kTrials) {
    EXPECT_EQ(kindsIn(runTrial(lock, 2, 128, trial, 2)), "redundant-write");
    EXPECT_NE(
        kindsIn(runTrial(replaced(lock, "  @%p1 bra SPIN;\n", ""), 2, 128, trial, 2)).find("race-"),
        std::string::npos);
  }
}

// CTA 0 writes and sets a flag, the others wait for it and read.
static const char *const kFlag = R"(
  mul.wide.u32 %rd5, %r0, 4;
  add.s64 %rd6, %rd1, %rd5;
  setp.ne.u32 %p0, %r0, 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READER;
  st.global.u32 [%rd6], 7;
  bar.sync 0;
  @%p0 bra END;
  fence.acq_rel.gpu;
  st.relaxed.gpu.global.u32 [%rd0], 1;
  bra END;
READER:
  @%p0 bra WAITED;
SPIN:
  ld.relaxed.gpu.global.u32 %r3, [%rd0];
  fence.sc.gpu;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra SPIN;
WAITED:
  bar.sync 0;
  ld.global.u32 %r4, [%rd6];
END:)";

TEST(WarpsimInterleave, AFlagThatNobodyWaitsForIsARace) {
  expectKind(kFlag, "");
  expectKind(kFlag, "", 50);
  expectKind(replaced(kFlag, "  @%p2 bra SPIN;\n", ""), "race-", 2);
  expectKind(replaced(kFlag, "  @%p2 bra SPIN;\n", ""), "race-", 50);
  expectKind(replaced(kFlag, "setp.eq.u32 %p2", "setp.lt.u32 %p2"), "race-");
  expectKind(replaced(kFlag, "WAITED:\n  bar.sync 0;\n", "WAITED:\n"), "race-");
  expectKind(replaced(kFlag, "  bar.sync 0;\n  @%p0 bra END;", "  @%p0 bra END;"), "race-");
}

TEST(WarpsimInterleave, AFenceOfACtaOrdersNoOtherCta) {
  for (const char *fence :
       {"membar.cta;", "fence.acq_rel.cta;", "fence.sc.cta;", "fence.acq_rel.cluster;"})
    for (const char *old : {"fence.acq_rel.gpu;", "fence.sc.gpu;"})
      expectKind(replaced(kFlag, old, fence), "race-");
  for (const char *fence : {"membar.gl;", "membar.sys;", "fence.sc.sys;", "fence.acq_rel.sys;"})
    for (const char *old : {"fence.acq_rel.gpu;", "fence.sc.gpu;"})
      expectKind(replaced(kFlag, old, fence), "");
  expectKind(replaced(kFlag, "st.relaxed.gpu", "st.relaxed.cta"), "race-");
  expectKind(replaced(kFlag, "ld.relaxed.gpu", "ld.relaxed.cta"), "race-");
}

TEST(WarpsimInterleave, AScopeOfTheCtaOrdersItsThreads) {
  // The first warp tells the second.
  const std::string within = R"(
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd0, %rd5;
  add.s64 %rd7, %rd1, %rd5;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r0, 32;
  @%p1 bra READER;
  @!%p0 bra END;
  st.global.u32 [%rd7], 7;
  fence.acq_rel.cta;
  st.relaxed.cta.global.u32 [%rd6], 1;
  bra END;
READER:
  ld.acquire.cta.global.u32 %r3, [%rd6];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra READER;
  ld.global.u32 %r4, [%rd7];
END:)";
  expectKind(within, "");
  expectKind(replaced(within, "fence.acq_rel.cta;", ""), "race-raw");
  expectKind(replaced(within, "ld.acquire.cta", "ld.acquire.gpu"), "");
  expectKind(replaced(within, "fence.acq_rel.cta", "fence.acq_rel.gpu"), "");
}

// All CTAs wait for each other, then read what another one wrote.
static const char *const kGridBarrier = R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r1;
  red.release.gpu.global.add.u32 [%rd0], 1;
SPIN:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.lt.u32 %p2, %r3, 8;
  @%p2 bra SPIN;
  xor.b32 %r5, %r1, 5;
  mul.wide.u32 %rd5, %r5, 4;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.u32 %r4, [%rd6];
END:)";

TEST(WarpsimInterleave, ACountThatIsAwaitedTooLowIsARace) {
  expectKind(kGridBarrier, "", 8);
  expectKind(replaced(kGridBarrier, "%r3, 8;", "%r3, 7;"), "race-", 8);
  expectKind(replaced(kGridBarrier, "%r3, 8;", "%r3, 1;"), "race-", 8);
  expectKind(replaced(kGridBarrier, "%r3, 8;", "%r3, 9;"), "deadlock", 8);
  expectKind(replaced(kGridBarrier, "red.release", "red.relaxed"), "race-", 8);
}

TEST(WarpsimInterleave, ACompareAndSwapThatFailsReleasesNothing) {
  // CTA 0 would publish its data by a swap that cannot succeed.
  const std::string body = R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READER;
  st.global.u32 [%rd1], 7;
  atom.acq_rel.gpu.global.cas.b32 %r3, [%rd0], 5, 0;
  red.relaxed.gpu.global.or.b32 [%rd0], 1;
  bra END;
READER:
  atom.acquire.gpu.global.or.b32 %r3, [%rd0], 0;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra READER;
  ld.global.u32 %r4, [%rd1];
END:)";
  expectKind(body, "race-", 2);
  expectKind(replaced(body, "[%rd0], 5, 0;", "[%rd0], 0, 0;"), "", 2);
}

// CTA 0 releases; CTA 1 waits for that and writes the flag in its way; then CTA 2 acquires.
static std::string relayed(const std::string &relay) {
  return R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
  setp.eq.u32 %p1, %r1, 1;
  @%p1 bra RELAY;
  setp.eq.u32 %p1, %r1, 2;
  @%p1 bra READER;
  st.global.u32 [%rd1], 7;
  st.release.gpu.global.u32 [%rd0], 1;
  bra END;
RELAY:
  ld.relaxed.gpu.global.u32 %r3, [%rd0];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra RELAY;
)" + relay +
         R"(
  st.relaxed.gpu.global.u32 [%rd2], 1;
  bra END;
READER:
  ld.relaxed.gpu.global.u32 %r3, [%rd2];
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra READER;
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  ld.global.u32 %r4, [%rd1];
END:)";
}

TEST(WarpsimInterleave, AStoreOfAThirdThreadEndsAReleaseAndAnAtomicContinuesIt) {
  expectKind(relayed("  atom.relaxed.gpu.global.add.u32 %r5, [%rd0], 1;"), "", 3);
  expectKind(relayed("  red.relaxed.gpu.global.add.u32 [%rd0], 1;"), "", 3);
  expectKind(relayed("  st.relaxed.gpu.global.u32 [%rd0], 2;"), "race-raw", 3);
  expectKind(relayed("  st.volatile.global.u32 [%rd0], 2;"), "race-raw", 3);
  expectKind(relayed("  fence.acq_rel.gpu;\n  st.relaxed.gpu.global.u32 [%rd0], 2;"), "", 3);
  // A relaxed store of the thread that released continues its pattern.
  expectKind(
      replaced(relayed(""), "[%rd0], 1;\n", "[%rd0], 1;\n  st.relaxed.gpu.global.u32 [%rd0], 2;\n"),
      "", 3);
}

// Thread 32 of CTA 1 releases to its CTA at a flag; CTA 0, which knows of that, writes data and
// releases to all there. Thread 0 of CTA 1 sees both with a relaxed read, acquires by an atomic
// whose result it does not use, and reads the data.
static const char *const kMixedScopes = R"(
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r0, 32;
  setp.eq.u32 %p2, %r1, 1;
  @%p2 bra SECOND;
  @!%p0 bra END;
WAIT:
  ld.acquire.gpu.global.u32 %r3, [%rd2];
  setp.eq.u32 %p3, %r3, 0;
  @%p3 bra WAIT;
  st.global.u32 [%rd1], 7;
  red.release.gpu.global.add.u32 [%rd0], 1;
  bra END;
SECOND:
  @%p0 bra READER;
  @!%p1 bra END;
  red.release.cta.global.add.u32 [%rd0], 2;
  red.release.gpu.global.add.u32 [%rd2], 1;
  bra END;
READER:
  ld.relaxed.gpu.global.u32 %r3, [%rd0];
  setp.ne.u32 %p3, %r3, 3;
  @%p3 bra READER;
  atom.acquire.gpu.global.add.u32 %r5, [%rd0], 4;
  ld.global.u32 %r4, [%rd1];
END:)";

TEST(WarpsimInterleave, AnUnreadAcquireLearnsWhatWasReleasedAtEveryScopeThatItReaches) {
  expectKind(kMixedScopes, "", 2);
  expectKind(replaced(kMixedScopes, "red.release.gpu.global.add.u32 [%rd0]",
                      "red.relaxed.gpu.global.add.u32 [%rd0]"),
             "race-raw", 2);
  expectKind(replaced(kMixedScopes, "atom.acquire.gpu", "atom.acquire.cta"), "race-raw", 2);
}

TEST(WarpsimInterleave, TheSameSeedDoesTheSameOnAnyNumberOfThreads) {
  // Who takes the lock when is seen in the data.
  const std::string order = R"(
  and.b32 %r3, %r0, 31;
  setp.ne.u32 %p0, %r3, 0;
  @%p0 bra END;
SPIN:
  atom.acquire.gpu.global.cas.b32 %r2, [%rd0], 0, 1;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra SPIN;
  ld.global.u32 %r4, [%rd1];
  mad.lo.u32 %r4, %r4, 31, %r1;
  st.global.u32 [%rd1], %r4;
  atom.release.gpu.global.exch.b32 %r5, [%rd0], 0;
END:)";
  const std::string racy = replaced(order, "atom.release", "atom.relaxed");
  std::vector<uint32_t> seen;
  for (const Trial &trial : kTrials) {
    std::vector<uint32_t> alone, together;
    EXPECT_EQ(kindsIn(runTrial(order, 12, 64, trial, 1, &alone)), "");
    EXPECT_EQ(kindsIn(runTrial(order, 12, 64, trial, 4, &together)), "");
    EXPECT_EQ(alone, together);
    seen.push_back(alone[0]);
    SimulationReport first = runTrial(racy, 12, 64, trial, 1),
                     second = runTrial(racy, 12, 64, trial, 4);
    ASSERT_EQ(first.findings.size(), second.findings.size());
    for (size_t i = 0; i < first.findings.size(); ++i)
      EXPECT_EQ(first.findings[i].message, second.findings[i].message);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_GT(std::unique(seen.begin(), seen.end()) - seen.begin(), 4);
}

TEST(WarpsimInterleave, ManyCtasMayWaitForLowerNumbers) {
  // A running sum: each CTA waits for the one before it. There are more than run together.
  const std::string chain = R"(
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra END;
  mov.u32 %r2, %ctaid.x;
SPIN:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.ne.u32 %p2, %r3, %r2;
  @%p2 bra SPIN;
  ld.global.u32 %r4, [%rd1];
  add.s32 %r4, %r4, %r2;
  st.global.u32 [%rd1], %r4;
  add.s32 %r3, %r3, 1;
  st.release.gpu.global.u32 [%rd0], %r3;
END:)";
  for (const Trial &trial : kTrials) {
    std::vector<uint32_t> data;
    EXPECT_EQ(kindsIn(runTrial(chain, 400, 32, trial, 1, &data)), "");
    EXPECT_EQ(data[0], 400u * 399 / 2);
  }
}
