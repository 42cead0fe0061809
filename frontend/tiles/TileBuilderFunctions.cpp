// Functions on elements: those of the elementwise table and integer and float division by name.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "runtime/codes/Codes.h"

using namespace tw;
namespace arith = mlir::arith;

/// The operation of a row for a dtype; empty when the function does not accept it.
static llvm::StringRef operationOf(const tile::ElementwiseRow &row, DType dtype) {
  if (dtype.isFloat())
    return row.FloatOp;
  return dtype.isSigned() ? row.SIntOp : row.UIntOp;
}

static std::string acceptedKinds(const tile::ElementwiseRow &row) {
  bool hasFloats = *row.FloatOp, hasIntegers = *row.SIntOp;
  return hasFloats && hasIntegers ? "floats and integers" : hasFloats ? "floats" : "integers";
}

/// |x| of an 8-bit float, with its infinities and the codes that conversions do not make.
TileOr TileBuilder::clearSignBit(TypedValue operand) {
  DType byte = findDType("int8");
  TileOr bits = bitcast(operand, byte);
  mlir::Value mask = constantLike(operand, byte, 0x7f).value;
  return bitcast(typed(create<arith::AndIOp>(bits->value, mask), byte), operand.dtype);
}

TileOr TileBuilder::elementwise(const tile::ElementwiseRow &row, std::vector<TypedValue> operands) {
  std::string name = row.Name;
  if (operands.size() != row.NumOperands)
    return operandError(Code::OperandType,
                        name + " takes " + std::to_string(row.NumOperands) + " operands, not " +
                            std::to_string(operands.size()),
                        name + ": " + row.Doc, operands);
  std::vector<TypedValue> written = operands;
  TilesOr promoted = promoteAll(std::move(operands), false);
  if (!promoted)
    return promoted.reason();
  DType dtype = promoted->front().dtype, computed = computeDTypeOf(dtype);
  llvm::StringRef operation = operationOf(row, dtype);
  if (name == "abs" && dtype.isFloat8() && !lacksNegativeZero(dtype.irType(builder.getContext())))
    return clearSignBit(promoted->front());
  if (dtype.isFloat8() && name != "abs") // which is exact in every type
    return operandError(Code::OperandType, name + " does not take " + dtype.str(),
                        "8-bit floats are a storage type: cast with .to(tw.float32)", written);
  // A function of signed integers that has no unsigned form does nothing to unsigned ones (abs).
  if (operation.empty() && !dtype.isFloat() && *row.SIntOp)
    return promoted->front();
  if (operation.empty())
    return operandError(
        Code::OperandType, name + " takes " + acceptedKinds(row) + ", not " + dtype.str(),
        dtype.isFloat() ? "cast with .to(tw.int32), or with bitcast=True for the bits"
                        : "cast with .to(tw.float32)",
        written);
  mlir::OperationState state(loc, operation);
  for (const TypedValue &operand : *promoted)
    state.addOperands(convert(operand, computed).value);
  state.addTypes(state.operands.front().getType());
  return convert(typed(builder.create(state)->getResult(0), computed), dtype);
}

TileOr TileBuilder::umulhi(TypedValue lhs, TypedValue rhs) {
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  DType dtype = operands->first.dtype;
  if (!dtype.isInt() || dtype.bits() < 32)
    return operandError(Code::OperandType, "umulhi takes 32- or 64-bit integers",
                        "cast with .to(tw.uint32)", {lhs, rhs});
  auto product =
      arith::MulUIExtendedOp::create(builder, loc, operands->first.value, operands->second.value);
  return typed(product.getHigh(), dtype);
}

TileOr TileBuilder::fdiv(TypedValue lhs, TypedValue rhs, bool isExact) {
  auto isFloat = [](const TypedValue &value, const TypedValue &other) {
    return value.dtype.isFloat() || (value.isLiteral && other.dtype.isFloat());
  };
  if (!isFloat(lhs, rhs) || !isFloat(rhs, lhs))
    return operandError(Code::OperandType, "fdiv takes floats",
                        "cast with .to(tw.float32), or write a / b", {lhs, rhs});
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  DType dtype = operands->first.dtype, computed = computeDTypeOf(dtype);
  mlir::Value quotient =
      quotientOf(convert(operands->first, computed), convert(operands->second, computed), isExact);
  return convert(typed(quotient, computed), dtype);
}

TileOr TileBuilder::cdiv(TypedValue lhs, TypedValue rhs) {
  bool hasPointer = lhs.dtype.isPointer || rhs.dtype.isPointer;
  if (hasPointer || lhs.dtype.isFloat() || rhs.dtype.isFloat())
    return operandError(Code::OperandType, "cdiv takes integers", "write tw.ceil(a / b) for floats",
                        {lhs, rhs});
  if (lhs.isLiteral == rhs.isLiteral && haveMixedSigns(lhs.dtype, rhs.dtype))
    return divideIntegers(BinaryOperator::FloorDiv, lhs, rhs); // answers the error
  TilePairOr operands = promote(lhs, rhs);
  if (!operands)
    return operands.reason();
  auto [left, right] = *operands;
  mlir::Value one = constantLike(right, right.dtype, 1).value;
  mlir::Value less = create<arith::SubIOp>(right.value, one);
  mlir::Value raised = create<arith::AddIOp>(left.value, less);
  checkOverflow(BinaryOperator::Add, left, typed(less, left.dtype), raised);
  left.value = raised;
  return divideIntegers(BinaryOperator::FloorDiv, left, right);
}
