// Promotion and broadcasting rules against tables written out from the language's rules.
#include "frontend/values/TypeRules.h"
#include "gtest/gtest.h"
#include <set>

using namespace tw;

namespace {

constexpr int kNumTypes = 18;
constexpr const char *kTypes[kNumTypes] = {
    "i1",    "i8",      "i16",      "i32",     "i64",      "u8",   "u16",  "u32",  "u64",
    "fp8e5", "fp8e4nv", "fp8e5b16", "fp8e4b8", "fp8e4b15", "fp16", "bf16", "fp32", "fp64"};

// Two values neither of which gives way. bfloat16 with integers is fp32, as in Triton. 8-bit floats
// with integers are refused before they are promoted (isFloat8WithInteger).
constexpr const char *kPromoted[kNumTypes][kNumTypes] = {
    // clang-format off
    //  i1      i8      i16     i32     i64     u8      u16     u32     u64     fp8e5   fp8e4nv fp8e5b16 fp8e4b8 fp8e4b15 fp16    bf16    fp32    fp64
    {"i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"i8", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"i16", "i16", "i16", "i32", "i64", "i16", "u16", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"i32", "i32", "i32", "i32", "i64", "i32", "i32", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"u8", "u8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"u16", "u16", "u16", "i32", "i64", "u16", "u16", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"u32", "u32", "u32", "u32", "i64", "u32", "u32", "u32", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"u64", "u64", "u64", "u64", "u64", "u64", "u64", "u64", "u64", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp32", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp8e5", "fp16", "fp16", "fp16", "fp16", "fp16", "bf16", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp8e4nv", "fp16", "fp16", "fp16", "fp16", "bf16", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp16", "fp8e5b16", "fp16", "fp16", "fp16", "bf16", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp16", "fp16", "fp8e4b8", "fp16", "fp16", "bf16", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "fp16", "fp16", "fp16", "fp8e4b15", "fp16", "bf16", "fp32", "fp64"},
    {"fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp16", "fp32", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "bf16", "bf16", "bf16", "bf16", "bf16", "fp32", "bf16", "fp32", "fp64"},
    {"fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp32", "fp64"},
    {"fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64", "fp64"},
    // clang-format on
};

// What a value of each type gives with a literal bool, a literal int32 and a literal float.
constexpr const char *kWithLiteral[kNumTypes][3] = {
    {"i1", "i32", "fp32"},
    {"i8", "i8", "fp32"},
    {"i16", "i16", "fp32"},
    {"i32", "i32", "fp32"},
    {"i64", "i64", "fp32"},
    {"u8", "u8", "fp32"},
    {"u16", "u16", "fp32"},
    {"u32", "u32", "fp32"},
    {"u64", "u64", "fp32"},
    {"fp8e5", "fp8e5", "fp8e5"},
    {"fp8e4nv", "fp8e4nv", "fp8e4nv"},
    {"fp8e5b16", "fp8e5b16", "fp8e5b16"},
    {"fp8e4b8", "fp8e4b8", "fp8e4b8"},
    {"fp8e4b15", "fp8e4b15", "fp8e4b15"},
    {"fp16", "fp16", "fp16"},
    {"bf16", "bf16", "bf16"},
    {"fp32", "fp32", "fp32"},
    {"fp64", "fp64", "fp64"},
};

std::string dividedOf(std::string name) {
  bool isNarrow = name == "fp16" || name == "bf16" || name.starts_with("fp8");
  return isNarrow ? "fp32" : name;
}

std::string shortName(DType dtype) { return dtype.row->ShortName; }

llvm::APSInt number(int64_t value) { return llvm::APSInt::get(value); }

TEST(TypeRules, EveryElementTypeIsInTheTables) {
  ASSERT_EQ(tile::elementTypes().size(), size_t(kNumTypes));
  for (const tile::ElementTypeRow &row : tile::elementTypes())
    EXPECT_TRUE(llvm::is_contained(kTypes, std::string(row.ShortName))) << row.ShortName;
}

TEST(TypeRules, PromotionOfTwoValues) {
  for (int row = 0; row < kNumTypes; ++row)
    for (int column = 0; column < kNumTypes; ++column)
      for (bool areLiteral : {false, true}) {
        PromotionOperand lhs{findDType(kTypes[row]), areLiteral};
        PromotionOperand rhs{findDType(kTypes[column]), areLiteral};
        std::string expected = kPromoted[row][column];
        EXPECT_EQ(shortName(promoteDTypes(lhs, rhs)), expected)
            << kTypes[row] << " with " << kTypes[column];
        EXPECT_EQ(shortName(promoteDTypes(lhs, rhs, true)), dividedOf(expected))
            << kTypes[row] << " / " << kTypes[column];
      }
}

TEST(TypeRules, FewTypesMeet8BitFloats) {
  DType float8 = findDType("fp8e5"), int8 = findDType("i8"), half = findDType("fp16");
  EXPECT_TRUE(isFloat8WithInteger({float8}, {int8}));
  EXPECT_TRUE(isFloat8WithInteger({findDType("i1")}, {float8}));
  EXPECT_FALSE(isFloat8WithInteger({float8}, {int8, /*isLiteral=*/true}));
  EXPECT_FALSE(isFloat8WithInteger({float8}, {half}));
}

TEST(TypeRules, LiteralsGiveWay) {
  constexpr const char *literals[] = {"i1", "i32", "fp32"};
  for (int row = 0; row < kNumTypes; ++row)
    for (int column = 0; column < 3; ++column) {
      PromotionOperand value{findDType(kTypes[row]), false};
      PromotionOperand literal{findDType(literals[column]), true};
      std::string expected = kWithLiteral[row][column];
      EXPECT_EQ(shortName(promoteDTypes(value, literal)), expected)
          << kTypes[row] << " with a literal " << literals[column];
      EXPECT_EQ(shortName(promoteDTypes(literal, value)), expected);
      EXPECT_EQ(shortName(promoteDTypes(value, literal, true)), dividedOf(expected));
    }
}

TEST(TypeRules, WideLiteralsGiveWayToNarrowIntegers) {
  for (const char *literal : {"u32", "i64", "u64"})
    for (const char *name : {"i8", "i32", "u8", "u16", "i64"})
      EXPECT_EQ(shortName(promoteDTypes({findDType(name), false}, {findDType(literal), true})),
                name);
}

TEST(TypeRules, NumbersOfVariablesCountWithTheirType) {
  PromotionOperand integer(findDType("i32"), /*isLiteral=*/true), number(findDType("fp32"), true);
  integer.isNamed = number.isNamed = true;
  for (const char *name : {"i8", "u8", "i16"})
    EXPECT_EQ(shortName(promoteDTypes(findDType(name), integer)), "i32");
  EXPECT_EQ(shortName(promoteDTypes(findDType("i64"), integer)), "i64");
  EXPECT_EQ(shortName(promoteDTypes(findDType("fp16"), integer)), "fp16");
  EXPECT_EQ(shortName(promoteDTypes(findDType("fp16"), number)), "fp32");
  EXPECT_EQ(shortName(promoteDTypes(number, findDType("fp64"))), "fp64");
}

TEST(TypeRules, MixedSigns) {
  EXPECT_TRUE(haveMixedSigns(findDType("i32"), findDType("u8")));
  EXPECT_TRUE(haveMixedSigns(findDType("u64"), findDType("i64")));
  EXPECT_FALSE(haveMixedSigns(findDType("i32"), findDType("i8")));
  EXPECT_FALSE(haveMixedSigns(findDType("u32"), findDType("u8")));
  EXPECT_FALSE(haveMixedSigns(findDType("i1"), findDType("i32")));
  EXPECT_FALSE(haveMixedSigns(findDType("fp32"), findDType("i32")));
}

TEST(TypeRules, IntegerRanges) {
  EXPECT_TRUE(fitsInteger(number(127), findDType("i8")));
  EXPECT_FALSE(fitsInteger(number(128), findDType("i8")));
  EXPECT_TRUE(fitsInteger(number(-128), findDType("i8")));
  EXPECT_FALSE(fitsInteger(number(-129), findDType("i8")));
  EXPECT_TRUE(fitsInteger(number(255), findDType("u8")));
  EXPECT_FALSE(fitsInteger(number(256), findDType("u8")));
  EXPECT_FALSE(fitsInteger(number(-1), findDType("u64")));
  EXPECT_TRUE(fitsInteger(number(INT64_MIN), findDType("i64")));
}

TEST(TypeRules, TypeOfIntegerLiterals) {
  auto nameOf = [](llvm::APSInt value) {
    std::optional<DType> dtype = dtypeOfIntLiteral(value);
    return dtype ? shortName(*dtype) : "none";
  };
  EXPECT_EQ(nameOf(number(0)), "i32");
  EXPECT_EQ(nameOf(number(INT32_MAX)), "i32");
  EXPECT_EQ(nameOf(number(INT32_MIN)), "i32");
  EXPECT_EQ(nameOf(number(int64_t(INT32_MAX) + 1)), "u32");
  EXPECT_EQ(nameOf(number(int64_t(INT32_MIN) - 1)), "i64");
  EXPECT_EQ(nameOf(number(UINT32_MAX)), "u32");
  EXPECT_EQ(nameOf(number(int64_t(UINT32_MAX) + 1)), "i64");
  EXPECT_EQ(nameOf(number(INT64_MAX)), "i64");
  EXPECT_EQ(nameOf(llvm::APSInt(llvm::APInt::getSignedMinValue(64), true)), "u64");
  EXPECT_EQ(nameOf(llvm::APSInt(llvm::APInt::getOneBitSet(70, 64), true)), "none");
}

TEST(TypeRules, BroadcastShapes) {
  using Shape = llvm::SmallVector<int64_t>;
  EXPECT_EQ(*broadcastShapes({}, {}).shape, Shape());
  EXPECT_EQ(*broadcastShapes({4}, {}).shape, Shape({4}));
  EXPECT_EQ(*broadcastShapes({4, 1}, {1, 8}).shape, Shape({4, 8}));
  EXPECT_EQ(*broadcastShapes({8}, {4, 8}).shape, Shape({4, 8}));
  EXPECT_EQ(*broadcastShapes({2, 4, 8}, {1, 8}).shape, Shape({2, 4, 8}));
  EXPECT_FALSE(broadcastShapes({4}, {4, 8}).shape);
  EXPECT_EQ(broadcastShapes({4}, {4, 8}).mismatch, 1);
  EXPECT_EQ(broadcastShapes({3, 8}, {4, 8}).mismatch, 0);
}

TEST(TypeRules, DTypeNamesAndShapes) {
  EXPECT_EQ(findDType("float32"), findDType("fp32"));
  EXPECT_EQ(findDType("complex64").row, nullptr);
  EXPECT_EQ((DType{findDType("bf16").row, true}.str()), "*bfloat16");
  EXPECT_EQ((DType{findDType("bf16").row, true}.bits()), 64u);
  EXPECT_FALSE((DType{findDType("int8").row, true}.isInt()));
  EXPECT_EQ(shapeText({64, 32}), "[64, 32]");
  EXPECT_EQ(shapeText({}), "[]");
}

} // namespace
