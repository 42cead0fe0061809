// Atomics: the owner of each element does them.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

LogicalResult SimtFunction::lowerAtomic(Operation *op) {
  Registers pointers = registersOf(op->getOperand(0)), result;
  Value owner = isOwnerOf(op->getOperand(0));
  if (auto cas = dyn_cast<tile::AtomicCasOp>(op)) {
    Registers compares = registersOf(cas.getCompare()), values = registersOf(cas.getValue());
    Registers masks = cas.getMask() ? registersOf(cas.getMask()) : Registers(values.size());
    for (auto [ptr, compare, value, mask] : llvm::zip(pointers, compares, values, masks))
      result.push_back(create<simt::AtomicCasOp>(
          value.getType(), ptr, compare, value, both(mask, owner), cas.getOrder(), cas.getScope()));
    setRegisters(cas, result);
    return success();
  }
  auto rmw = cast<tile::AtomicRmwOp>(op);
  Registers values = registersOf(rmw.getValue());
  Registers masks = rmw.getMask() ? registersOf(rmw.getMask()) : Registers(values.size());
  for (auto [ptr, value, mask] : llvm::zip(pointers, values, masks))
    result.push_back(create<simt::AtomicRmwOp>(value.getType(), rmw.getKind(), ptr, value,
                                               both(mask, owner), rmw.getOrder(), rmw.getScope()));
  setRegisters(rmw, result);
  return success();
}
