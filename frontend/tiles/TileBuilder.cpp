// Constants and the grid.
#include "frontend/tiles/TileBuilder.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"

using namespace tw;

//===-- Constants and the grid ---------------------------------------------------------------===//

TileOr TileBuilder::intLiteral(const llvm::APInt &value, bool isNegative) {
  llvm::APSInt number(value, /*isUnsigned=*/!isNegative);
  std::optional<DType> dtype = dtypeOfIntLiteral(number);
  if (!dtype)
    return operandError(Code::LiteralRange,
                        "the integer " + llvm::toString(number, 10) + " does not fit 64 bits",
                        "run-time integers are at most uint64");
  TypedValue literal =
      typed(create<mlir::arith::ConstantOp>(numberAttribute(number, *dtype, builder.getContext())),
            *dtype);
  literal.isLiteral = true;
  return literal;
}

TypedValue TileBuilder::floatLiteral(double value) {
  TypedValue literal = scalarConstant(findDType("float32"), value);
  literal.isLiteral = true;
  literal.exactValue = value;
  return literal;
}

TypedValue TileBuilder::boolLiteral(bool value) {
  TypedValue literal = scalarConstant(findDType("int1"), value);
  literal.isLiteral = true;
  return literal;
}

TypedValue TileBuilder::scalarConstant(DType dtype, double value) {
  if (!dtype.isPointer)
    return typed(create<mlir::arith::ConstantOp>(
                     numberAttribute(llvm::APFloat(value), dtype, builder.getContext())),
                 dtype);
  TypedValue address = scalarConstant(findDType("int64"), value);
  return typed(create<tile::IntToPtrOp>(dtype.irType(builder.getContext()), address.value), dtype);
}

TypedValue TileBuilder::programId(int axis) {
  return typed(create<tile::ProgramIdOp>(axis), findDType("int32"));
}

TypedValue TileBuilder::machine(tile::MachineFact fact) {
  return typed(create<tile::MachineOp>(fact), findDType("int64"));
}

TypedValue TileBuilder::numPrograms(int axis) {
  return typed(create<tile::NumProgramsOp>(axis), findDType("int32"));
}
