// Clusters: their barrier, arrivals in other CTAs and copies for all of them; each mistake is
// found.
#include "test/unit/warpsim/bulk/BulkHarness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace tw::warpsim;

/// Two CTAs: each copies one half of 512 bytes to both, at byte 1024. The mbarrier at byte 0 counts
/// the bytes, the one at byte 8 the threads of both CTAs that have read them.
static const std::string
    kInit = "mov.u32 %r9, %cluster_ctarank;\nxor.b32 %r8, %r9, 1;\nsetp.eq.u32 %p0, %t, 0;\n"
            "@%p0 mbarrier.init.shared::cta.b64 [%s], 1;\n"
            "@%p0 mbarrier.init.shared::cta.b64 [%s+8], 64;\n"
            "@%p0 fence.mbarrier_init.release.cluster;\n",
    kMeet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
    kExpect = "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], 512;\n",
    kCopy = "shl.b32 %r1, %r9, 8;\nadd.u32 %r2, %s, %r1;\nadd.u32 %r2, %r2, 1024;\n"
            "shl.b32 %r3, %r9, 3;\nmov.b16 %h1, 3;\n"
            "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%r2], [%m0, {0, %r3}], [%s], %h1;\n",
    kWait = "full:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%s], 0;\n@!%p1 bra full;\n",
    kRead = "shl.b32 %r4, %t, 2;\nadd.u32 %r5, %s, %r4;\nld.shared.u32 %r6, [%r5+1024];\n"
            "ld.shared.u32 %r7, [%r5+1280];\nshl.b32 %r10, %r9, 8;\nadd.u32 %r10, %r10, %r4;\n"
            "cvt.u64.u32 %x1, %r10;\nadd.u64 %x1, %x1, %g0;\nst.global.u32 [%x1], %r6;\n"
            "st.global.u32 [%x1+128], %r7;\n",
    kMap = "mapa.shared::cluster.u32 %r11, %s, %r8;\n",
    kRelease = kMap + "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11+8];\n"
                      "mbarrier.arrive.shared::cta.b64 _, [%s+8];\n",
    kFree = "free:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%s+8], 0;\n"
            "@!%p2 bra free;\n",
    kWhole = kInit + kMeet + kExpect + kCopy + kWait + kRead + kRelease + kFree;

namespace {
class Clusters : public testing::Test {
protected:
  Clusters() {
    map.element = TensorElement::F32;
    map.rank = 2;
    map.base = reinterpret_cast<uint64_t>(source.data());
    map.extents = {8, 16, 1, 1, 1};
    map.strides[0] = 32;
    map.box = {8, 8, 1, 1, 1};
    launch.maps = {map};
    // The array of the map comes behind the one that the kernel writes.
    launch.arrays = {&result, &source};
    launch.grid = {2, 1, 1};
    launch.directives = ".explicitcluster .reqnctapercluster 2, 1, 1\n";
  }
  std::string kinds(const std::string &body) {
    return kindsOf(launch, ".reg .b16 %h<4>;\n" + body + kMeet);
  }
  bool has(const std::string &body, Kind kind) {
    SimulationReport report = launch.run(".reg .b16 %h<4>;\n" + body);
    return std::ranges::any_of(report.findings,
                               [&](const Finding &finding) { return finding.kind == kind; });
  }
  static std::string changed(std::string text, const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  std::vector<uint32_t> source = iota(128), result = std::vector<uint32_t>(128, 7);
  TensorMap map;
  BulkLaunch launch;
};
} // namespace

TEST_F(Clusters, EachCtaCopiesAPartForAll) {
  EXPECT_EQ(kinds(kWhole), "");
  for (unsigned cta = 0; cta < 2; ++cta)
    for (unsigned thread = 0; thread < 32; ++thread) {
      EXPECT_EQ(result[cta * 64 + thread], source[thread]);
      EXPECT_EQ(result[cta * 64 + 32 + thread], source[64 + thread]);
    }
}

TEST_F(Clusters, WhatIsWrongWithCopiesForAll) {
  EXPECT_TRUE(has(changed(kWhole, "%h1, 3", "%h1, 0") + kMeet, Kind::ClusterMisuse));
  EXPECT_TRUE(has(changed(kWhole, "%h1, 3", "%h1, 7") + kMeet, Kind::ClusterMisuse));
  EXPECT_TRUE(has(changed(kWhole, "%h1, 3", "%h1, 1") + kMeet, Kind::Deadlock));
  EXPECT_TRUE(has(changed(kWhole, kWait, "") + kMeet, Kind::AsyncRace));
  // The second CTA expects nothing.
  std::string onlyFirst = "setp.eq.u32 %p3, %r9, 0;\nand.pred %p3, %p3, %p0;\n";
  std::string first = changed(kExpect, "@%p0", "@%p3"), copy = changed(kCopy, "@%p0", "@%p3");
  EXPECT_TRUE(has(kInit + kMeet + onlyFirst + first + copy + kMeet, Kind::MbarrierMisuse) ||
              has(kInit + kMeet + onlyFirst + first + copy + kMeet, Kind::AsyncLeak));
}

TEST_F(Clusters, NobodyReachesIntoACtaThatIsNotThere) {
  EXPECT_TRUE(has(changed(kWhole, kMeet, "bar.sync 0;\n"), Kind::ClusterMisuse));
  // The first CTA ends before the second arrives.
  std::string late = kInit + kMeet +
                     "setp.eq.u32 %p3, %r9, 0;\n@%p3 bra end;\n"
                     "nanosleep.u32 100;\n" +
                     kMap +
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11+8];\nend:\n";
  EXPECT_TRUE(has(late, Kind::ClusterMisuse));
  EXPECT_TRUE(has(kInit + kMeet + "mov.u32 %r8, 5;\n" + kMap + kMeet, Kind::ClusterMisuse));
}

TEST_F(Clusters, ASlotIsFreeWhenAllCtasHaveReadIt) {
  std::string again = changed(kCopy, "%h1, 3", "%h1, 1"); // into the first CTA
  std::string second = "setp.eq.u32 %p3, %r9, 0;\n@%p3 bra over;\n" + again + "over:\n";
  std::string noWait = kInit + kMeet + kExpect + kCopy + kWait + kRead + second;
  EXPECT_TRUE(has(noWait + kMeet, Kind::RaceWar));
  // Arrivals without order say nothing.
  std::string relaxed = changed(kRelease, "release", "relaxed");
  std::string seen = kInit + kMeet + kExpect + kCopy + kWait + kRead + relaxed + kFree + second;
  EXPECT_TRUE(has(seen + kMeet, Kind::RaceWar));
  std::string ordered = kInit + kMeet + kExpect + kCopy + kWait + kRead + kRelease + kFree + second;
  EXPECT_FALSE(has(ordered + kMeet, Kind::RaceWar));
}

TEST_F(Clusters, TheBarrierInTurn) {
  EXPECT_EQ(kinds(kMeet + kMeet), "");
  EXPECT_TRUE(has("barrier.cluster.wait.aligned;\n", Kind::ClusterMisuse));
  EXPECT_TRUE(has("barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;\n"
                  "barrier.cluster.wait.aligned;\n",
                  Kind::ClusterMisuse));
  // Those that exit are not waited for.
  EXPECT_EQ(kinds("mov.u32 %r9, %cluster_ctarank;\nsetp.eq.u32 %p0, %r9, 0;\n@%p0 bra end;\n" +
                  kMeet + "end:\n"),
            "");
}

TEST_F(Clusters, GridsAreWholeClusters) {
  launch.grid = {3, 1, 1};
  EXPECT_TRUE(has(kMeet, Kind::Unsupported));
  launch.grid = {32, 1, 1};
  launch.directives = ".explicitcluster .reqnctapercluster 32, 1, 1\n";
  EXPECT_TRUE(has(kMeet, Kind::Unsupported));
  launch.directives = "";
  launch.grid = {1, 1, 1};
  EXPECT_EQ(kinds(kMeet), ""); // a CTA alone is a cluster
}
