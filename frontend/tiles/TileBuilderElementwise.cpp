// Elementwise operations: operators, comparisons, selection and the functions of the table.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/codes/Codes.h"

using namespace tw;
namespace arith = mlir::arith;

//===-- Binary operators ---------------------------------------------------------------------===//

TileOr TileBuilder::binary(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  if (op == BinaryOperator::Pow)
    return elementwise(*tile::findElementwise("pow"), {lhs, rhs});
  if (op == BinaryOperator::MatMul)
    return dot(lhs, rhs);
  if (lhs.dtype.isPointer || rhs.dtype.isPointer)
    return pointerBinary(op, lhs, rhs);
  switch (op) {
  case BinaryOperator::Add:
  case BinaryOperator::Sub:
  case BinaryOperator::Mul:
    return arithmetic(op, lhs, rhs);
  case BinaryOperator::Div:
    return divide(lhs, rhs);
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod:
    return divideIntegers(op, lhs, rhs);
  default:
    return bitwise(op, lhs, rhs);
  }
}

TileOr TileBuilder::pointerBinary(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  bool isAdd = op == BinaryOperator::Add, isSub = op == BinaryOperator::Sub;
  TypedValue pointer = lhs, offset = rhs;
  if (isAdd && rhs.dtype.isPointer)
    std::swap(pointer, offset);
  if ((!isAdd && !isSub) || !pointer.dtype.isPointer || !offset.dtype.isInt())
    return operandError(Code::PointerArithmetic,
                        "`" + rowOf(op).symbol.str() + "` is not defined on " + lhs.dtype.str() +
                            " and " + rhs.dtype.str(),
                        "a pointer takes integer offsets: pointer + int, int + pointer, pointer - "
                        "int. " +
                            std::string(kPointerHint),
                        {lhs, rhs});
  OrReason<llvm::SmallVector<int64_t>> shape = commonShape({lhs, rhs});
  if (!shape)
    return shape.reason();
  // Offsets are signed; a narrow unsigned one, or one about to be negated, may need one bit more.
  bool isNarrowUnsigned = !offset.dtype.isSigned() && offset.dtype.bits() < 64;
  if (isNarrowUnsigned || (isSub && offset.dtype.bits() < 64))
    offset = convert(offset, findDType("int64"));
  if (isSub)
    offset.value = create<arith::SubIOp>(constantLike(offset, offset.dtype, 0).value, offset.value);
  pointer = expandTo(pointer, *shape);
  return typed(create<tile::AddPtrOp>(pointer.value, expandTo(offset, *shape).value),
               pointer.dtype);
}

TileOr TileBuilder::arithmetic(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  DType dtype = operands->first.dtype, computed = arithmeticDTypeOf(dtype);
  TypedValue left = convert(operands->first, computed), right = convert(operands->second, computed);
  mlir::Value result;
  bool isFloat = left.dtype.isFloat();
  if (op == BinaryOperator::Add)
    result = isFloat ? create<arith::AddFOp>(left.value, right.value)
                     : create<arith::AddIOp>(left.value, right.value);
  else if (op == BinaryOperator::Sub)
    result = isFloat ? create<arith::SubFOp>(left.value, right.value)
                     : create<arith::SubIOp>(left.value, right.value);
  else
    result = isFloat ? create<arith::MulFOp>(left.value, right.value)
                     : create<arith::MulIOp>(left.value, right.value);
  checkOverflow(op, left, right, result);
  return convert(typed(result, computed), dtype);
}

TileOr TileBuilder::divide(TypedValue lhs, TypedValue rhs) {
  DType dtype = findDType("float32");
  if (lhs.dtype.isFloat() || rhs.dtype.isFloat())
    dtype = promoteDTypes(lhs, rhs, true);
  TilesOr operands = convertAll({lhs, rhs}, dtype);
  if (!operands)
    return operands.reason();
  return typed(quotientOf((*operands)[0], (*operands)[1], /*isExact=*/false), dtype);
}

/// A GPU divides float32 several times faster when it may multiply by a reciprocal, within 2 units
/// in the last place.
mlir::Value TileBuilder::quotientOf(TypedValue lhs, TypedValue rhs, bool isExact) {
  bool mayUseReciprocal = !isExact && lhs.dtype.bits() <= 32;
  arith::FastMathFlags flags =
      mayUseReciprocal ? arith::FastMathFlags::arcp : arith::FastMathFlags::none;
  return create<arith::DivFOp>(lhs.value, rhs.value, flags);
}

TileOr TileBuilder::divideIntegers(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  bool isMod = op == BinaryOperator::Mod;
  if (lhs.dtype.isFloat() || rhs.dtype.isFloat()) {
    if (!isMod)
      return operandError(Code::OperandType, "`//` is not defined on floats",
                          "write tw.floor(a / b)", {lhs, rhs});
    TilePairOr operands = promote(lhs, rhs, /*isDivision=*/true);
    if (!operands)
      return operands.reason();
    return typed(create<arith::RemFOp>(operands->first.value, operands->second.value),
                 operands->first.dtype);
  }
  // A literal takes the other's sign.
  if (lhs.isLiteral == rhs.isLiteral && haveMixedSigns(lhs.dtype, rhs.dtype))
    return operandError(Code::MixedSigns,
                        "Cannot use `" + rowOf(op).symbol.str() + "` with " + lhs.dtype.str() +
                            " and " + rhs.dtype.str() + " because they have different signedness",
                        "cast one operand to the sign of the other, as in x.to(tw.int32)",
                        {lhs, rhs});
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  auto [left, right] = *operands;
  mlir::Value result;
  if (left.dtype.isSigned())
    result = isMod ? create<arith::RemSIOp>(left.value, right.value)
                   : create<arith::DivSIOp>(left.value, right.value);
  else
    result = isMod ? create<arith::RemUIOp>(left.value, right.value)
                   : create<arith::DivUIOp>(left.value, right.value);
  return typed(result, left.dtype);
}

TileOr TileBuilder::bitwise(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  if (!lhs.dtype.isInt() || !rhs.dtype.isInt())
    return operandError(Code::OperandType,
                        "invalid operands of type " + lhs.dtype.str() + " and " + rhs.dtype.str() +
                            ": `" + rowOf(op).symbol.str() + "` needs integers or bools",
                        "cast with .to(tw.int32), or with .to(tw.int32, bitcast=True) for the bits",
                        {lhs, rhs});
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  mlir::Value left = operands->first.value, right = operands->second.value, result;
  DType dtype = operands->first.dtype;
  // What moves in at the top is the sign of the operand that is shifted, whatever type the result
  // has; a number has the type that it takes.
  bool keepsSign = lhs.isLiteral ? dtype.isSigned() : lhs.dtype.isSigned();
  if (op == BinaryOperator::LShift)
    result = create<arith::ShLIOp>(left, right);
  else if (op == BinaryOperator::RShift)
    result = keepsSign ? create<arith::ShRSIOp>(left, right) : create<arith::ShRUIOp>(left, right);
  else if (op == BinaryOperator::BitAnd)
    result = create<arith::AndIOp>(left, right);
  else if (op == BinaryOperator::BitOr)
    result = create<arith::OrIOp>(left, right);
  else
    result = create<arith::XOrIOp>(left, right);
  return typed(result, dtype);
}

//===-- Comparison, logic, selection ---------------------------------------------------------===//

namespace {
/// How a comparison is computed on each kind of numbers.
struct Predicates {
  arith::CmpFPredicate ofFloats;
  arith::CmpIPredicate ofSigned, ofUnsigned;
};
} // namespace

static Predicates predicatesOf(Comparison op) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  switch (op) {
  case Comparison::Lt:
    return {F::OLT, I::slt, I::ult};
  case Comparison::LtE:
    return {F::OLE, I::sle, I::ule};
  case Comparison::Gt:
    return {F::OGT, I::sgt, I::ugt};
  case Comparison::GtE:
    return {F::OGE, I::sge, I::uge};
  case Comparison::Eq:
    return {F::OEQ, I::eq, I::eq};
  case Comparison::NotEq:
    return {F::UNE, I::ne, I::ne};
  default:
    llvm_unreachable("a question about objects is not one about their numbers");
  }
}

TileOr TileBuilder::compare(Comparison op, TypedValue lhs, TypedValue rhs) {
  if (lhs.dtype.isPointer || rhs.dtype.isPointer) {
    if (lhs.dtype != rhs.dtype)
      return pointerAsNumber(lhs.dtype.isPointer && rhs.dtype.isPointer
                                 ? "pointers to different types are compared"
                                 : "a pointer is compared with a number",
                             {lhs, rhs});
    lhs = addresses(lhs);
    rhs = addresses(rhs);
  }
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  DType computed = arithmeticDTypeOf(operands->first.dtype);
  TypedValue left = convert(operands->first, computed), right = convert(operands->second, computed);
  Predicates predicates = predicatesOf(op);
  arith::CmpIPredicate ofIntegers =
      left.dtype.isSigned() ? predicates.ofSigned : predicates.ofUnsigned;
  mlir::Value result = left.dtype.isFloat()
                           ? create<arith::CmpFOp>(predicates.ofFloats, left.value, right.value)
                           : create<arith::CmpIOp>(ofIntegers, left.value, right.value);
  return typed(result, findDType("int1"));
}

TileOr TileBuilder::unary(UnaryOperator op, TypedValue operand) {
  if (op == UnaryOperator::Not) {
    TileOr condition = truth(operand);
    if (!condition)
      return condition.reason();
    return typed(create<arith::XOrIOp>(condition->value, allOnesLike(*condition)),
                 condition->dtype);
  }
  if (operand.dtype.isPointer)
    return operandError(Code::PointerArithmetic, "this operator is not defined on pointers",
                        kPointerHint, operand);
  if (op == UnaryOperator::UAdd)
    return operand;
  if (op == UnaryOperator::USub) {
    DType computed = arithmeticDTypeOf(operand.dtype);
    if (operand.dtype.isFloat())
      return convert(typed(create<arith::NegFOp>(convert(operand, computed).value), computed),
                     operand.dtype);
    TypedValue zero = constantLike(operand, operand.dtype, 0);
    mlir::Value negated = create<arith::SubIOp>(zero.value, operand.value);
    checkOverflow(BinaryOperator::Sub, zero, operand, negated);
    return typed(negated, operand.dtype);
  }
  if (operand.dtype.isFloat())
    return operandError(Code::OperandType, "`~` needs an integer or a bool",
                        "cast with .to(tw.int32, bitcast=True) for the bits", operand);
  return typed(create<arith::XOrIOp>(operand.value, allOnesLike(operand)), operand.dtype);
}

TileOr TileBuilder::logical(bool isAnd, TypedValue lhs, TypedValue rhs) {
  TilePairOr operands = broadcast(lhs, rhs);
  if (!operands)
    return operands.reason();
  TileOr left = truth(operands->first), right = truth(operands->second);
  if (!left || !right)
    return left ? right.reason() : left.reason();
  mlir::Value result = isAnd ? create<arith::AndIOp>(left->value, right->value)
                             : create<arith::OrIOp>(left->value, right->value);
  return typed(result, left->dtype);
}

TileOr TileBuilder::logicalAnd(TypedValue lhs, TypedValue rhs) { return logical(true, lhs, rhs); }

TileOr TileBuilder::logicalOr(TypedValue lhs, TypedValue rhs) { return logical(false, lhs, rhs); }

TileOr TileBuilder::where(TypedValue condition, TypedValue lhs, TypedValue rhs) {
  OrReason<llvm::SmallVector<int64_t>> shape = commonShape({condition, lhs, rhs});
  if (!shape)
    return shape.reason();
  bool hasPointer = lhs.dtype.isPointer || rhs.dtype.isPointer;
  if (hasPointer && lhs.dtype != rhs.dtype)
    return operandError(
        Code::PointerArithmetic,
        "where chooses between " + lhs.dtype.str() + " and " + rhs.dtype.str(),
        "both values must be pointers to one type, or none a pointer; cast one with "
        ".to(...)",
        {lhs, rhs}, 1);
  if (!hasPointer) {
    TilePairOr operands = promote(lhs, rhs);
    if (!operands) {
      for (auto &label : operands.reason().labels)
        ++label.first; // the condition is operand 0
      return operands.reason();
    }
    std::tie(lhs, rhs) = *operands;
  }
  TileOr chosen = truth(condition);
  if (!chosen)
    return chosen.reason();
  mlir::Value mask = expandTo(*chosen, *shape).value;
  return typed(
      create<arith::SelectOp>(mask, expandTo(lhs, *shape).value, expandTo(rhs, *shape).value),
      lhs.dtype);
}

//===-- Extrema ------------------------------------------------------------------------------===//

TypedValue TileBuilder::extremumOf(bool isMaximum, TypedValue lhs, TypedValue rhs,
                                   bool propagateNan) {
  DType dtype = lhs.dtype, computed = arithmeticDTypeOf(dtype);
  mlir::Value left = convert(lhs, computed).value, right = convert(rhs, computed).value, result;
  if (lhs.dtype.isFloat() && propagateNan)
    result =
        isMaximum ? create<arith::MaximumFOp>(left, right) : create<arith::MinimumFOp>(left, right);
  else if (lhs.dtype.isFloat())
    result =
        isMaximum ? create<arith::MaxNumFOp>(left, right) : create<arith::MinNumFOp>(left, right);
  else if (lhs.dtype.isSigned())
    result = isMaximum ? create<arith::MaxSIOp>(left, right) : create<arith::MinSIOp>(left, right);
  else
    result = isMaximum ? create<arith::MaxUIOp>(left, right) : create<arith::MinUIOp>(left, right);
  return convert(typed(result, computed), dtype);
}

TileOr TileBuilder::extremum(bool isMaximum, TypedValue lhs, TypedValue rhs, bool propagateNan) {
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  return extremumOf(isMaximum, operands->first, operands->second, propagateNan);
}

TileOr TileBuilder::minimum(TypedValue lhs, TypedValue rhs, bool propagateNan) {
  return extremum(false, lhs, rhs, propagateNan);
}

TileOr TileBuilder::maximum(TypedValue lhs, TypedValue rhs, bool propagateNan) {
  return extremum(true, lhs, rhs, propagateNan);
}

TileOr TileBuilder::clamp(TypedValue x, TypedValue lower, TypedValue upper, bool propagateNan) {
  TilesOr operands = promoteAll({x, lower, upper}, false);
  if (!operands)
    return operands.reason();
  TypedValue raised = extremumOf(true, (*operands)[0], (*operands)[1], propagateNan);
  return extremumOf(false, raised, (*operands)[2], propagateNan);
}
