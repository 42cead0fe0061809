// The pass `expand-histograms`: every element is compared with every bin.
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_EXPANDHISTOGRAMS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::tile;

/// A tile of one dimension, repeated along the other one of [elements, bins].
static Value spread(OpBuilder &builder, Location loc, Value tile, int newAxis,
                    ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> column(type.getShape());
  column.insert(column.begin() + newAxis, 1);
  Value expanded = ExpandDimsOp::create(
      builder, loc, RankedTensorType::get(column, type.getElementType()), tile, newAxis);
  return BroadcastOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()),
                             expanded);
}

static Value sumOverElements(OpBuilder &builder, Location loc, Value hits, Type type) {
  auto sum = ReduceOp::create(builder, loc, TypeRange(type), ValueRange(hits), /*axis=*/0,
                              /*commutative=*/true);
  Type i32 = builder.getI32Type();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&sum.getCombine(), {}, {i32, i32}, {loc, loc});
  Value both = arith::AddIOp::create(builder, loc, block->getArgument(0), block->getArgument(1));
  YieldOp::create(builder, loc, both);
  return sum.getResult(0);
}

static LogicalResult expand(HistogramOp op) {
  Type source = op.getSource().getType();
  int64_t numElements = shapeOf(source).front(), numBins = shapeOf(op.getType()).front();
  if (numElements * numBins > kMostTileElements) {
    InFlightDiagnostic error = emitCoded(op, Code::TileTooLarge)
                               << "a histogram of " << numElements << " elements in " << numBins
                               << " bins compares them in a tile of " << numElements * numBins
                               << " elements; at most " << kMostTileElements << " are possible";
    error.attachNote() << "count smaller tiles in a loop, and add their histograms";
    return error;
  }
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> shape = {numElements, numBins};
  Type i32 = builder.getI32Type();
  Value bins = ArangeOp::create(builder, loc, RankedTensorType::get({numBins}, i32), 0, numBins);
  if (elementTypeOf(source) != i32)
    bins = arith::ExtSIOp::create(builder, loc,
                                  RankedTensorType::get({numBins}, elementTypeOf(source)), bins);
  Value hits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     spread(builder, loc, op.getSource(), 1, shape),
                                     spread(builder, loc, bins, 0, shape));
  hits = arith::ExtUIOp::create(builder, loc, RankedTensorType::get(shape, i32), hits);
  op.replaceAllUsesWith(sumOverElements(builder, loc, hits, op.getType()));
  op.erase();
  return success();
}

namespace {
struct ExpandHistograms : tw::impl::ExpandHistogramsBase<ExpandHistograms> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](HistogramOp op) {
      return failed(expand(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
