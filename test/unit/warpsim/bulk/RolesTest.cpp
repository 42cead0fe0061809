// A product whose operands one warp brings by TMA while two warpgroups multiply: the kernel that
// warp specialization comes to, with its mistakes.
#include "test/unit/warpsim/bulk/BulkHarness.h"
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <random>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

constexpr unsigned kRows = 128, kColumns = 64, kDepth = 64, kSteps = 5, kStages = 2;
constexpr unsigned kBytesOfA = kRows * 128, kStageBytes = kBytesOfA + kColumns * 128,
                   kBarriers = kStages * kStageBytes, kResult = kBarriers + 1024,
                   kSharedBytes = kResult + kRows * kColumns * 2;

static std::string num(unsigned value) { return std::to_string(value); }

/// Replaces what a kernel says, for a mistake.
struct Change {
  std::string from, to;
};

static std::string initText() {
  std::string text = "setp.ne.u32 %p0, %t, 0;\n@%p0 bra ready;\n";
  for (unsigned stage = 0; stage < kStages; ++stage)
    text += "mbarrier.init.shared::cta.b64 [%s+" + num(kBarriers + 8 * stage) +
            "], 1;\nmbarrier.init.shared::cta.b64 [%s+" + num(kBarriers + 64 + 8 * stage) +
            "], 2;\n";
  return text + "fence.mbarrier_init.release.cluster;\nready:\nbar.sync 0;\n"
                "mov.b32 %r10, 0; mov.b32 %r12, 0;\nshr.u32 %r2, %t, 5;\n"
                "setp.lt.u32 %p0, %r2, 8;\n@%p0 bra consumer;\n";
}

/// The next stage, and its parity in %r11.
static const std::string kNext = "add.u32 %r12, %r12, 1; add.u32 %r10, %r10, 1;\n"
                                 "setp.eq.u32 %p4, %r10, " +
                                 num(kStages) +
                                 "; selp.b32 %r10, 0, %r10, %p4;\n"
                                 "selp.b32 %r24, 1, 0, %p4; xor.b32 %r11, %r11, %r24;\n"
                                 "setp.lt.u32 %p5, %r12, " +
                                 num(kSteps) + ";\n";

static std::string producerText() {
  return "setmaxnreg.dec.sync.aligned.u32 24;\nsetp.ne.u32 %p1, %r2, 8;\n@%p1 bra done;\n"
         "elect.sync _|%p2, 0xffffffff;\nmov.b32 %r11, 1; mov.b32 %r13, 0;\n"
         "produce:\nmad.lo.u32 %r20, %r10, 8, %s; add.u32 %r22, %r20, " +
         num(kBarriers) +
         ";\nempty:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r22+64], %r11;\n"
         "@!%p3 bra empty;\n@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r22], " +
         num(kStageBytes) + ";\nmad.lo.u32 %r21, %r10, " + num(kStageBytes) +
         ", %s; add.u32 %r23, %r21, " + num(kBytesOfA) +
         ";\n@%p2 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
         "[%r21], [%m0, {%r13, 0}], [%r22];\n"
         "@%p2 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
         "[%r23], [%m1, {%r13, 0}], [%r22];\nadd.u32 %r13, %r13, " +
         num(kDepth) + ";\n" + kNext + "@%p5 bra produce;\nbra done;\n";
}

static std::string productText(unsigned part) {
  std::string registers;
  for (unsigned i = 0; i < kColumns / 2; ++i)
    registers += (i ? ", %d" : "%d") + num(i);
  return "add.u64 %x4, %x2, " + num(2 * part) + "; add.u64 %x5, %x3, " + num(2 * part) +
         ";\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" + registers + "}, %x4, %x5, " +
         (part ? "1" : "%p7") + ", 1, 1, 0, 0;\n";
}

static std::string consumerText() {
  std::string descriptor = "; and.b32 %r40, %r40, 0x3fff; cvt.u64.u32 ";
  std::string text =
      "consumer:\nsetmaxnreg.inc.sync.aligned.u32 240;\nshr.u32 %r6, %r2, 2; mov.b32 %r11, 0;\n"
      "and.b32 %r8, %t, 127; setp.eq.u32 %p6, %r8, 0; mov.b32 %r15, 0;\n"
      "consume:\nmad.lo.u32 %r20, %r10, 8, %s; add.u32 %r20, %r20, " +
      num(kBarriers) +
      "; setp.ne.u32 %p7, %r12, 0;\n"
      "full:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r20], %r11;\n"
      "@!%p3 bra full;\nmad.lo.u32 %r22, %r10, " +
      num(kStageBytes) + ", %s; mad.lo.u32 %r21, %r6, 8192, %r22; add.u32 %r22, %r22, " +
      num(kBytesOfA) + ";\nshr.u32 %r40, %r21, 4" + descriptor +
      "%x2, %r40; or.b64 %x2, %x2, 0x4000004000010000;\nshr.u32 %r40, %r22, 4" + descriptor +
      "%x3, %r40; or.b64 %x3, %x3, 0x4000004000010000;\nwgmma.fence.sync.aligned;\n";
  for (unsigned part = 0; part < 4; ++part)
    text += productText(part);
  return text +
         "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\n"
         "and.pred %p8, %p7, %p6;\n@%p8 mbarrier.arrive.shared::cta.b64 _, [%r15+64];\n"
         "mov.b32 %r15, %r20;\n" +
         kNext + "@%p5 bra consume;\nwgmma.wait_group.sync.aligned 0;\n";
}

/// Rows of 128 bytes, 64 of them a warpgroup, swizzled; then one thread of each stores them.
static std::string epilogueText() {
  std::string text =
      "and.b32 %r30, %t, 31; and.b32 %r31, %r2, 3; shr.u32 %r32, %r30, 2; and.b32 %r33, %r30, 3;\n"
      "mad.lo.u32 %r34, %r31, 16, %r32; mad.lo.u32 %r35, %r6, 8192, %s; add.u32 %r35, %r35, " +
      num(kResult) + ";\nmad.lo.u32 %r36, %r34, 128, %r35; shl.b32 %r33, %r33, 2;\n";
  for (unsigned i = 0; i < kColumns / 8; ++i)
    text += "xor.b32 %r41, %r32, " + num(i) +
            "; shl.b32 %r41, %r41, 4; add.u32 %r41, %r41, %r33; add.u32 %r41, %r41, %r36;\n"
            "cvt.rn.bf16x2.f32 %r42, %d" +
            num(4 * i + 1) + ", %d" + num(4 * i) +
            "; st.shared.u32 [%r41], %r42;\ncvt.rn.bf16x2.f32 %r42, %d" + num(4 * i + 3) + ", %d" +
            num(4 * i + 2) + "; st.shared.u32 [%r41+1024], %r42;\n";
  return text + "fence.proxy.async.shared::cta;\n"
                "add.u32 %r48, %r6, 1; barrier.cta.sync.aligned %r48, 128;\n"
                "setp.ne.u32 %p9, %r31, 0;\n@%p9 bra done;\nelect.sync _|%p10, 0xffffffff;\n"
                "shl.b32 %r50, %r6, 6;\n"
                "@%p10 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                "[%m2, {0, %r50}], [%r35];\n@%p10 cp.async.bulk.commit_group;\n"
                "@%p10 cp.async.bulk.wait_group 0;\n";
}

namespace {
/// The matrices, two bf16 a word, of small integers whose products are exact.
struct Matrices {
  explicit Matrices(uint32_t seed) {
    std::mt19937 random(seed);
    for (std::vector<uint32_t> *matrix : {&a, &b})
      for (uint32_t &word : *matrix)
        for (unsigned half = 0; half < 2; ++half) {
          float value = float(int(random() % 5) - 2);
          word |= std::bit_cast<uint32_t>(value) >> 16 << 16 * half;
        }
  }
  static float at(const std::vector<uint32_t> &matrix, unsigned index) {
    return std::bit_cast<float>(matrix[index / 2] >> index % 2 * 16 << 16);
  }
  static constexpr unsigned kWidth = kDepth * kSteps;
  std::vector<uint32_t> a = std::vector<uint32_t>(kRows * kWidth / 2),
                        b = std::vector<uint32_t>(kColumns * kWidth / 2),
                        c = std::vector<uint32_t>(kRows * kColumns / 2);
};
} // namespace

static TensorMap mapOf(const std::vector<uint32_t> &matrix, unsigned rows, unsigned width,
                       unsigned boxRows) {
  TensorMap map;
  map.element = TensorElement::BF16;
  map.rank = 2;
  map.base = reinterpret_cast<uint64_t>(matrix.data());
  map.extents = {width, rows, 1, 1, 1};
  map.strides[0] = width * 2;
  map.box = {64, boxRows, 1, 1, 1};
  map.swizzleBytes = 128;
  return map;
}

static SimulationReport runRoles(Matrices &matrices, const LaunchOptions &options,
                                 const Change &change = {}) {
  BulkLaunch launch;
  launch.maps = {mapOf(matrices.a, kRows, Matrices::kWidth, kRows),
                 mapOf(matrices.b, kColumns, Matrices::kWidth, kColumns),
                 mapOf(matrices.c, kRows, kColumns, 64)};
  launch.arrays = {&matrices.a, &matrices.b, &matrices.c};
  launch.numThreads = 384;
  launch.sharedBytes = kSharedBytes;
  launch.options = options;
  std::string body = initText() + producerText() + consumerText() + epilogueText() + "done:\n";
  if (!change.from.empty()) {
    size_t at = body.find(change.from);
    EXPECT_NE(at, std::string::npos) << change.from;
    body.replace(at, change.from.size(), change.to);
  }
  return launch.run(body);
}

TEST(WarpsimRoles, TheProductIsExactWheneverCopiesCome) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    Matrices matrices(seed);
    LaunchOptions options;
    options.completion = Completion(std::min(seed, 2u));
    options.completionSeed = options.seed = seed;
    if (seed > 3)
      options.schedule = LaunchOptions::Schedule::Random;
    SimulationReport report = runRoles(matrices, options);
    EXPECT_EQ(kindsIn(report), "") << seed;
    for (unsigned row = 0; row < kRows; ++row)
      for (unsigned column = 0; column < kColumns; ++column) {
        float sum = 0;
        for (unsigned k = 0; k < Matrices::kWidth; ++k)
          sum += Matrices::at(matrices.a, row * Matrices::kWidth + k) *
                 Matrices::at(matrices.b, column * Matrices::kWidth + k);
        ASSERT_EQ(Matrices::at(matrices.c, row * kColumns + column), sum) << row << " " << column;
      }
  }
}

static bool isFound(const Change &change, Kind kind) {
  Matrices matrices(1);
  SimulationReport report = runRoles(matrices, {}, change);
  bool isThere = std::ranges::any_of(report.findings,
                                     [&](const Finding &finding) { return finding.kind == kind; });
  EXPECT_TRUE(isThere) << change.from << ": " << kindsIn(report);
  return isThere;
}

TEST(WarpsimRoles, EachMistakeIsFound) {
  isFound({"@!%p3 bra full;\n", ""}, Kind::AsyncRace);
  isFound({"@!%p3 bra empty;\n", ""}, Kind::AsyncRace);
  isFound({"wgmma.wait_group.sync.aligned 1;\n", ""}, Kind::AsyncRace);
  isFound({"fence.mbarrier_init.release.cluster;\n", ""}, Kind::ProxyRace);
  isFound({"ready:\nbar.sync 0;\n", "ready:\n"}, Kind::MbarrierMisuse);
  isFound({"fence.proxy.async.shared::cta;\n", ""}, Kind::ProxyRace);
  isFound({"barrier.cta.sync.aligned %r48, 128;\n", ""}, Kind::RaceRaw);
  isFound({"@%p10 cp.async.bulk.wait_group 0;\n", ""}, Kind::AsyncLeak);
  isFound({"_, [%r22], " + num(kStageBytes), "_, [%r22], " + num(kStageBytes + 16)},
          Kind::Deadlock);
  isFound({"mbarrier.arrive.shared::cta.b64 _, [%r15+64]",
           "mbarrier.arrive.shared::cta.b64 _, [%r15+64], 3"},
          Kind::MbarrierMisuse);
  isFound({"setmaxnreg.dec.sync.aligned.u32 24", "setmaxnreg.dec.sync.aligned.u32 40"},
          Kind::WarpgroupMisuse);
}
