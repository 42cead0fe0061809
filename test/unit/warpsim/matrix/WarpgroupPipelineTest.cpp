// A pipelined product of two warpgroups whose operands come by cp.async: right whenever copies and
// products complete, and its seeded mistakes are found.
#include "test/unit/warpsim/matrix/WarpgroupHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// A is 128 x 96, B 96 x 32 and stored by column; a step takes 16 of the depth, 32 bytes of each
// row.
constexpr unsigned kRows = 128, kColumns = 32, kSteps = 6, kDepth = 16 * kSteps, kThreads = 256;
constexpr unsigned kBytesOfA = kRows * 32, kSlotBytes = kBytesOfA + kColumns * 32;

namespace {
/// The loop, with the places where it can be wrong.
struct Pipeline {
  unsigned numSlots = 4;
  unsigned copiesLeft = 1;   // of cp.async.wait_group
  unsigned productsLeft = 1; // of wgmma.wait_group
  bool hasBarrier = true, hasProxyFence = true, hasFence = true, hasLastWait = true;
  bool fencesBeforeWait = false;
};
} // namespace

/// Copies of a step: a thread has half a row of A, and the first 64 half a column of B.
static std::string copyText(const Pipeline &pipeline, unsigned step) {
  std::string slot = std::to_string(step % pipeline.numSlots * kSlotBytes),
              from = std::to_string(step * 32);
  return "  cp.async.cg.shared.global [%at+" + slot + "], [%rd4+" + from + "], 16;\n" +
         "  @%p0 cp.async.cg.shared.global [%at+" +
         std::to_string(step % pipeline.numSlots * kSlotBytes + kBytesOfA) + "], [%rd5+" + from +
         "], 16;\n  cp.async.commit_group;\n";
}

static std::string multiplyText(const Pipeline &pipeline, unsigned step) {
  std::string slot = std::to_string(step % pipeline.numSlots * kSlotBytes / 16);
  return "  add.u64 %rd6, %a, " + slot + ";\n  add.u64 %rd7, %b, " + slot +
         ";\n  wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " + registerList("%d", 16) +
         ", %rd6, %rd7, " + (step ? "%always" : "%first") +
         ", 1, 1, 0, 0;\n  wgmma.commit_group.sync.aligned;\n";
}

static std::string textOf(const Pipeline &pipeline) {
  const std::string proxyFence = pipeline.hasProxyFence ? "  fence.proxy.async.shared::cta;\n" : "";
  // Rows of 32 bytes: the pieces of rows 4 to 7 of 8 change places.
  std::string text = R"(
  shr.u32 %r0, %thread, 1;
  and.b32 %r1, %thread, 1;
  shr.u32 %r2, %thread, 3;
  and.b32 %r2, %r2, 1;
  xor.b32 %r2, %r2, %r1;
  shl.b32 %r3, %r0, 5;
  shl.b32 %r4, %r2, 4;
  add.u32 %at, %base, %r3;
  add.u32 %at, %at, %r4;
  mul.lo.u32 %r5, %r0, 192;
  shl.b32 %r6, %r1, 4;
  add.u32 %r5, %r5, %r6;
  cvt.u64.u32 %rd3, %r5;
  add.u64 %rd4, %rd0, %rd3;
  add.u64 %rd5, %rd1, %rd3;
  setp.lt.u32 %p0, %thread, 64;
  setp.eq.u32 %always, %thread, %thread;
  setp.ne.u32 %first, %thread, %thread;
  shr.u32 %r7, %base, 4;
  cvt.u64.u32 %a, %r7;
  or.b64 %a, %a, 0xc000001000000000;
  add.u64 %b, %a, 256;
  shr.u32 %r8, %thread, 7;
  mul.wide.u32 %rd8, %r8, 128;
  add.u64 %a, %a, %rd8;
)" + copyText(pipeline, 0) +
                     copyText(pipeline, 1);
  if (pipeline.hasFence)
    text += "  wgmma.fence.sync.aligned;\n";
  for (unsigned step = 0; step < kSteps; ++step) {
    text += pipeline.fencesBeforeWait ? proxyFence : "";
    text += "  cp.async.wait_group " + std::to_string(pipeline.copiesLeft) + ";\n";
    text += pipeline.fencesBeforeWait ? "" : proxyFence;
    text += pipeline.hasBarrier ? "  bar.sync 0;\n" : "";
    text += multiplyText(pipeline, step);
    text += "  wgmma.wait_group.sync.aligned " + std::to_string(pipeline.productsLeft) + ";\n";
    text += step + 2 < kSteps ? copyText(pipeline, step + 2) : "  cp.async.commit_group;\n";
  }
  text += pipeline.hasLastWait ? "  wgmma.wait_group.sync.aligned 0;\n" : "";
  text += "  mul.wide.u32 %to, %thread, 4;\n  add.u64 %to, %to, %rd2;\n";
  for (unsigned i = 0; i < 16; ++i)
    text += "  st.global.b32 [%to+" + std::to_string(i * 4 * kThreads) + "], %d" +
            std::to_string(i) + ";\n";
  return warpgroupText(text, 3, pipeline.numSlots * kSlotBytes);
}

namespace {
struct PipelineRun {
  std::string kinds;
  bool isRight = true;
};
} // namespace

static std::vector<uint32_t> packed(const std::vector<int> &values) {
  std::vector<uint32_t> words(values.size() / 2);
  for (size_t i = 0; i < values.size(); ++i)
    words[i / 2] |= codeOf(values[i], Type::BF16) << i % 2 * 16;
  return words;
}

static PipelineRun run(const Pipeline &pipeline, const LaunchOptions &options) {
  std::mt19937 random(options.completionSeed);
  std::vector<int> a(kRows * kDepth), b(kColumns * kDepth);
  for (std::vector<int> *values : {&a, &b})
    for (int &value : *values)
      value = int(random() % 9) - 4;
  Simulation simulation;
  simulation.array("a", packed(a));
  simulation.array("b", packed(b));
  std::vector<uint32_t> &out = simulation.array("out", std::vector<uint32_t>(16 * kThreads));
  simulation.launch.block = {kThreads, 1, 1};
  simulation.launch.options = options;
  PipelineRun result;
  result.kinds = kindsIn(simulation.runText(textOf(pipeline)));
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (unsigned i = 0; i < 16; ++i) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      unsigned column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      int sum = 0;
      for (unsigned k = 0; k < kDepth; ++k)
        sum += a[row * kDepth + k] * b[column * kDepth + k];
      result.isRight &= std::bit_cast<float>(out[i * kThreads + thread]) == float(sum);
    }
  return result;
}

static std::vector<LaunchOptions> policies() {
  std::vector<LaunchOptions> all(2);
  all[1].completion = Completion::Early;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    LaunchOptions &random = all.emplace_back();
    random.completion = Completion::Random;
    random.completionSeed = seed;
    random.schedule = seed % 2 ? LaunchOptions::Schedule::Random : LaunchOptions::Schedule::Greedy;
    random.seed = seed;
  }
  return all;
}

TEST(WarpsimWarpgroupPipeline, IsRightWheneverCopiesAndProductsComplete) {
  Pipeline deeper;
  deeper.numSlots = 5;
  deeper.productsLeft = 2;
  Pipeline waiting;
  waiting.productsLeft = 0;
  for (const Pipeline &pipeline : {Pipeline(), deeper, waiting})
    for (const LaunchOptions &options : policies()) {
      PipelineRun result = run(pipeline, options);
      EXPECT_EQ(result.kinds, "");
      EXPECT_TRUE(result.isRight);
    }
}

TEST(WarpsimWarpgroupPipeline, SeededMistakesAreFound) {
  struct Mistake {
    const char *kind;
    void (*make)(Pipeline &);
    const char *otherKind = kind; // where the schedule has the wait on the other side of the copy
  };
  const Mistake mistakes[] = {
      {"proxy-race", [](Pipeline &pipeline) { pipeline.hasProxyFence = false; }},
      {"proxy-race", [](Pipeline &pipeline) { pipeline.fencesBeforeWait = true; }},
      {"race-raw", [](Pipeline &pipeline) { pipeline.hasBarrier = false; }},
      {"async-race", [](Pipeline &pipeline) { pipeline.copiesLeft = 2; }},
      {"async-race", [](Pipeline &pipeline) { pipeline.productsLeft = 3; }, "race-war"},
      {"race-war", [](Pipeline &pipeline) { pipeline.numSlots = 3; }, "async-race"},
      {"missing-fence", [](Pipeline &pipeline) { pipeline.hasFence = false; }},
      {"register-race", [](Pipeline &pipeline) { pipeline.hasLastWait = false; }},
  };
  for (const Mistake &mistake : mistakes)
    for (const LaunchOptions &options : policies()) {
      Pipeline pipeline;
      mistake.make(pipeline);
      std::string kinds = run(pipeline, options).kinds;
      EXPECT_TRUE(kinds.find(mistake.kind) != std::string::npos ||
                  kinds.find(mistake.otherKind) != std::string::npos)
          << mistake.kind << " instead of " << kinds << ", seed " << options.completionSeed;
    }
}
