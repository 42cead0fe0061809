// Lowers copies from global to shared memory that run beside the program, and the waiting for them.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
  bool hasLanes = false, hasArrays = false;
  function->walk([&](Operation *op) {
    hasLanes |= isa<GlobalToSharedOp>(op);
    hasArrays |= isa<CopyArrayOp>(op);
  });
  function->walk([&](Operation *op) {
    if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
      OpBuilder builder(wait);
      CopyCounts started = copies.startedAfter(wait);
      if (hasLanes || !hasArrays)
        CopiesWaitOp::create(builder, wait.getLoc(), started.ofLanes);
      if (hasArrays)
        CopiesWaitOp::create(builder, wait.getLoc(), started.ofArrays, /*of_arrays=*/true);
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

namespace {
/// The rows of a box that one warp copies.
struct WarpRows {
  int64_t count;
  Value first;  // the number of its first row in the box
  Value hasAny; // null: it has rows in any case
};
} // namespace

/// Divides the rows of a box among the warps; of few rows, some have none.
static WarpRows rowsOfWarp(SimtFunction &f, int64_t numRows) {
  WarpRows rows{std::max<int64_t>(1, numRows / f.numWarps), {}, {}};
  if (f.numWarps == 1) {
    rows.first = f.constantI32(0);
    return rows;
  }
  Value warp = f.groupOfWarp(1);
  rows.first = f.create<arith::MulIOp>(warp, f.constantI32(rows.count));
  if (numRows < f.numWarps)
    rows.hasAny = f.create<arith::CmpIOp>(arith::CmpIPredicate::ult, warp, f.constantI32(numRows));
  return rows;
}

/// Emits how many rows, or columns, the array has from a corner on.
static Value leftOf(SimtFunction &f, Value extent, Value corner) {
  return f.create<arith::MaxSIOp>(f.create<arith::SubIOp>(extent, corner), f.constantI32(0));
}

LogicalResult SimtFunction::lowerArrayCopy(ArrayCopyOp op) {
  FailureOr<SharedStart> start = sharedStartOf(*this, op.getBuffer(), op);
  if (failed(start))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  SharedPadding padding = buffer.getPadding();
  int64_t bytes = bytesInShared(buffer.getElementType());
  int64_t columns = buffer.getShape()[op.getDim()];
  WarpRows rows = rowsOfWarp(*this, buffer.getShape()[1 - op.getDim()]);
  Value x = scalarOf(op.getX()), y = scalarOf(op.getY()), pitch = scalarOf(op.getPitch());
  Type wide = builder.getI64Type();
  auto bytesOf = [&](Value elements) {
    return create<arith::MulIOp>(elements, constantOf(wide, bytes)).getResult();
  };
  Value bytesOfRow = bytesOf(pitch), ptr = scalarOf(op.getBase());
  auto moveBy = [&](Value offset) {
    ptr = create<LLVM::GEPOp>(ptr.getType(), builder.getI8Type(), ptr, ValueRange{offset});
  };
  auto bytesOfRows = [&](Value number) { // which is not below 0
    return create<arith::MulIOp>(create<arith::ExtUIOp>(wide, number), bytesOfRow).getResult();
  };
  // What loops change comes last.
  moveBy(bytesOfRows(rows.first));
  Value ofColumn = bytesOf(create<arith::ExtUIOp>(wide, x));
  moveBy(create<arith::AddIOp>(bytesOfRows(y), ofColumn));
  Value height = create<arith::SubIOp>(scalarOf(op.getHeight()), rows.first);
  Value place = create<arith::MulIOp>(
      rows.first, constantI32(int64_t(padding.apply(uint64_t(columns * bytes)))));
  Value widthLeft = leftOf(*this, scalarOf(op.getWidth()), x);
  Value heightLeft = leftOf(*this, height, y);
  create<CopyArrayOp>(ptr, sharedAddressIn(*this, *start, place), widthLeft, heightLeft, pitch,
                      both(op.getExists() ? scalarOf(op.getExists()) : Value(), rows.hasAny),
                      columns, rows.count, bytes, padding.bytes, padding.interval);
  return success();
}
