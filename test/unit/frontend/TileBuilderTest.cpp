// TileBuilder's elementwise operations: types, operations chosen, and errors.
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/codes/Codes.h"
#include "test/unit/frontend/TileBuilderFixture.h"
#include <cmath>
#include <limits>

using namespace tw;
using B = BinaryOperator;

namespace {

TEST_F(TileBuilderTest, BinaryOperatorsChooseByTypeAndSign) {
  struct Row {
    B op;
    const char *ofFloat, *ofSigned, *ofUnsigned;
  };
  constexpr Row rows[] = {
      {B::Add, "arith.addf", "arith.addi", "arith.addi"},
      {B::Sub, "arith.subf", "arith.subi", "arith.subi"},
      {B::Mul, "arith.mulf", "arith.muli", "arith.muli"},
      {B::FloorDiv, nullptr, "arith.divsi", "arith.divui"},
      {B::Mod, "arith.remf", "arith.remsi", "arith.remui"},
      {B::LShift, nullptr, "arith.shli", "arith.shli"},
      {B::RShift, nullptr, "arith.shrsi", "arith.shrui"},
      {B::BitAnd, nullptr, "arith.andi", "arith.andi"},
      {B::BitOr, nullptr, "arith.ori", "arith.ori"},
      {B::BitXor, nullptr, "arith.xori", "arith.xori"},
  };
  for (const Row &row : rows) {
    auto built = [&](const char *name) {
      return result(tiles.binary(row.op, value(name, {8}), value(name, {8})));
    };
    EXPECT_EQ(built("fp32"), row.ofFloat ? std::string(row.ofFloat) + " float32[8]" : "TW0201");
    EXPECT_EQ(built("i32"), std::string(row.ofSigned) + " int32[8]");
    EXPECT_EQ(built("u32"), std::string(row.ofUnsigned) + " uint32[8]");
  }
}

TEST_F(TileBuilderTest, DivisionIsInFloat32OrFloat64) {
  auto divide = [&](const char *lhs, const char *rhs) {
    return result(tiles.binary(B::Div, value(lhs, {8}), value(rhs, {8})));
  };
  EXPECT_EQ(divide("i32", "i32"), "arith.divf float32[8]");
  EXPECT_EQ(divide("i64", "u8"), "arith.divf float32[8]");
  EXPECT_EQ(divide("fp16", "fp16"), "arith.divf float32[8]");
  EXPECT_EQ(divide("fp16", "fp64"), "arith.divf float64[8]");
  EXPECT_EQ(divide("i32", "bf16"), "arith.divf float32[8]");
  EXPECT_EQ(result(tiles.binary(B::Div, value("bf16", {8}), literal(2))), "arith.divf float32[8]");
  EXPECT_EQ(result(tiles.binary(B::Mod, value("fp16", {8}), literal(2))), "arith.remf float32[8]");
}

TEST_F(TileBuilderTest, OnlyInexactDivisionOfFloat32AllowsReciprocals) {
  auto allows = [](TileOr quotient) {
    auto division = quotient->value.getDefiningOp<mlir::arith::DivFOp>();
    return division && division.getFastmath() == mlir::arith::FastMathFlags::arcp;
  };
  EXPECT_TRUE(allows(tiles.binary(B::Div, value("fp32", {8}), value("fp32", {8}))));
  EXPECT_TRUE(allows(tiles.fdiv(value("fp32", {8}), value("fp32", {8}), /*isExact=*/false)));
  EXPECT_FALSE(allows(tiles.fdiv(value("fp32", {8}), value("fp32", {8}), /*isExact=*/true)));
  EXPECT_FALSE(allows(tiles.binary(B::Div, value("fp64", {8}), value("fp64", {8}))));
}

TEST_F(TileBuilderTest, HalfArithmeticStaysHalf) {
  EXPECT_EQ(result(tiles.binary(B::Mul, value("bf16", {8}), value("bf16", {8}))),
            "arith.mulf bfloat16[8]");
  EXPECT_EQ(result(tiles.binary(B::Add, value("fp16", {8}), tiles.floatLiteral(0.5))),
            "arith.addf float16[8]");
}

TEST_F(TileBuilderTest, MixedSignsDivideOnlyAfterACast) {
  TypedValue i = value("i32", {8}), u = value("u32", {8});
  EXPECT_EQ(result(tiles.binary(B::FloorDiv, i, u)), "TW0204");
  EXPECT_EQ(result(tiles.binary(B::Mod, u, i)), "TW0204");
  EXPECT_EQ(result(tiles.cdiv(i, u)), "TW0204");
  EXPECT_EQ(result(tiles.binary(B::FloorDiv, u, literal(3))), "arith.divui uint32[8]");
  EXPECT_EQ(result(tiles.cdiv(u, literal(3))), "arith.divui uint32[8]");
  EXPECT_EQ(result(tiles.binary(B::Add, i, u)), "arith.addi uint32[8]");
}

TEST_F(TileBuilderTest, LiteralsThatDoNotFitAreErrors) {
  auto error = tiles.binary(B::Add, value("u8", {8}), literal(300)).reason();
  EXPECT_EQ(error.code, Code::LiteralRange);
  ASSERT_EQ(error.labels.size(), 2u);
  EXPECT_EQ(error.labels[0].second, "this is uint8[8]");
  EXPECT_EQ(error.labels[1].second, "this does not fit uint8");
  EXPECT_NE(error.hint, "");
  EXPECT_EQ(result(tiles.compare(Comparison::Gt, value("u32"), literal(-1))), "TW0203");
  EXPECT_EQ(result(tiles.binary(B::Add, value("i1", {8}), literal(300))), "arith.addi int32[8]");
  EXPECT_EQ(result(tiles.intLiteral(llvm::APInt::getOneBitSet(80, 70), false)), "TW0203");
}

TEST_F(TileBuilderTest, FloatLiteralsKeepTheirDigitsInFloat64) {
  TypedValue sum = *tiles.binary(B::Add, value("fp64"), tiles.floatLiteral(0.1));
  llvm::APFloat constant(0.0);
  ASSERT_TRUE(mlir::matchPattern(sum.value.getDefiningOp()->getOperand(1),
                                 mlir::m_ConstantFloat(&constant)));
  EXPECT_EQ(constant.convertToDouble(), 0.1);
  EXPECT_EQ(tiles.floatLiteral(0.1).dtype, dtype("fp32"));
}

TEST_F(TileBuilderTest, PointersTakeIntegerOffsets) {
  TypedValue scalar = value("*fp32"), tile = value("*fp32", {8, 1});
  EXPECT_EQ(result(tiles.binary(B::Add, scalar, value("i32", {8}))), "tile.addptr *float32[8]");
  EXPECT_EQ(result(tiles.binary(B::Add, value("i64", {4}), tile)), "tile.addptr *float32[8, 4]");
  EXPECT_EQ(result(tiles.binary(B::Sub, scalar, literal(4))), "tile.addptr *float32");
  EXPECT_EQ(result(tiles.binary(B::Sub, literal(4), scalar)), "TW0202");
  EXPECT_EQ(result(tiles.binary(B::Add, scalar, scalar)), "TW0202");
  EXPECT_EQ(result(tiles.binary(B::Sub, scalar, scalar)), "TW0202");
  EXPECT_EQ(result(tiles.binary(B::Add, scalar, tiles.floatLiteral(1))), "TW0202");
  EXPECT_EQ(result(tiles.binary(B::BitAnd, scalar, literal(1))), "TW0202");
  EXPECT_EQ(result(tiles.binary(B::Add, value("*fp32", {4}), value("i32", {8}))), "TW0205");
}

TEST_F(TileBuilderTest, OffsetsThatCouldWrapAreWidened) {
  auto offsetOf = [](TileOr pointer) {
    return pointer->value.getDefiningOp<tile::AddPtrOp>().getOffset();
  };
  mlir::Value added = offsetOf(tiles.binary(B::Add, value("*fp32"), value("u32")));
  EXPECT_TRUE(mlir::isa<mlir::arith::ExtUIOp>(added.getDefiningOp()));
  mlir::Value subtracted = offsetOf(tiles.binary(B::Sub, value("*fp32"), value("i32")));
  EXPECT_TRUE(subtracted.getType().isInteger(64)); // -INT32_MIN needs 33 bits
  EXPECT_TRUE(offsetOf(tiles.binary(B::Add, value("*fp32"), value("i32"))).getType().isInteger(32));
}

TEST_F(TileBuilderTest, ComparisonsGiveInt1) {
  EXPECT_EQ(result(tiles.compare(Comparison::Lt, value("i8", {8}), value("i32"))),
            "arith.cmpi int1[8]");
  TypedValue i = value("i32"), u = value("u32"), f = value("fp32");
  (void)tiles.compare(Comparison::LtE, i, i);
  (void)tiles.compare(Comparison::LtE, u, u);
  (void)tiles.compare(Comparison::NotEq, f, f);
  (void)tiles.compare(Comparison::GtE, f, f);
  for (const char *predicate : {"cmpi sle", "cmpi ule", "cmpf une", "cmpf oge"})
    EXPECT_TRUE(contains(predicate)) << predicate;
}

TEST_F(TileBuilderTest, PointersOfOneTypeCompareAsAddresses) {
  TypedValue pointer = value("*fp32", {8});
  EXPECT_EQ(result(tiles.compare(Comparison::Eq, pointer, value("*fp32"))), "arith.cmpi int1[8]");
  EXPECT_TRUE(contains("tile.ptr_to_int"));
  EXPECT_EQ(result(tiles.compare(Comparison::Eq, pointer, value("*i8"))), "TW0222");
  EXPECT_EQ(result(tiles.compare(Comparison::NotEq, pointer, literal(0))), "TW0222");
  EXPECT_EQ(result(tiles.compare(Comparison::Eq, pointer, tiles.floatLiteral(0))), "TW0222");
}

TEST_F(TileBuilderTest, PointersAreTrueUnlessNull) {
  TypedValue pointer = value("*fp32"), flag = value("i1");
  EXPECT_EQ(result(tiles.truth(pointer)), "arith.cmpi int1");
  EXPECT_TRUE(contains("tile.ptr_to_int"));
  EXPECT_EQ(result(tiles.unary(UnaryOperator::Not, pointer)), "arith.xori int1");
  EXPECT_EQ(result(tiles.logicalAnd(flag, pointer)), "arith.andi int1");
  EXPECT_EQ(result(tiles.where(pointer, literal(1), literal(2))), "arith.select int32");
}

TEST_F(TileBuilderTest, UnaryOperators) {
  EXPECT_EQ(result(tiles.unary(UnaryOperator::USub, value("fp16", {8}))), "arith.negf float16[8]");
  EXPECT_EQ(result(tiles.unary(UnaryOperator::USub, value("u8", {8}))), "arith.subi uint8[8]");
  EXPECT_EQ(result(tiles.unary(UnaryOperator::Invert, value("u8", {8}))), "arith.xori uint8[8]");
  EXPECT_TRUE(contains("dense<-1> : tensor<8xi8>"));
  EXPECT_EQ(result(tiles.unary(UnaryOperator::Invert, value("fp32", {8}))), "TW0201");
  EXPECT_EQ(result(tiles.unary(UnaryOperator::USub, value("*fp32"))), "TW0202");
  EXPECT_EQ(result(tiles.unary(UnaryOperator::Not, value("fp32", {8}))), "arith.xori int1[8]");
  EXPECT_EQ(result(tiles.unary(UnaryOperator::UAdd, value("fp32", {8}))), "argument float32[8]");
}

TEST_F(TileBuilderTest, LogicIsOnTruthValues) {
  EXPECT_EQ(result(tiles.logicalAnd(value("i32", {8}), value("fp32"))), "arith.andi int1[8]");
  EXPECT_EQ(result(tiles.logicalOr(value("i1"), value("fp32"))), "arith.ori int1");
  EXPECT_EQ(result(tiles.logicalOr(value("i1"), value("*fp32"))), "arith.ori int1");
  EXPECT_EQ(result(tiles.truth(value("fp64", {8}))), "arith.cmpf int1[8]");
  EXPECT_EQ(result(tiles.truth(value("i1", {8}))), "argument int1[8]");
}

TEST_F(TileBuilderTest, WherePromotesAndBroadcastsAllThree) {
  EXPECT_EQ(result(tiles.where(value("i1", {8, 1}), value("fp16", {4}), tiles.floatLiteral(0))),
            "arith.select float16[8, 4]");
  EXPECT_EQ(result(tiles.where(value("i32"), value("*i8", {4}), value("*i8"))),
            "arith.select *int8[4]");
  EXPECT_EQ(result(tiles.where(value("i1"), value("*i8"), value("*i16"))), "TW0202");
  EXPECT_EQ(result(tiles.where(value("i1"), value("*i8"), literal(0))), "TW0202");
  auto error = tiles.where(value("i1"), value("u8"), literal(-1)).reason();
  ASSERT_EQ(error.labels.size(), 2u);
  EXPECT_EQ(error.labels[0].first, 1); // the condition is operand 0
  EXPECT_EQ(error.labels[1].first, 2);
}

TEST_F(TileBuilderTest, ExtremaAndNan) {
  TypedValue f = value("fp32", {8});
  EXPECT_EQ(result(tiles.maximum(f, f, false)), "arith.maxnumf float32[8]");
  EXPECT_EQ(result(tiles.maximum(f, f, true)), "arith.maximumf float32[8]");
  EXPECT_EQ(result(tiles.minimum(f, literal(1), false)), "arith.minnumf float32[8]");
  EXPECT_EQ(result(tiles.minimum(value("i8"), value("u8"), true)), "arith.minui uint8");
  EXPECT_EQ(result(tiles.maximum(value("i8"), value("i16"), true)), "arith.maxsi int16");
  EXPECT_EQ(result(tiles.clamp(f, tiles.floatLiteral(0), literal(6), true)),
            "arith.minimumf float32[8]");
  EXPECT_EQ(result(tiles.maximum(value("*fp32"), literal(1), false)), "TW0202");
}

TEST_F(TileBuilderTest, EveryFunctionOfTheTableBuilds) {
  for (const tile::ElementwiseRow &row : tile::elementwiseFunctions()) {
    for (const char *name : {"fp32", "fp64", "i32", "u32", "i1"}) {
      DType type = dtype(name);
      std::vector<TypedValue> operands(row.NumOperands, value(name, {8}));
      TileOr built = tiles.elementwise(row, operands);
      llvm::StringRef op = type.isFloat() ? row.FloatOp : type.isSigned() ? row.SIntOp : row.UIntOp;
      std::string expected = !op.empty()                      ? op.str() + " " + type.str() + "[8]"
                             : !type.isFloat() && *row.SIntOp ? "argument " + type.str() + "[8]"
                                                              : "TW0201";
      EXPECT_EQ(result(built), expected) << row.Name;
    }
  }
}

TEST_F(TileBuilderTest, HalfFunctionsAreComputedInFloat32) {
  TypedValue exponent = *tiles.elementwise(*tile::findElementwise("exp"), {value("bf16", {8})});
  EXPECT_EQ(opOf(exponent) + " " + exponent.str(), "arith.truncf bfloat16[8]");
  EXPECT_TRUE(contains("math.exp %") && contains("arith.truncf %"));
}

TEST_F(TileBuilderTest, FunctionsPromoteTheirOperands) {
  const tile::ElementwiseRow &fma = *tile::findElementwise("fma");
  EXPECT_EQ(result(tiles.elementwise(fma, {value("fp32", {8}), literal(2), value("fp64")})),
            "math.fma float64[8]");
  EXPECT_EQ(result(tiles.elementwise(fma, {value("fp32", {8}), literal(2)})), "TW0201");
  EXPECT_EQ(result(tiles.elementwise(fma, {value("*fp32"), literal(2), literal(2)})), "TW0202");
}

TEST_F(TileBuilderTest, NamedDivisions) {
  EXPECT_EQ(result(tiles.fdiv(value("fp16", {8}), literal(3))), "arith.truncf float16[8]");
  EXPECT_EQ(result(tiles.fdiv(value("i32"), value("i32"))), "TW0201");
  EXPECT_EQ(result(tiles.cdiv(value("i32"), literal(128))), "arith.divsi int32");
  EXPECT_EQ(result(tiles.cdiv(value("fp32"), literal(128))), "TW0201");
  EXPECT_EQ(result(tiles.umulhi(value("u32", {8}), value("u32"))),
            "arith.mului_extended uint32[8]");
  EXPECT_EQ(result(tiles.umulhi(value("u16"), value("u16"))), "TW0201");
}

//===-- Casts --------------------------------------------------------------------------------===//

TEST_F(TileBuilderTest, CastsByValue) {
  auto cast = [&](const char *from, const char *to) {
    return result(tiles.cast(value(from, {8}), dtype(to)));
  };
  EXPECT_EQ(cast("i8", "i32"), "arith.extsi int32[8]");
  EXPECT_EQ(cast("u8", "i32"), "arith.extui int32[8]");
  EXPECT_EQ(cast("i1", "i8"), "arith.extui int8[8]");
  EXPECT_EQ(cast("i64", "u8"), "arith.trunci uint8[8]");
  EXPECT_EQ(cast("i32", "u32"), "argument uint32[8]");
  EXPECT_EQ(cast("i8", "i1"), "arith.cmpi int1[8]");
  EXPECT_EQ(cast("fp32", "i1"), "arith.cmpf int1[8]");
  EXPECT_EQ(cast("fp32", "u8"), "arith.fptoui uint8[8]");
  EXPECT_EQ(cast("fp16", "i64"), "arith.fptosi int64[8]");
  EXPECT_EQ(cast("i32", "fp16"), "arith.sitofp float16[8]");
  EXPECT_EQ(cast("i1", "fp32"), "arith.uitofp float32[8]");
  EXPECT_EQ(cast("bf16", "fp16"), "arith.truncf float16[8]");
  EXPECT_EQ(cast("fp16", "fp64"), "arith.extf float64[8]");
  EXPECT_EQ(cast("fp32", "fp32"), "argument float32[8]");
}

TEST_F(TileBuilderTest, CastsOfPointersAndBits) {
  auto cast = [&](const char *from, const char *to, bool isBitcast) {
    return result(tiles.cast(value(from), dtype(to), {.isBitcast = isBitcast}));
  };
  EXPECT_EQ(cast("*fp32", "i64", false), "tile.ptr_to_int int64");
  EXPECT_EQ(cast("*fp32", "i32", false), "TW0206");
  EXPECT_EQ(cast("*fp32", "fp64", false), "TW0206");
  EXPECT_EQ(cast("*fp32", "*i8", false), "tile.ptr_cast *int8");
  EXPECT_EQ(cast("*i1", "*i8", false), "argument *int8");
  EXPECT_EQ(cast("i64", "*fp32", false), "tile.int_to_ptr *float32");
  EXPECT_EQ(cast("fp32", "*fp32", false), "TW0206");
  EXPECT_EQ(cast("*fp32", "i1", false), "arith.cmpi int1");
  EXPECT_EQ(cast("fp32", "i32", true), "arith.bitcast int32");
  EXPECT_EQ(cast("fp16", "bf16", true), "arith.bitcast bfloat16");
  EXPECT_EQ(cast("fp32", "i16", true), "TW0206");
  EXPECT_EQ(cast("*fp32", "fp64", true), "arith.bitcast float64");
  EXPECT_EQ(cast("fp64", "*fp32", true), "tile.int_to_ptr *float32");
}

TEST_F(TileBuilderTest, RoundingOnlyForNarrowingFloats) {
  auto cast = [&](const char *from, const char *to, const char *rounding) {
    return result(tiles.cast(value(from), dtype(to), {.rounding = rounding}));
  };
  EXPECT_EQ(cast("fp32", "fp16", "rtne"), "arith.truncf float16");
  EXPECT_EQ(cast("fp32", "fp16", "rtz"), "arith.bitcast float16");
  EXPECT_EQ(cast("fp32", "fp64", "rtz"), "arith.extf float64");
  EXPECT_EQ(cast("fp32", "fp32", "rtne"), "argument float32");
  EXPECT_EQ(cast("i32", "fp16", "rtz"), "TW0206");
  EXPECT_EQ(cast("fp32", "fp16", "up"), "TW0216");
}

TEST_F(TileBuilderTest, RoundingTowardsZeroGivesTheNearestValueNotAbove) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Row {
    double from;
    const char *type;
    double to;
  };
  constexpr Row rows[] = {
      {1.0 + 0x1.8p-11, "fp16", 1.0},
      {-1.0 - 0x1.8p-11, "fp16", -1.0},
      {1.0 + 0x1p-10, "fp16", 1.0 + 0x1p-10},
      {65519.0, "fp16", 65504.0},
      {1e30, "fp16", 65504.0},
      {infinity, "fp16", infinity},
      {-infinity, "fp16", -infinity},
      {0x1p-30, "fp16", 0.0},
      {0x1.8p-24, "fp16", 0x1p-24},
      {1.0 + 0x1.cp-8, "bf16", 1.0},
      {0x1.fffffep127, "bf16", 0x1.fep127},
      {0.0, "bf16", 0.0},
  };
  std::vector<TypedValue> results;
  for (const Row &row : rows)
    results.push_back(*tiles.cast(tiles.scalarConstant(dtype("fp32"), row.from), dtype(row.type),
                                  {.rounding = "rtz"}));
  // Uses that keep the results through the folding below.
  for (const TypedValue &result : results)
    tiles.print("", false, {result});
  // Upstream does not fold a truncation that loses digits.
  function.walk([&](mlir::arith::TruncFOp op) {
    llvm::APFloat number(0.0);
    ASSERT_TRUE(mlir::matchPattern(op.getIn(), mlir::m_ConstantFloat(&number)));
    builder.setInsertionPoint(op);
    double rounded = number.convertToFloat();
    DType type = op.getType().isF16() ? dtype("fp16") : dtype("bf16");
    op.replaceAllUsesWith(tiles.scalarConstant(type, rounded).value);
  });
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createCanonicalizerPass());
  std::vector<double> folded;
  finishFunction();
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  function.walk([&](tile::PrintOp print) {
    llvm::APFloat number(0.0);
    bool isExact;
    ASSERT_TRUE(mlir::matchPattern(print.getValues()[0], mlir::m_ConstantFloat(&number)));
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &isExact);
    folded.push_back(number.convertToDouble());
  });
  ASSERT_EQ(folded.size(), std::size(rows));
  for (auto [row, number] : llvm::zip(rows, folded))
    EXPECT_EQ(number, row.to) << row.from << " to " << row.type;
}

TEST_F(TileBuilderTest, CastsOfLiteralsAreConstants) {
  auto constantOf = [&](TypedValue literal, const char *to) {
    llvm::APInt number;
    TypedValue cast = *tiles.cast(literal, dtype(to));
    EXPECT_TRUE(mlir::matchPattern(cast.value, mlir::m_ConstantInt(&number)));
    return cast.dtype.isSigned() ? number.getSExtValue() : int64_t(number.getZExtValue());
  };
  EXPECT_EQ(constantOf(tiles.floatLiteral(1e20), "i32"), INT32_MAX);
  EXPECT_EQ(constantOf(tiles.floatLiteral(-7.9), "i8"), -7);
  EXPECT_EQ(constantOf(tiles.floatLiteral(-1.0), "u8"), 0);
  EXPECT_EQ(constantOf(tiles.floatLiteral(std::nan("")), "i32"), 0);
  EXPECT_EQ(constantOf(tiles.floatLiteral(0.5), "i1"), 1);
  EXPECT_EQ(constantOf(literal(300), "u8"), 44);
  EXPECT_EQ(constantOf(literal(-1), "u64"), -1);
  EXPECT_EQ(constantOf(literal(3000000000), "i64"), 3000000000);
}

} // namespace
