// Lowers copies from global to shared memory that run beside the program, and the waiting for them.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/CopiesInFlight.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/lowering/thread/SharedTile.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

void tw::simt::awaitByCounts(Operation *function) {
  CopiesInFlight copies(function);
  function->walk([&](Operation *op) {
    if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
      OpBuilder builder(wait);
      CopiesWaitOp::create(builder, wait.getLoc(), copies.startedAfter(wait));
    }
    if (isa<AsyncWaitOp, AsyncCommitOp>(op))
      op->erase();
  });
}

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
  // Lane after lane, all name the place of the first.
  LinearLayout named = packedCopyOf(target) ? layout.withPlace(Place::Lane, {}) : layout;
  SharedTile tile(*this, buffer, *start, named);
  if (Value owner = isOwner(layout)) {
    auto branch = create<scf::IfOp>(owner);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  for (size_t first = 0; first < pieces.size(); first += op.getVector()) {
    uint32_t reg = pieces[first];
    create<GlobalToSharedOp>(pointers[reg], tile.addressOf(reg),
                             masks.empty() ? Value() : masks[reg], bytes, op.getCache(),
                             op.getEvict());
  }
  return success();
}
