// device_print and device_assert: the owner of each element prints or checks it.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The row-major index of the element in a register; 0 of a scalar.
static Value indexOf(SimtFunction &f, Value value, uint32_t reg) {
  if (!hasLayout(value.getType()))
    return f.constantI32(0);
  return f.elementIndex(layoutOf(value.getType()), reg);
}

static Value orTrue(SimtFunction &f, Value condition) {
  return condition ? condition : f.constantOf(f.builder.getI1Type(), 1);
}

LogicalResult SimtFunction::lowerPrint(tile::PrintOp op) {
  if (op.getValues().empty())
    simt::PrintOp::create(builder, loc, op.getPrefix(), op.getHex(), /*is_signed=*/false,
                          ArrayRef<int64_t>(), Value(), constantI32(0), isZero(thread));
  for (auto [value, isSigned] : llvm::zip(op.getValues(), op.getIsSigned())) {
    Value mask = orTrue(*this, isOwnerOf(value));
    Registers registers = registersOf(value);
    for (auto [reg, element] : llvm::enumerate(registers))
      simt::PrintOp::create(builder, loc, op.getPrefix(), op.getHex(), isSigned != 0,
                            tile::shapeOf(value.getType()), element, indexOf(*this, value, reg),
                            mask);
  }
  return success();
}

LogicalResult SimtFunction::lowerAssert(tile::AssertOp op) {
  Value condition = op.getCondition(), owner = isOwnerOf(condition);
  Registers conditions = registersOf(condition);
  Registers masks = op.getMask() ? registersOf(op.getMask()) : Registers(conditions.size());
  for (auto [reg, holds] : llvm::enumerate(conditions)) {
    Value isFalse = arith::XOrIOp::create(builder, loc, holds, constantOf(holds.getType(), 1));
    Value failed = both(both(isFalse, masks[reg]), owner);
    simt::AssertOp::create(builder, loc, failed, op.getMessage(),
                           tile::shapeOf(condition.getType()), indexOf(*this, condition, reg));
  }
  return success();
}
