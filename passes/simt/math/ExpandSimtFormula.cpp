// Writes arithmetic of one lane, with the machine's approximations, as short as a formula reads.
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

LaneFormula::LaneFormula(OpBuilder &builder, Location location, Type floatType)
    : Formula(builder, location, floatType, /*hasScale=*/false) {
  hasNanMinimum = floatType.isF32();
}

LaneFormula LaneFormula::ofDouble() const { return {builder, location, builder.getF64Type()}; }
LaneFormula LaneFormula::ofSingle() const { return {builder, location, builder.getF32Type()}; }

Value LaneFormula::approximate(ApproxKind kind, Value x) {
  return ApproxOp::create(builder, location, x.getType(), kind, x);
}

Value LaneFormula::divide(Value a, Value b) {
  return isDouble() ? div(a, b) : DivideOp::create(builder, location, a.getType(), a, b);
}

Value LaneFormula::divideNear(Value a, Value b) {
  if (isDouble())
    return div(a, b);
  Value inverse = approximate(ApproxKind::Reciprocal, b);
  Value quotient = mul(a, inverse);
  return fma(fma(negate(quotient), b, a), inverse, quotient);
}

Value LaneFormula::root(Value x) {
  if (isDouble())
    return math::SqrtOp::create(builder, location, x);
  return approximate(ApproxKind::Sqrt, x);
}

Value LaneFormula::truncate(Value x) { return math::TruncOp::create(builder, location, x); }

Value LaneFormula::shiftLeftBy(Value a, Value amount) {
  return arith::ShLIOp::create(builder, location, a, amount);
}
Value LaneFormula::shiftRightBy(Value a, Value amount) {
  return arith::ShRUIOp::create(builder, location, a, amount);
}
Value LaneFormula::divideInt(Value a, int64_t divisor) {
  return arith::DivUIOp::create(builder, location, a, integer(divisor));
}
Value LaneFormula::remainderInt(Value a, Value divisor) {
  return arith::RemUIOp::create(builder, location, a, divisor);
}

LaneFormula::Product LaneFormula::multiplyInt(Value a, Value b) {
  auto product = arith::MulUIExtendedOp::create(builder, location, a, b);
  return {product.getLow(), product.getHigh()};
}

Value LaneFormula::fromUnsigned(Value a) {
  return arith::UIToFPOp::create(builder, location, floatType, a);
}

Value LaneFormula::toOtherWidth(Value x) {
  if (isDouble())
    return arith::ExtFOp::create(builder, location, floatType, x);
  return arith::TruncFOp::create(builder, location, floatType, x);
}

Value LaneFormula::toOtherWidthInt(Value x) {
  if (isDouble())
    return arith::ExtUIOp::create(builder, location, integerType(), x);
  return arith::TruncIOp::create(builder, location, integerType(), x);
}

SmallVector<Value> LaneFormula::branch(Value condition,
                                       llvm::function_ref<SmallVector<Value>()> rare,
                                       ArrayRef<Value> usual) {
  OpBuilder::InsertionGuard guard(builder);
  auto choice = scf::IfOp::create(builder, location, ValueRange(usual).getTypes(), condition,
                                  /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(builder, location, rare());
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, location, usual);
  return choice.getResults();
}

SmallVector<Value> LaneFormula::repeat(llvm::function_ref<Value(Carried)> condition,
                                       llvm::function_ref<SmallVector<Value>(Carried)> body,
                                       ArrayRef<Value> initial) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(ValueRange(initial).getTypes());
  SmallVector<Location> locations(types.size(), location);
  auto loop = scf::WhileOp::create(builder, location, types, initial);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, locations);
  SmallVector<Value> carried(before->getArguments());
  scf::ConditionOp::create(builder, location, condition(carried), carried);
  Block *after = builder.createBlock(&loop.getAfter(), {}, types, locations);
  carried.assign(after->args_begin(), after->args_end());
  scf::YieldOp::create(builder, location, body(carried));
  return loop.getResults();
}
