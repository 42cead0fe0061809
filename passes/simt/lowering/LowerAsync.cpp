// Lowers copies from global to shared memory that run beside the program.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/lowering/SharedTile.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

LogicalResult SimtFunction::lowerAsyncCopy(AsyncCopyOp op) {
  FailureOr<SharedStart> start = sharedStartOf(*this, op.getBuffer(), op);
  if (failed(start))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  const LinearLayout &layout = layoutOf(op.getPtr().getType());
  auto pieces = neighbourGroups(layout, op.getDim(), op.getVector());
  Registers pointers = registersOf(op.getPtr());
  Registers masks = op.getMask() ? registersOf(op.getMask()) : Registers();
  unsigned bytes = op.getVector() * bytesInShared(buffer.getElementType());
  OpBuilder::InsertionGuard guard(builder);
  SharedTile tile(*this, buffer, *start, layout);
  if (Value owner = isOwner(layout)) {
    auto branch = scf::IfOp::create(builder, loc, owner);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  for (size_t first = 0; first < pieces.size(); first += op.getVector()) {
    uint32_t reg = pieces[first];
    GlobalToSharedOp::create(builder, loc, pointers[reg], tile.addressOf(reg),
                             masks.empty() ? Value() : masks[reg], bytes, op.getCache(),
                             op.getEvict());
  }
  return success();
}
