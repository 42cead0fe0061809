// Integer operations of the reference device against independent formulas in wide arithmetic.
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw::test;

namespace {
using Wide = __int128;

/// An integer operation and what it means on numbers, before wrapping to the type.
struct IntegerOperation {
  const char *name;
  bool isSigned;
  Wide (*formula)(Wide a, Wide b, int width);
};

Wide floorOf(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient * b > a != (b < 0) && quotient * b != a ? quotient - 1 : quotient;
}

const IntegerOperation kOperations[] = {
    {"arith.addi", true, [](Wide a, Wide b, int) { return a + b; }},
    {"arith.subi", true, [](Wide a, Wide b, int) { return a - b; }},
    {"arith.muli", true, [](Wide a, Wide b, int) { return a * b; }},
    {"arith.divsi", true, [](Wide a, Wide b, int) { return b == 0 ? 0 : a / b; }},
    {"arith.remsi", true, [](Wide a, Wide b, int) { return b == 0 ? 0 : a % b; }},
    {"arith.divui", false, [](Wide a, Wide b, int) { return b == 0 ? 0 : a / b; }},
    {"arith.remui", false, [](Wide a, Wide b, int) { return b == 0 ? 0 : a % b; }},
    {"arith.floordivsi", true, [](Wide a, Wide b, int) { return b == 0 ? 0 : floorOf(a, b); }},
    {"arith.ceildivsi", true, [](Wide a, Wide b, int) { return b == 0 ? 0 : -floorOf(-a, b); }},
    {"arith.ceildivui", false, [](Wide a, Wide b, int) { return b == 0 ? 0 : (a + b - 1) / b; }},
    {"arith.andi", false, [](Wide a, Wide b, int) { return a & b; }},
    {"arith.ori", false, [](Wide a, Wide b, int) { return a | b; }},
    {"arith.xori", false, [](Wide a, Wide b, int) { return a ^ b; }},
    {"arith.maxsi", true, [](Wide a, Wide b, int) { return a > b ? a : b; }},
    {"arith.minsi", true, [](Wide a, Wide b, int) { return a < b ? a : b; }},
    {"arith.maxui", false, [](Wide a, Wide b, int) { return a > b ? a : b; }},
    {"arith.minui", false, [](Wide a, Wide b, int) { return a < b ? a : b; }},
    {"arith.shli", false, [](Wide a, Wide b, int w) { return b >= w ? 0 : a << int(b); }},
    {"arith.shrui", false, [](Wide a, Wide b, int w) { return b >= w ? 0 : a >> int(b); }},
};

template <typename T> class IntegerTest : public testing::Test {
protected:
  using Unsigned = std::make_unsigned_t<T>;
  std::string type = "i" + std::to_string(8 * sizeof(T));
  Random random;
  std::vector<T> lhs, rhs;

  void SetUp() override { makePairs(random, integerEdges<T>(), 60, lhs, rhs); }
  std::string tileType() const { return "tensor<" + std::to_string(lhs.size()) + "x" + type + ">"; }
};
using IntegerTypes = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerTest, IntegerTypes);
} // namespace

TYPED_TEST(IntegerTest, BinaryOperationsWrapAndAreTotal) {
  using Unsigned = typename TestFixture::Unsigned;
  for (const IntegerOperation &operation : kOperations) {
    std::string text = std::string("%r = ") + operation.name + " %a, %b : " + this->tileType();
    std::vector<TypeParam> result = runElementwiseText<TypeParam>(text, {this->type, this->type},
                                                                  this->type, this->lhs, this->rhs);
    for (size_t i = 0; i < result.size(); ++i) {
      TypeParam a = this->lhs[i], b = this->rhs[i];
      Wide expected = operation.isSigned
                          ? operation.formula(a, b, 8 * sizeof(TypeParam))
                          : operation.formula(Unsigned(a), Unsigned(b), 8 * sizeof(TypeParam));
      expectSame<TypeParam>(result[i], TypeParam(Unsigned(expected)),
                            std::string(operation.name) + " " + std::to_string(a) + ", " +
                                std::to_string(b));
    }
  }
}

TYPED_TEST(IntegerTest, ArithmeticShiftLeavesTheSign) {
  std::vector<TypeParam> result =
      runElementwiseText<TypeParam>("%r = arith.shrsi %a, %b : " + this->tileType(),
                                    {this->type, this->type}, this->type, this->lhs, this->rhs);
  for (size_t i = 0; i < result.size(); ++i) {
    auto distance = typename TestFixture::Unsigned(this->rhs[i]);
    TypeParam sign = this->lhs[i] < 0 ? -1 : 0;
    TypeParam expected =
        distance >= 8 * sizeof(TypeParam) ? sign : TypeParam(this->lhs[i] >> int(distance));
    expectSame<TypeParam>(result[i], expected, "shrsi");
  }
}

TYPED_TEST(IntegerTest, Comparisons) {
  using Unsigned = typename TestFixture::Unsigned;
  struct Comparison {
    const char *name;
    bool (*formula)(TypeParam, TypeParam);
  };
  const Comparison comparisons[] = {
      {"eq", [](TypeParam a, TypeParam b) { return a == b; }},
      {"ne", [](TypeParam a, TypeParam b) { return a != b; }},
      {"slt", [](TypeParam a, TypeParam b) { return a < b; }},
      {"sle", [](TypeParam a, TypeParam b) { return a <= b; }},
      {"sgt", [](TypeParam a, TypeParam b) { return a > b; }},
      {"sge", [](TypeParam a, TypeParam b) { return a >= b; }},
      {"ult", [](TypeParam a, TypeParam b) { return Unsigned(a) < Unsigned(b); }},
      {"ule", [](TypeParam a, TypeParam b) { return Unsigned(a) <= Unsigned(b); }},
      {"ugt", [](TypeParam a, TypeParam b) { return Unsigned(a) > Unsigned(b); }},
      {"uge", [](TypeParam a, TypeParam b) { return Unsigned(a) >= Unsigned(b); }},
  };
  for (const Comparison &comparison : comparisons) {
    std::string text =
        std::string("%r = arith.cmpi ") + comparison.name + ", %a, %b : " + this->tileType();
    std::vector<uint8_t> result =
        runElementwiseText<uint8_t>(text, {this->type, this->type}, "i1", this->lhs, this->rhs);
    for (size_t i = 0; i < result.size(); ++i)
      EXPECT_EQ(result[i], comparison.formula(this->lhs[i], this->rhs[i])) << comparison.name;
  }
}

TYPED_TEST(IntegerTest, UnaryOperations) {
  using Unsigned = typename TestFixture::Unsigned;
  auto run = [&](const std::string &name) {
    return runElementwiseText<TypeParam>("%r = " + name + " %a : " + this->tileType(), {this->type},
                                         this->type, this->lhs);
  };
  std::vector<TypeParam> absolute = run("math.absi"), ones = run("math.ctpop"),
                         leading = run("math.ctlz"), trailing = run("math.cttz");
  for (size_t i = 0; i < this->lhs.size(); ++i) {
    TypeParam x = this->lhs[i];
    int numOnes = 0, highest = -1, lowest = 8 * sizeof(TypeParam);
    for (int bit = 8 * sizeof(TypeParam) - 1; bit >= 0; --bit)
      if (Unsigned(x) >> bit & 1) {
        ++numOnes;
        highest = std::max(highest, bit);
        lowest = bit;
      }
    expectSame<TypeParam>(absolute[i], x < 0 ? TypeParam(Unsigned(0) - Unsigned(x)) : x, "absi");
    expectSame<TypeParam>(ones[i], numOnes, "ctpop");
    expectSame<TypeParam>(leading[i], 8 * sizeof(TypeParam) - 1 - highest, "ctlz");
    expectSame<TypeParam>(trailing[i], lowest, "cttz");
  }
}

TYPED_TEST(IntegerTest, ExtendedProductsAndSums) {
  using Unsigned = typename TestFixture::Unsigned;
  std::string i1Tile = "tensor<" + std::to_string(this->lhs.size()) + "xi1>";
  auto run = [&](const std::string &operation) {
    return runElementwiseText<TypeParam>(operation, {this->type, this->type}, this->type, this->lhs,
                                         this->rhs);
  };
  auto signedHigh = run("%low, %r = arith.mulsi_extended %a, %b : " + this->tileType());
  auto unsignedHigh = run("%low, %r = arith.mului_extended %a, %b : " + this->tileType());
  auto low = run("%r, %high = arith.mului_extended %a, %b : " + this->tileType());
  std::vector<uint8_t> carry = runElementwiseText<uint8_t>(
      "%sum, %r = arith.addui_extended %a, %b : " + this->tileType() + ", " + i1Tile,
      {this->type, this->type}, "i1", this->lhs, this->rhs);
  for (size_t i = 0; i < this->lhs.size(); ++i) {
    TypeParam a = this->lhs[i], b = this->rhs[i];
    using UnsignedWide = unsigned __int128;
    UnsignedWide product = UnsignedWide(Unsigned(a)) * Unsigned(b);
    expectSame<TypeParam>(signedHigh[i], TypeParam((Wide(a) * b) >> (8 * sizeof a)), "mulsi");
    expectSame<TypeParam>(unsignedHigh[i], TypeParam(product >> (8 * sizeof a)), "mului");
    expectSame<TypeParam>(low[i], TypeParam(product), "mului low");
    EXPECT_EQ(carry[i], Unsigned(a) > Unsigned(~Unsigned(b)));
  }
}

TEST(IntegerPowerTest, WrapsAndDividesForNegativeExponents) {
  std::vector<int32_t> base = {2, 2, 3, -1, -1, 1, 5, 0, 3, -2},
                       exponent = {10, 32, 21, 3, -3, -9, -1, 0, 0, 3};
  std::vector<int32_t> result = runElementwiseText<int32_t>(
      "%r = math.ipowi %a, %b : tensor<10xi32>", {"i32", "i32"}, "i32", base, exponent);
  // 3 ** 21 = 10460353203 wraps to 1870418611.
  EXPECT_EQ(result, (std::vector<int32_t>{1024, 0, 1870418611, -1, -1, 1, 0, 1, 1, -8}));
}
