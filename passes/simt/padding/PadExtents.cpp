// The pass `pad-extents`: tiles whose extents are not powers of two become parts of tiles whose
// extents are, which is all that layouts know.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/analysis/IndexFacts.h"
#include "passes/analysis/SourcePlace.h"
#include "passes/simt/padding/PaddedTiles.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_PADEXTENTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

//===-- Types --------------------------------------------------------------------------------===//

static void forEachValue(FunctionOpInterface function, function_ref<void(Value)> visit) {
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      visit(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          visit(argument);
  });
}

Extents::Extents(FunctionOpInterface function) {
  forEachValue(function, [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !needsPadding(type.getShape()))
      return;
    ofPadded[value] = type;
    value.setType(RankedTensorType::get(paddedShape(type.getShape()), type.getElementType()));
  });
}

void Extents::replace(Operation *op, ValueRange values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    auto found = ofPadded.find(result);
    if (found == ofPadded.end())
      continue;
    RankedTensorType type = found->second;
    ofPadded.erase(found); // another value may come to lie where this one was
    ofPadded[value] = type;
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

static std::string describe(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(shape, stream, " x ");
  return text;
}

/// Refuses tiles that only their padding makes too large.
static LogicalResult checkSizes(FunctionOpInterface function) {
  WalkResult result = function->walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      ArrayRef<int64_t> extents = shapeOf(type);
      SmallVector<int64_t> padded = paddedShape(extents);
      int64_t count = llvm::product_of(padded);
      if (count <= kMaxElements || !needsPadding(extents))
        continue;
      InFlightDiagnostic error = emitCoded(placeOf(op), Code::TileExceedsMachine)
                                 << "a tile of " << describe(extents)
                                 << " elements is too large for this target: "
                                 << "it takes " << describe(padded) << ", which are " << count;
      error.attachNote() << "each extent takes the next power of two, and the largest tile is of "
                         << kMaxElements << " elements; loop over smaller tiles";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===-- Operations ---------------------------------------------------------------------------===//

/// Integers behind the last one of 32 bits wrap around: they are padding.
static void padArange(ArangeOp op, Extents &extents) {
  int64_t start = int32_t(op.getStart()), count = op.getType().getDimSize(0);
  if (start + count <= INT32_MAX) {
    op.setEnd(int32_t(start + count));
    return;
  }
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value first = uniformTile(builder, loc, builder.getI32IntegerAttr(int32_t(start)), {count});
  Value steps = ArangeOp::create(builder, loc, op.getType(), 0, int32_t(count));
  extents.replace(op, arith::AddIOp::create(builder, loc, steps, first).getResult());
}

static LogicalResult padConstant(arith::ConstantOp op) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return emitCoded(op, Code::UnsupportedOperation)
           << "a tile constant must have one value in all elements";
  op.setValueAttr(splat.resizeSplat(cast<ShapedType>(op.getType())));
  return success();
}

static void narrowMask(Operation *op, MutableOperandRange mask, ArrayRef<int64_t> extents) {
  OpBuilder builder(op);
  Value real = realElements(builder, op->getLoc(), extents);
  Value before = mask.empty() ? Value() : mask[0].get();
  mask.assign(both(builder, op->getLoc(), before, real));
}

static void padReshape(ReshapeOp op, Extents &extents) {
  ArrayRef<int64_t> from = extents.of(op.getSource()), to = extents.of(op);
  if (reshapesPadded(from, to))
    return;
  OpBuilder builder(op);
  extents.replace(op, moveElements(builder, op.getLoc(), op.getSource(), from, to));
}

/// A gather of an element that is not there stays one: it is refused when it happens, as the
/// padded source may have it.
static Value withoutPaddingOfSource(OpBuilder &builder, Location loc, Value indices,
                                    int64_t extent) {
  Type type = elementTypeOf(indices.getType());
  if (type.getIntOrFloatBitWidth() < 32) {
    type = builder.getI32Type();
    indices =
        arith::ExtSIOp::create(builder, loc, withElementType(indices.getType(), type), indices);
  }
  ArrayRef<int64_t> shape = shapeOf(indices.getType());
  Value limit = uniformTile(builder, loc, builder.getIntegerAttr(type, extent), shape);
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices, limit);
  return fillPadding(builder, indices, isThere, builder.getIntegerAttr(type, -1));
}

static void padGather(GatherOp op, const Extents &extents, bool isWithin) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t extent = extents.of(op.getSource())[op.getAxis()];
  Value indices = op.getIndices();
  Type type = elementTypeOf(indices.getType());
  if (isWithin) {
    // Real indices stay, and the padding becomes indices inside of the source.
    Value last = uniformTile(builder, loc, builder.getIntegerAttr(type, extent - 1),
                             shapeOf(indices.getType()));
    indices = arith::MinUIOp::create(builder, loc, indices, last);
  } else {
    if (!llvm::isPowerOf2_64(extent))
      indices = withoutPaddingOfSource(builder, loc, indices, extent);
    type = elementTypeOf(indices.getType());
    indices = fillPadding(builder, indices, realElements(builder, loc, extents.of(op)),
                          builder.getIntegerAttr(type, 0));
  }
  op.getIndicesMutable().assign(indices);
}

/// Returns true if the padding holds 0: the padding of loads does, and that of tiles computed from
/// each element alone.
static bool havePaddingZero(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return !load.getOther() || matchPattern(load.getOther(), m_Zero()) ||
           matchPattern(load.getOther(), m_AnyZeroFloat());
  if (isa_and_nonnull<TransOp, HintOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
                      arith::BitcastOp>(op))
    return havePaddingZero(op->getOperand(0));
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_AnyZeroFloat());
}

/// Along K the padding of both operands is 0, so that its products are. Other padding makes padding
/// of the result.
static void padDot(DotOp op, const Extents &extents) {
  OpBuilder builder(op);
  unsigned rank = op.getType().getRank();
  for (auto [operand, axis] :
       {std::pair(&op.getAMutable(), rank - 1), std::pair(&op.getBMutable(), rank - 2)}) {
    Value tile = operand->get();
    Value real = realElements(builder, op.getLoc(), extents.of(tile), axis);
    if (!real || havePaddingZero(tile))
      continue;
    TypedAttr zero = cast<TypedAttr>(builder.getZeroAttr(elementTypeOf(tile.getType())));
    operand->assign(fillPadding(builder, tile, real, zero));
  }
}

/// Text that may access memory runs for copies of real elements in place of the padding.
static void padAssembly(tile::InlineAsmOp op, const Extents &extents) {
  if (op.getIsPure())
    return;
  OpBuilder builder(op);
  for (OpOperand &source : op->getOpOperands())
    if (ArrayRef<int64_t> own = extents.of(source.get()); needsPadding(own))
      source.set(moveElements(builder, op.getLoc(), source.get(), own, own));
}

/// Each value has extents of its own to be printed.
static void padPrint(tile::PrintOp op, const Extents &extents) {
  OpBuilder builder(op);
  for (auto [operand, value] : llvm::enumerate(op.getValues())) {
    auto own = extents.isPadded(value) ? builder.getDenseI64ArrayAttr(extents.of(value))
                                       : op.getExtentsAttr();
    tile::PrintOp::create(builder, op.getLoc(), op.prefixOf(operand), op.getHex(),
                          op.getIsSigned()[operand], value, own);
  }
  op.erase();
}

//===-- A function ---------------------------------------------------------------------------===//

namespace {
class Padder {
public:
  explicit Padder(FunctionOpInterface function) : function(function) {}

  /// Returns true if there was anything to pad.
  FailureOr<bool> pad();

private:
  void collect();
  void report();
  LogicalResult padOperation(Operation *op, Extents &extents);

  FunctionOpInterface function;
  SmallVector<Operation *> operations;
  SmallVector<ReduceOp> reductions;
  DenseSet<Operation *> gathersWithin; // those whose indices are known to be inside
};
} // namespace

void Padder::collect() {
  IndexFacts facts(function);
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      reductions.push_back(reduce);
    else
      operations.push_back(op);
    if (auto gather = dyn_cast<GatherOp>(op)) {
      int64_t extent = shapeOf(gather.getSource().getType())[gather.getAxis()];
      if (facts.isWithin(gather.getIndices(), extent))
        gathersWithin.insert(op);
    }
  });
}

/// A remark for each shape of accesses and products, where it comes up first.
void Padder::report() {
  SmallVector<ArrayRef<int64_t>> reported;
  for (Operation *op : operations) {
    if (!isa<MemoryAccess, DotOp>(op))
      continue;
    ArrayRef<int64_t> extents = shapeOf(op->getOperand(0).getType());
    if (!needsPadding(extents) || llvm::is_contained(reported, extents))
      continue;
    reported.push_back(extents);
    emitCodedRemark(op, Code::PaddedTile)
        << "a tile of " << describe(extents) << " elements takes the room of "
        << describe(paddedShape(extents));
  }
}

LogicalResult Padder::padOperation(Operation *op, Extents &extents) {
  LogicalResult result = success();
  auto isPadded = [&](Value value) { return extents.isPadded(value); };
  if (llvm::none_of(op->getResults(), isPadded) && llvm::none_of(op->getOperands(), isPadded))
    return success();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ArangeOp arange) { padArange(arange, extents); })
      .Case([&](arith::ConstantOp constant) { result = padConstant(constant); })
      .Case([&](MemoryAccess access) {
        narrowMask(access, access.getMaskOperand(), extents.of(access.getPointers()));
      })
      .Case([&](ReshapeOp reshape) { padReshape(reshape, extents); })
      .Case([&](GatherOp gather) { padGather(gather, extents, gathersWithin.contains(gather)); })
      .Case([&](ReduceOp reduce) { padReduce(reduce, extents); })
      .Case([&](ScanOp scan) { padScan(scan, extents); })
      .Case([&](DotOp dot) { padDot(dot, extents); })
      .Case([&](tile::InlineAsmOp assembly) { padAssembly(assembly, extents); })
      .Case([&](tile::PrintOp print) { padPrint(print, extents); })
      .Case([&](tile::AssertOp assertion) {
        narrowMask(assertion, assertion.getMaskMutable(), extents.of(assertion.getCondition()));
      });
  return result;
}

FailureOr<bool> Padder::pad() {
  if (failed(checkSizes(function)))
    return failure();
  collect();
  report();
  Extents extents(function);
  if (extents.isEmpty())
    return false;
  // Reductions first: they may read what a reshape would have moved.
  for (ReduceOp reduce : reductions)
    if (failed(padOperation(reduce, extents)))
      return failure();
  for (Operation *op : operations)
    if (failed(padOperation(op, extents)))
      return failure();
  if (auto kernel = dyn_cast<func::FuncOp>(function.getOperation()))
    kernel.setType(FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(),
                                     kernel.getBody().back().getTerminator()->getOperandTypes()));
  return true;
}

namespace {
struct PadExtents : tw::impl::PadExtentsBase<PadExtents> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<bool> padded = Padder(function).pad();
      if (failed(padded))
        return signalPassFailure();
      isChanged |= *padded;
    }
    if (!isChanged)
      return;
    // Masks of padding come twice and more, inside of loops too, and join masks of the
    // kernel's.
    OpPassManager cleaning(ModuleOp::getOperationName());
    cleaning.addPass(createCombineOps());
    cleaning.addPass(createLoopInvariantCodeMotionPass());
    cleaning.addPass(createCanonicalizerPass());
    cleaning.addPass(createCSEPass());
    if (failed(runPipeline(cleaning, getOperation())))
      signalPassFailure();
  }
};
} // namespace
