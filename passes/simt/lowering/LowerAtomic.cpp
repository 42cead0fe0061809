// Atomics: the owner of each element does them.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

LogicalResult SimtFunction::lowerAtomic(Operation *op) {
  auto access = cast<tile::MemoryAccess>(op);
  Value owner = isOwnerOf(access.getPointers()), mask = access.getAccessMask();
  Registers pointers = registersOf(access.getPointers());
  Registers values = registersOf(access.getWrittenValue());
  Registers masks = mask ? registersOf(mask) : Registers(values.size()), result;
  auto update = [&](tile::AtomicKind kind, const Registers &expected, tile::MemoryScope scope) {
    for (auto [ptr, value, old, active] : llvm::zip(pointers, values, expected, masks))
      result.push_back(create<simt::AtomicOp>(value.getType(), kind, ptr, value, old,
                                              both(active, owner), *access.getAtomicOrder(),
                                              scope));
  };
  if (auto cas = dyn_cast<tile::AtomicCasOp>(op)) {
    update(tile::AtomicKind::Xchg, registersOf(cas.getCompare()), cas.getScope());
  } else {
    auto rmw = cast<tile::AtomicRmwOp>(op);
    update(rmw.getKind(), Registers(values.size()), rmw.getScope());
  }
  setRegisters(op->getResult(0), result);
  return success();
}
