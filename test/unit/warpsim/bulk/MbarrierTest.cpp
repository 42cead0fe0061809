// mbarriers, setmaxnreg and bulk copies: right kernels are clean, and each mistake is found.
#include "test/unit/warpsim/bulk/BulkHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// One barrier of all threads' arrivals at byte 0; data from byte 1024 on.
static const std::string kFirst = "setp.eq.u32 %p0, %t, 0;\n",
                         kInit = kFirst + "@%p0 mbarrier.init.shared::cta.b64 [%s], 1;\n"
                                          "@%p0 fence.mbarrier_init.release.cluster;\n",
                         kBarrier = "bar.sync 0;\n",
                         kArrive = "@%p0 mbarrier.arrive.shared::cta.b64 _, [%s];\n",
                         kExpect = "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 512;\n",
                         kLoad = "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"
                                 "bytes [%s+1024], [%g0], 512, [%s];\n",
                         kAddress = "shl.b32 %r1, %t, 2;\nadd.u32 %r2, %s, %r1;\n"
                                    "cvt.u64.u32 %x1, %r1;\nadd.u64 %x1, %x1, %g1;\n",
                         kRead = "ld.shared.u32 %r3, [%r2+1024];\nst.global.u32 [%x1], %r3;\n",
                         kWrite = "st.shared.u32 [%r2+1024], %t;\n",
                         kProxy = "fence.proxy.async.shared::cta;\n",
                         kStore = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%g1], "
                                  "[%s+1024], 512;\n",
                         kCommit = "@%p0 cp.async.bulk.commit_group;\n",
                         kWaitRead = "@%p0 cp.async.bulk.wait_group.read 0;\n",
                         kWaitStore = "@%p0 cp.async.bulk.wait_group 0;\n";

static std::string waitFor(unsigned parity, const std::string &kind = "try_wait") {
  static unsigned number = 0;
  std::string label = "wait" + std::to_string(++number);
  return label + ":\nmbarrier." + kind + ".parity.shared::cta.b64 %p1, [%s], " +
         std::to_string(parity) + ";\n@!%p1 bra " + label + ";\n";
}

namespace {
class Bulk : public testing::Test {
protected:
  Bulk() {
    launch.arrays = {&source, &result};
    launch.numThreads = 128;
  }
  std::string kinds(const std::string &body) { return kindsOf(launch, body); }
  /// Other findings may follow from it.
  bool has(const std::string &body, Kind kind) {
    SimulationReport report = launch.run(body);
    return std::ranges::any_of(report.findings,
                               [&](const Finding &finding) { return finding.kind == kind; });
  }
  std::vector<uint32_t> source = iota(128), result = std::vector<uint32_t>(128, 7);
  BulkLaunch launch;
};
} // namespace

TEST_F(Bulk, APhaseThatMayEndBeforeAWaitForTheOneBefore) {
  std::string once = kInit + kBarrier + kArrive + waitFor(0);
  std::string byLastWarp = "setp.eq.u32 %p2, %t, 127;\n"
                           "@%p2 mbarrier.arrive.shared::cta.b64 _, [%s];\n";
  EXPECT_EQ(kinds(once + kBarrier + byLastWarp + waitFor(1)), "");
  EXPECT_EQ(kinds(once + byLastWarp + waitFor(1)), "mbarrier-misuse");
}

TEST_F(Bulk, AnArrivalReleasesAndAWaitAcquires) {
  std::string write = kAddress + "@%p0 st.shared.u32 [%s+1024], 5;\n" + kArrive;
  std::string read = "ld.shared.u32 %r3, [%s+1024];\nst.global.u32 [%x1], %r3;\n";
  for (const char *kind : {"try_wait", "test_wait"}) {
    EXPECT_EQ(kinds(kInit + kBarrier + write + waitFor(0, kind) + read), "");
    EXPECT_EQ(result, std::vector<uint32_t>(128, 5));
  }
  // Without a wait, and with one that the phase before a barrier's first passes.
  EXPECT_TRUE(has(kInit + kBarrier + write + read, Kind::RaceRaw));
  std::string early = kInit + kBarrier + kAddress + waitFor(1);
  EXPECT_TRUE(has(early + "@%p0 st.shared.u32 [%s+1024], 5;\n" + kArrive + read, Kind::RaceRaw));
}

TEST_F(Bulk, MisusedBarriers) {
  EXPECT_EQ(kinds(kInit + kBarrier + kArrive + waitFor(0)), "");
  EXPECT_EQ(kinds(kInit + kArrive + waitFor(0)), "mbarrier-misuse");
  EXPECT_EQ(kinds(kFirst + kBarrier + kArrive), "mbarrier-misuse");
  EXPECT_EQ(kinds(kFirst + "@%p0 mbarrier.init.shared::cta.b64 [%s], 0;\n"), "mbarrier-misuse");
  EXPECT_EQ(kinds(kInit + kBarrier + "@%p0 mbarrier.arrive.shared::cta.b64 _, [%s], 2;\n"),
            "mbarrier-misuse");
  EXPECT_EQ(kinds(kInit + kBarrier + "@%p0 mbarrier.expect_tx.shared::cta.b64 [%s], 2000000;\n"),
            "mbarrier-misuse");
  // Taken for data, and for data after its end.
  std::string end = "@%p0 mbarrier.inval.shared::cta.b64 [%s];\n",
              use = "@%p0 st.shared.u32 [%s+4], 1;\n";
  EXPECT_EQ(kinds(kInit + kBarrier + use), "mbarrier-misuse");
  EXPECT_EQ(kinds(kInit + kBarrier + end + use), "");
}

TEST_F(Bulk, AStateTellsOfItsPhaseOnly) {
  std::string arrive = "@%p0 mbarrier.arrive.shared::cta.b64 %x2, [%s];\n",
              test = "@%p0 mbarrier.test_wait.shared::cta.b64 %p2, [%s], %x2;\n";
  EXPECT_EQ(kinds(kInit + kBarrier + arrive + test), "");
  EXPECT_EQ(kinds(kInit + kBarrier + arrive + kArrive + test), "mbarrier-misuse");
}

/// A barrier of so many arrivals.
static std::string initFor(unsigned count) {
  std::string text = kInit;
  return text.replace(text.find("[%s], 1"), 7, "[%s], " + std::to_string(count));
}

TEST_F(Bulk, WhoDropsIsNotExpectedAgain) {
  std::string other = "setp.eq.u32 %p3, %t, 1;\n@%p3 mbarrier.arrive", end = ".b64 _, [%s];\n";
  std::string both = initFor(2) + kBarrier + kArrive;
  EXPECT_EQ(kinds(both + other + "_drop.shared::cta" + end + waitFor(0) + kBarrier + kArrive +
                  waitFor(1)),
            "");
  EXPECT_EQ(
      kinds(both + other + ".shared::cta" + end + waitFor(0) + kBarrier + kArrive + waitFor(1)),
      "deadlock");
  // And one that expects bytes as well.
  std::string drop = "@%p0 mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%s], 512;\n";
  EXPECT_EQ(kinds(initFor(2) + kBarrier + drop + kLoad + other + ".shared::cta" + end + waitFor(0) +
                  kBarrier + other + ".shared::cta" + end + waitFor(1)),
            "");
}

TEST_F(Bulk, ArrivalsThatLeaveTheirPhaseIncomplete) {
  std::string arrive = "@%p0 mbarrier.arrive.noComplete.shared::cta.b64 %x2, [%s], ",
              count = ";\n@%p0 mbarrier.pending_count.b64 %r4, %x2;\n"
                      "@%p0 st.global.u32 [%g1], %r4;\n";
  EXPECT_EQ(kinds(initFor(3) + kBarrier + arrive + "2" + count + kArrive + waitFor(0)), "");
  EXPECT_EQ(result[0], 3u); // before the arrival
  EXPECT_EQ(kinds(initFor(2) + kBarrier + arrive + "2" + count), "mbarrier-misuse");
}

TEST_F(Bulk, CopiesOfThreadsArrive) {
  std::string copy = kAddress + "cvt.u64.u32 %x3, %r1;\nadd.u64 %x3, %x3, %g0;\n"
                                "cp.async.ca.shared.global [%r2+1024], [%x3], 4;\n";
  std::string arrive = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%s];\n",
              more = "cp.async.mbarrier.arrive.shared::cta.b64 [%s];\n"
                     "mbarrier.arrive.shared::cta.b64 _, [%s];\n";
  std::string read = "xor.b32 %r4, %r1, 4;\nadd.u32 %r4, %r4, %s;\n"
                     "ld.shared.u32 %r3, [%r4+1024];\nst.global.u32 [%x1], %r3;\n";
  for (const std::string &kind : {arrive, more}) {
    EXPECT_EQ(kinds(initFor(128) + kBarrier + copy + kind + waitFor(0) + read), "");
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(result[i], i ^ 1);
  }
  // An arrival of its own does not stand for the copies before it.
  EXPECT_TRUE(has(initFor(128) + kBarrier + copy + "mbarrier.arrive.shared::cta.b64 _, [%s];\n" +
                      waitFor(0) + read,
                  Kind::AsyncRace));
}

TEST_F(Bulk, ABarrierIsInitializedOnce) {
  std::string init = "@%p0 mbarrier.init.shared::cta.b64 [%s], 1;\n",
              end = "@%p0 mbarrier.inval.shared::cta.b64 [%s];\n";
  EXPECT_EQ(kinds(kFirst + init + end + init), "");
  EXPECT_EQ(kinds(kFirst + init + init), "mbarrier-misuse");
}

TEST_F(Bulk, ABarrierIsInvalidatedBehindItsUses) {
  std::string used = kInit + kBarrier + kArrive + waitFor(0),
              end = "@%p0 mbarrier.inval.shared::cta.b64 [%s];\n";
  EXPECT_EQ(kinds(used + kBarrier + end), "");
  EXPECT_EQ(kinds(used + end), "mbarrier-misuse");
}

TEST_F(Bulk, WhatNeverComesIsADeadlock) {
  EXPECT_EQ(kinds(kInit + kBarrier + waitFor(0)), "deadlock");
  SimulationReport report = launch.run(kInit + kBarrier + kExpect + waitFor(0));
  EXPECT_NE(
      findingOf(report, Kind::Deadlock).message.find("phase 0, 0 of 1 arrivals and 512 bytes"),
      std::string::npos);
}

TEST_F(Bulk, ALoadIsThereAfterItsWait) {
  std::string load = kInit + kBarrier + kAddress + kExpect + kLoad;
  EXPECT_EQ(kinds(load + waitFor(0) + kRead), "");
  EXPECT_EQ(result, iota(128));
  EXPECT_TRUE(has(load + kBarrier + kRead + waitFor(0), Kind::AsyncRace));
  EXPECT_EQ(kinds(load + kBarrier + kWrite + waitFor(0)), "async-race");
  EXPECT_EQ(kinds(load), "async-leak");
}

TEST_F(Bulk, ALoadOverwritesWhatIsOrderedAndFenced) {
  std::string load = kExpect + kLoad + waitFor(0), begin = kInit + kBarrier + kAddress + kWrite;
  EXPECT_EQ(kinds(begin + kProxy + kBarrier + load), "");
  EXPECT_EQ(kinds(begin + kBarrier + load), "proxy-race");
  EXPECT_TRUE(has(begin + kProxy + load, Kind::RaceWaw));
}

TEST_F(Bulk, AStoreReadsWhatIsOrderedAndFenced) {
  std::string begin = kFirst + kAddress + kWrite, end = kStore + kCommit + kWaitStore;
  EXPECT_EQ(kinds(begin + kProxy + kBarrier + end), "");
  EXPECT_EQ(result, iota(128));
  EXPECT_EQ(kinds(begin + kBarrier + end), "proxy-race");
  EXPECT_EQ(kinds(begin + kProxy + kBarrier + kStore + kCommit), "async-leak");
  std::string stored = begin + kProxy + kBarrier + kStore + kCommit;
  EXPECT_EQ(kinds(stored + kWaitRead + kBarrier + kWrite + kWaitStore), "");
  EXPECT_EQ(kinds(stored + kBarrier + kWrite + kWaitStore), "async-race");
}

TEST_F(Bulk, ReductionsCombineWithWhatIsThere) {
  using Combine = uint32_t (*)(uint32_t, uint32_t);
  std::pair<std::string, Combine> operations[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  for (const auto &[name, combine] : operations) {
    std::fill(result.begin(), result.end(), 70);
    std::string text = kFirst + kAddress + kWrite + kProxy + kBarrier +
                       "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group." + name +
                       " [%g1], [%s+1024], 512;\n" + kCommit + kWaitStore;
    EXPECT_EQ(kindsIn(launch.run(text)), "") << name;
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(result[i], combine(70, i)) << name;
  }
}

TEST_F(Bulk, SizesAndAddressesAreMultiplesOf16) {
  std::string begin = kInit + kBarrier + kExpect;
  auto load = [](const std::string &to, const std::string &bytes) {
    return "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s+" + to +
           "], [%g0], " + bytes + ", [%s];\n@%p0 mbarrier.complete_tx.shared::cta.b64 [%s], 512;\n";
  };
  EXPECT_EQ(kinds(begin + load("1024", "24")), "async-misuse");
  EXPECT_EQ(kinds(begin + load("1028", "16")), "misaligned");
  EXPECT_EQ(kinds(begin + load("8192", "16")), "out-of-bounds-shared");
  EXPECT_EQ(kinds(begin + load("1024", "1024")), "out-of-bounds-global");
}

TEST_F(Bulk, WarpgroupsShareTheRegisterFile) {
  launch.numThreads = 384;
  auto shares = [](const std::string &lower, const std::string &upper) {
    return "setp.lt.u32 %p2, %t, 256;\n@%p2 bra more;\nsetmaxnreg.dec.sync.aligned.u32 " + lower +
           ";\nbra end;\nmore:\nsetmaxnreg.inc.sync.aligned.u32 " + upper + ";\nend:\n";
  };
  EXPECT_EQ(kinds(shares("24", "240")), "");
  EXPECT_EQ(kinds(shares("40", "240")), "warpgroup-misuse");
  EXPECT_EQ(kinds(shares("20", "232")), "warpgroup-misuse");
  EXPECT_EQ(kinds("setp.lt.u32 %p2, %t, 96;\n@%p2 bra more;\nbra end;\nmore:\n"
                  "setmaxnreg.dec.sync.aligned.u32 24;\nend:\n"),
            "warpgroup-misuse");
}
