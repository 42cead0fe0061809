// wgmma: every type, layout and shape against a plain loop, however late products are computed.
#include "test/unit/DrawnSeed.h"
#include "test/unit/warpsim/matrix/WarpgroupHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;
using Arithmetic = LaunchOptions::Arithmetic;

static std::vector<LaunchOptions> policies() {
  std::vector<LaunchOptions> all(3);
  all[1].completion = Completion::Early;
  all[2].arithmetic = Arithmetic::Exact;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    LaunchOptions &random = all.emplace_back();
    random.completion = Completion::Random;
    random.completionSeed = seed;
    random.schedule = LaunchOptions::Schedule::Random;
    random.seed = seed;
  }
  return all;
}

static void expectProduct(const WarpgroupCase &product) {
  unsigned seed = tw::test::drawnSeed();
  SCOPED_TRACE(product.name() + ", seed " + std::to_string(seed));
  std::mt19937 random(seed);
  WarpgroupMatrices matrices = randomMatrices(product, random);
  std::vector<double> expected = multiplied(product, matrices);
  for (const LaunchOptions &options : policies()) {
    WarpgroupRun run = runProduct(product, matrices, options);
    EXPECT_EQ(kindsIn(run.report), "");
    EXPECT_EQ(run.result, expected) << "completion " << int(options.completion);
  }
}

static std::vector<WarpgroupCase> allTypes() {
  std::vector<WarpgroupCase> cases;
  auto add = [&](Type result, Type a, Type b) {
    WarpgroupCase &added = cases.emplace_back();
    added.result = result;
    added.a = a;
    added.b = b;
  };
  add(Type::F32, Type::F16, Type::F16);
  add(Type::F16, Type::F16, Type::F16);
  add(Type::F32, Type::BF16, Type::BF16);
  add(Type::F32, Type::TF32, Type::TF32);
  for (Type a : {Type::E4M3, Type::E5M2})
    for (Type b : {Type::E4M3, Type::E5M2})
      for (Type result : {Type::F16, Type::F32})
        add(result, a, b);
  for (Type a : {Type::S8, Type::U8})
    for (Type b : {Type::S8, Type::U8})
      add(Type::S32, a, b);
  return cases;
}

TEST(WarpsimWarpgroup, EveryTypeOfOperands) {
  for (WarpgroupCase product : allTypes())
    for (bool isAInRegisters : {false, true}) {
      product.isAInRegisters = isAInRegisters;
      expectProduct(product);
    }
}

TEST(WarpsimWarpgroup, EveryLayoutAlongK) {
  for (WarpgroupCase product : {allTypes()[0], allTypes()[3], allTypes()[4], allTypes()[12]})
    for (unsigned rowBytes : {16u, 32u, 64u, 128u}) {
      product.layoutOfA.rowBytes = rowBytes;
      product.layoutOfB.rowBytes = 144 - rowBytes == 128 ? 128 : 160 - rowBytes == 128 ? 64 : 16;
      product.numSteps = 4;
      expectProduct(product);
      std::swap(product.layoutOfA, product.layoutOfB);
      product.isAInRegisters = true;
      expectProduct(product);
    }
}

TEST(WarpsimWarpgroup, EveryLayoutAcrossK) {
  for (WarpgroupCase product : {allTypes()[1], allTypes()[2]})
    for (unsigned rowBytes : {16u, 32u, 64u, 128u})
      for (bool isAKMajor : {false, true}) {
        product.layoutOfA = {isAKMajor, 128};
        product.layoutOfB = {false, rowBytes};
        product.isAInRegisters = false;
        expectProduct(product);
        product.layoutOfA = {false, rowBytes};
        product.layoutOfB = {isAKMajor, 64};
        expectProduct(product);
        product.layoutOfB = {false, rowBytes};
        product.isAInRegisters = true;
        expectProduct(product);
      }
}

TEST(WarpsimWarpgroup, EveryWidth) {
  for (unsigned columns : {8u, 24u, 40u, 64u, 128u, 200u, 256u})
    for (bool isKMajor : {true, false})
      for (Type result : {Type::F32, Type::F16}) {
        WarpgroupCase product;
        product.columns = columns;
        product.a = product.b = Type::F16;
        product.result = result;
        product.layoutOfB.isKMajor = isKMajor;
        expectProduct(product);
      }
  for (unsigned columns : {8u, 24u, 48u, 256u}) {
    WarpgroupCase product;
    product.columns = columns;
    product.a = product.b = Type::S8;
    product.result = Type::S32;
    expectProduct(product);
  }
}

TEST(WarpsimWarpgroup, ScalesOfOperandsAndAccumulator) {
  for (bool readsAccumulator : {false, true})
    for (unsigned signs = 0; signs < 4; ++signs)
      for (WarpgroupCase product : {allTypes()[0], allTypes()[3], allTypes()[5]}) {
        product.readsAccumulator = readsAccumulator;
        product.negatesA = signs & 1;
        product.negatesB = signs & 2;
        expectProduct(product);
      }
}

TEST(WarpsimWarpgroup, IntegersWrapOrSaturate) {
  for (bool isSaturating : {false, true}) {
    WarpgroupCase product;
    product.columns = 16;
    product.result = Type::S32;
    product.a = product.b = Type::U8;
    product.isSaturating = isSaturating;
    product.numSteps = 1;
    WarpgroupMatrices matrices;
    matrices.a.assign(64 * 32, 255);
    matrices.b.assign(32 * 16, 255);
    matrices.c.assign(64 * 16, 2147483000.0);
    WarpgroupRun run = runProduct(product, matrices, {});
    EXPECT_EQ(kindsIn(run.report), "");
    double sum = 2147483000.0 + 32 * 255 * 255;
    EXPECT_EQ(run.result,
              std::vector<double>(64 * 16, isSaturating ? 2147483647.0 : sum - 4294967296.0));
  }
}

// The sum of an 8-bit product keeps 13 bits below the largest term (MMA-Sim, arXiv 2511.10909).
TEST(WarpsimWarpgroup, ExactSumsOfSmallFloatsAreNarrow) {
  WarpgroupCase product;
  product.columns = 8;
  product.a = product.b = Type::E4M3;
  product.numSteps = 1;
  product.readsAccumulator = false;
  WarpgroupMatrices matrices;
  matrices.a.assign(64 * 32, 0);
  matrices.b.assign(32 * 8, 1);
  matrices.c.assign(64 * 8, 0);
  for (unsigned row = 0; row < 64; ++row) {
    matrices.a[row * 32] = 128;
    matrices.a[row * 32 + 31] = 0x1p-7; // 14 bits below
  }
  LaunchOptions exact;
  exact.arithmetic = Arithmetic::Exact;
  EXPECT_EQ(runProduct(product, matrices, exact).result, std::vector<double>(64 * 8, 128));
  EXPECT_EQ(runProduct(product, matrices, {}).result, std::vector<double>(64 * 8, 128 + 0x1p-7));
  for (unsigned row = 0; row < 64; ++row)
    matrices.a[row * 32 + 31] = 0x1p-6;
  EXPECT_EQ(runProduct(product, matrices, exact).result, std::vector<double>(64 * 8, 128 + 0x1p-6));
}
