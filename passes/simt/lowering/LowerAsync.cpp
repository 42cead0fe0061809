// Lowers copies from global to shared memory that run beside the program, and the waiting for them.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "passes/simt/pipeline/AsyncCopies.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The copies that each warp starts between two commits of a block: those in branches may be made
/// by some warps only.
static unsigned copiesBefore(AsyncCommitOp commit) {
  unsigned count = 0;
  for (Operation *op = commit->getPrevNode(); op && !isa<AsyncCommitOp>(op); op = op->getPrevNode())
    count += isa<GlobalToSharedOp>(op);
  return count;
}

void tw::simt::awaitByCounts(Operation *function) {
  std::optional<unsigned> fewest;
  SmallVector<Operation *> replaced;
  function->walk([&](AsyncCommitOp commit) {
    unsigned count = copiesBefore(commit);
    fewest = std::min(fewest.value_or(count), count);
    replaced.push_back(commit);
  });
  // Groups that may stay incomplete have at least that many copies each.
  function->walk([&](AsyncWaitOp wait) {
    OpBuilder builder(wait);
    CopiesWaitOp::create(builder, wait.getLoc(), wait.getPending() * fewest.value_or(0));
    replaced.push_back(wait);
  });
  for (Operation *op : replaced)
    op->erase();
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
