// device_print and device_assert: the owner of each element prints or checks it.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The row-major index of the element in a register; 0 of a scalar.
static Value indexOf(SimtFunction &f, Value value, uint32_t reg) {
  if (!hasLayout(value.getType()))
    return f.constantI32(0);
  return f.elementIndex(layoutOf(value.getType()), reg);
}

namespace {
/// Where an element is among those that are printed, and whether it is one of them (null: yes).
struct PrintedPlace {
  Value index, exists;
};
} // namespace

static PrintedPlace placeAmong(SimtFunction &f, ArrayRef<int64_t> extents, Value value,
                               uint32_t reg) {
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  Value whole = indexOf(f, value, reg);
  if (shape == extents)
    return {whole, Value()};
  PrintedPlace place{f.constantI32(0), Value()};
  int64_t stride = 1;
  for (auto [size, extent] : llvm::zip(llvm::reverse(shape), llvm::reverse(extents))) {
    Value limit = f.constantI32(int32_t(size));
    Value coordinate = f.create<arith::RemUIOp>(whole, limit);
    whole = f.create<arith::DivUIOp>(whole, limit);
    Value isBelow = f.create<arith::CmpIOp>(arith::CmpIPredicate::ult, coordinate,
                                            f.constantI32(int32_t(extent)));
    place.exists = f.both(place.exists, isBelow);
    Value steps = f.create<arith::MulIOp>(coordinate, f.constantI32(int32_t(stride)));
    place.index = f.create<arith::AddIOp>(place.index, steps);
    stride *= extent;
  }
  return place;
}

static Value orTrue(SimtFunction &f, Value condition) {
  return condition ? condition : f.constantOf(f.builder.getI1Type(), 1);
}

LogicalResult SimtFunction::lowerPrint(tile::PrintOp op) {
  if (op.getValues().empty())
    create<simt::PrintOp>(op.getPrefix(), op.getHex(), /*is_signed=*/false, ArrayRef<int64_t>(),
                          Value(), constantI32(0), isZero(thread));
  for (auto [operand, value] : llvm::enumerate(op.getValues())) {
    std::string prefix = op.prefixOf(operand);
    bool isSigned = op.getIsSigned()[operand];
    Value owner = isOwnerOf(value);
    Registers registers = registersOf(value);
    for (auto [reg, element] : llvm::enumerate(registers)) {
      PrintedPlace place = placeAmong(*this, op.printedExtents(operand), value, reg);
      create<simt::PrintOp>(prefix, op.getHex(), isSigned, op.printedExtents(operand), element,
                            place.index, orTrue(*this, both(owner, place.exists)));
    }
  }
  return success();
}

LogicalResult SimtFunction::lowerAssert(tile::AssertOp op) {
  Value condition = op.getCondition(), owner = isOwnerOf(condition);
  Registers conditions = registersOf(condition);
  Registers masks = op.getMask() ? registersOf(op.getMask()) : Registers(conditions.size());
  SmallVector<Registers> values;
  for (Value value : op.getValues())
    values.push_back(registersOf(value));
  // One report for all registers, of the first that fails: its code is long.
  Value anyFailed, index;
  SmallVector<Value> shown(values.size());
  auto choose = [&](Value failed, Value own, Value later) -> Value {
    return later ? Value(create<arith::SelectOp>(failed, own, later)) : own;
  };
  for (unsigned reg = conditions.size(); reg-- > 0;) {
    Value holds = conditions[reg], own = indexOf(*this, condition, reg);
    Value isFalse = create<arith::XOrIOp>(holds, constantOf(holds.getType(), 1));
    Value failed = both(isFalse, masks[reg]);
    index = choose(failed, own, index);
    for (auto [value, registers] : llvm::zip(shown, values))
      value = choose(failed, registers[reg], value);
    anyFailed = anyFailed ? Value(create<arith::OrIOp>(anyFailed, failed)) : failed;
  }
  create<simt::AssertOp>(both(anyFailed, owner), op.getMessage(),
                         tile::shapeOf(condition.getType()), index, shown, op.getJointAttr(),
                         op.getIsSigned());
  return success();
}
