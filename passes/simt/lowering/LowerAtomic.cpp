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
  Registers masks = mask ? registersOf(mask) : Registers(values.size());
  Value compare = access.getExpectedValue();
  Registers expected = compare ? registersOf(compare) : Registers(values.size()), result;
  for (auto [ptr, value, old, active] : llvm::zip(pointers, values, expected, masks))
    result.push_back(create<simt::AtomicOp>(value.getType(), access.getAtomicKind(), ptr, value,
                                            old, both(active, owner), *access.getAtomicOrder(),
                                            access.getAtomicScope()));
  setRegisters(op->getResult(0), result);
  return success();
}
