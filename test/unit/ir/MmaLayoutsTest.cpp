// Fragments of matrix instructions are where the PTX ISA says, by its own formulas.
#include "ir/simt/MmaLayouts.h"
#include "backend/nvidia/machine/NvidiaArch.h"
#include "ir/simt/Simt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
struct MmaLayouts : testing::Test {
  MmaLayouts() : builder(&context) {
    context.loadDialect<tile::TileDialect, SimtDialect>();
    target = describeNvidia(context, *findNvidiaArch("sm_120"));
  }

  tile::MmaAttr instruction(unsigned m, unsigned n, unsigned k, Type operand, Type accumulator) {
    for (tile::MmaAttr row : target.getMma())
      if (row.getM() == m && row.getN() == n && row.getK() == k && row.getA() == operand &&
          row.getB() == operand && row.getAccumulator() == accumulator)
        return row;
    ADD_FAILURE() << "no such instruction";
    return {};
  }

  MLIRContext context;
  Builder builder;
  tile::TargetAttr target;
};

struct Place2d {
  int64_t row, column;
};
} // namespace

/// Row and column of element `i` of A, for operands of `bits`: PTX ISA 8.0, sections "Matrix
/// Fragments for mma.m16n8k*": groupID = lane / 4, threadID_in_group = lane % 4.
static Place2d elementOfA(unsigned lane, unsigned i, unsigned bits) {
  unsigned inWord = 32 / bits, word = i / inWord;
  int64_t row = lane / 4 + (word % 2 == 1 ? 8 : 0);
  int64_t column = lane % 4 * inWord + i % inWord + (word >= 2 ? 4 * inWord : 0);
  return {row, column};
}

static Place2d elementOfB(unsigned lane, unsigned i, unsigned bits) {
  unsigned inWord = 32 / bits, word = i / inWord;
  return {int64_t(lane % 4 * inWord + i % inWord + word * 4 * inWord), int64_t(lane / 4)};
}

static Place2d elementOfC(unsigned lane, unsigned i) {
  return {int64_t(lane / 4 + (i >= 2 ? 8 : 0)), int64_t(lane % 4 * 2 + i % 2)};
}

static void expectElement(const LinearLayout &layout, unsigned i, unsigned lane, Place2d place) {
  llvm::SmallVector<int64_t> found = layout.coordinatesOf(layout.element(i, lane, 0));
  EXPECT_EQ(found[0], place.row) << "element " << i << " of lane " << lane;
  EXPECT_EQ(found[1], place.column) << "element " << i << " of lane " << lane;
}

TEST_F(MmaLayouts, FragmentsOfSixteenRows) {
  Type f32 = builder.getF32Type(), tf32 = FloatTF32Type::get(&context);
  struct {
    unsigned k;
    Type operand, accumulator;
    unsigned bits;
  } rows[] = {{16, builder.getF16Type(), f32, 16},
              {8, builder.getBF16Type(), f32, 16},
              {8, tf32, f32, 32},
              {32, builder.getI8Type(), builder.getI32Type(), 8},
              {16, builder.getI8Type(), builder.getI32Type(), 8},
              {32, Float8E4M3FNType::get(&context), f32, 8}};
  for (const auto &row : rows) {
    tile::MmaAttr mma = instruction(16, 8, row.k, row.operand, row.accumulator);
    LinearLayout a = mmaFragment(mma, MmaOperand::A), b = mmaFragment(mma, MmaOperand::B),
                 c = mmaFragment(mma, MmaOperand::Accumulator);
    EXPECT_EQ(a.size(Place::Register), 16 * row.k / 32);
    EXPECT_EQ(b.size(Place::Register), 8 * row.k / 32);
    EXPECT_EQ(c.size(Place::Register), 4u);
    for (const LinearLayout &layout : {a, b, c})
      EXPECT_TRUE(layout.isSurjective() && layout.isInjective());
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned i = 0; i < a.size(Place::Register); ++i)
        expectElement(a, i, lane, elementOfA(lane, i, row.bits));
      for (unsigned i = 0; i < b.size(Place::Register); ++i)
        expectElement(b, i, lane, elementOfB(lane, i, row.bits));
      for (unsigned i = 0; i < 4; ++i)
        expectElement(c, i, lane, elementOfC(lane, i));
    }
  }
}

TEST_F(MmaLayouts, FragmentsOfDoubles) {
  Type f64 = builder.getF64Type();
  tile::MmaAttr mma = instruction(8, 8, 4, f64, f64);
  for (unsigned lane = 0; lane < 32; ++lane) {
    expectElement(mmaFragment(mma, MmaOperand::A), 0, lane, {lane / 4, lane % 4});
    expectElement(mmaFragment(mma, MmaOperand::B), 0, lane, {lane % 4, lane / 4});
    for (unsigned i = 0; i < 2; ++i)
      expectElement(mmaFragment(mma, MmaOperand::Accumulator), i, lane,
                    {lane / 4, lane % 4 * 2 + i});
  }
}

/// Each warp holds the rows of A and the columns of B that its part of the product needs.
TEST_F(MmaLayouts, OperandsFollowTheProduct) {
  tile::MmaAttr mma = instruction(16, 8, 16, builder.getF16Type(), builder.getF32Type());
  LinearLayout c = mmaLayout(mma, MmaOperand::Accumulator, {128, 64}, {4, 2});
  LinearLayout a = mmaLayout(mma, MmaOperand::A, {128, 32}, {4, 2});
  LinearLayout b = mmaLayout(mma, MmaOperand::B, {32, 64}, {4, 2});
  auto held = [](const LinearLayout &layout, unsigned warp, unsigned dim) {
    std::set<int64_t> found;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < layout.size(Place::Register); ++reg)
        found.insert(layout.coordinatesOf(layout.element(reg, lane, warp))[dim]);
    return found;
  };
  for (unsigned warp = 0; warp < 8; ++warp) {
    EXPECT_EQ(held(a, warp, 0), held(c, warp, 0)) << "rows of warp " << warp;
    EXPECT_EQ(held(b, warp, 1), held(c, warp, 1)) << "columns of warp " << warp;
    EXPECT_EQ(held(a, warp, 1).size(), 32u);
    EXPECT_EQ(held(b, warp, 0).size(), 32u);
  }
}

/// The product of one matrix instruction is the left operand of the next without any movement.
TEST_F(MmaLayouts, ChainedProductsStayInRegisters) {
  tile::MmaAttr mma = instruction(16, 8, 16, builder.getF16Type(), builder.getF32Type());
  LinearLayout product = mmaLayout(mma, MmaOperand::Accumulator, {64, 32}, {4, 1});
  LinearLayout left = mmaLayout(mma, MmaOperand::A, {64, 32}, {4, 1});
  EXPECT_TRUE(left.registersFrom(product).has_value());
}

/// For each element of the plain layout's tile along one dimension, the one that takes its place:
/// the same for all operands, or the products would be of other elements.
static void expectSamePlaces(const LinearLayout &plain, const LinearLayout &interleaved,
                             unsigned dim, std::map<int64_t, int64_t> &places) {
  for (unsigned warp = 0; warp < plain.size(Place::Warp); ++warp)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned reg = 0; reg < plain.size(Place::Register); ++reg) {
        int64_t before = plain.coordinatesOf(plain.element(reg, lane, warp))[dim];
        int64_t now = interleaved.coordinatesOf(interleaved.element(reg, lane, warp))[dim];
        EXPECT_EQ(places.try_emplace(before, now).first->second, now);
      }
  std::set<int64_t> found;
  for (auto [before, now] : places)
    found.insert(now);
  EXPECT_EQ(int64_t(found.size()), plain.shape()[dim]);
}

TEST_F(MmaLayouts, InterleavedOperandsMeetTheSameElements) {
  for (tile::MmaAttr mma : {instruction(16, 8, 16, builder.getF16Type(), builder.getF32Type()),
                            instruction(16, 8, 32, builder.getI8Type(), builder.getI32Type()),
                            instruction(16, 8, 8, builder.getTF32Type(), builder.getF32Type()),
                            instruction(8, 8, 4, builder.getF64Type(), builder.getF64Type())})
    for (int64_t count : {2, 4, 8, 64})
      for (SmallVector<int64_t> warps : {SmallVector<int64_t>{2, 2}, {1, 1}, {1, 8}, {8, 1}}) {
        SmallVector<int64_t> all = {count, count, count};
        std::map<int64_t, int64_t> rows, columns, depths;
        auto expectSame = [&](MmaOperand operand, SmallVector<int64_t> shape,
                              std::map<int64_t, int64_t> &first,
                              std::map<int64_t, int64_t> &second) {
          LinearLayout plain = mmaLayout(mma, operand, shape, warps);
          LinearLayout interleaved = mmaLayout(mma, operand, shape, warps, all);
          expectSamePlaces(plain, interleaved, 0, first);
          expectSamePlaces(plain, interleaved, 1, second);
        };
        expectSame(MmaOperand::A, {64, 32}, rows, depths);
        expectSame(MmaOperand::B, {32, 64}, depths, columns);
        expectSame(MmaOperand::Accumulator, {64, 64}, rows, columns);
      }
}

TEST_F(MmaLayouts, LanesHoldAsManyNeighboursAsAsked) {
  tile::MmaAttr mma = instruction(16, 8, 8, builder.getTF32Type(), builder.getF32Type());
  auto holds = [](const LinearLayout &layout, uint32_t neighbour) {
    return llvm::is_contained(layout.bases(Place::Register), neighbour);
  };
  LinearLayout b = mmaLayout(mma, MmaOperand::B, {32, 64}, {2, 2}, {1, 4, 1});
  EXPECT_TRUE(holds(b, 1) && holds(b, 2) && !holds(b, 4));
  EXPECT_EQ(mostInterleaved(mma, MmaOperand::B, 64, 2), 4);
  EXPECT_EQ(mostInterleaved(mma, MmaOperand::B, 16, 2), 1);
  EXPECT_EQ(mostInterleaved(mma, MmaOperand::A, 16, 1), 2); // the instruction's rows r and r + 8
  EXPECT_EQ(mostInterleaved(mma, MmaOperand::B, 8, 4), 1);
}

TEST_F(MmaLayouts, TilesSmallerThanTheInstructionDoNotFit) {
  tile::MmaAttr mma = instruction(16, 8, 16, builder.getF16Type(), builder.getF32Type());
  EXPECT_TRUE(fitsMma(mma, MmaOperand::A, {16, 16}));
  EXPECT_FALSE(fitsMma(mma, MmaOperand::A, {8, 16}));
  EXPECT_FALSE(fitsMma(mma, MmaOperand::A, {16, 8}));
  EXPECT_TRUE(fitsMma(mma, MmaOperand::B, {2, 16, 8}));
  EXPECT_FALSE(fitsMma(mma, MmaOperand::B, {2, 16, 4}));
}
