// The pass `grow-extents`: tiles whose extents are not powers of two become parts of tiles whose
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
#include "passes/simt/extents/GrownTiles.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_GROWEXTENTS
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
    if (!type || !grows(type.getShape()))
      return;
    ofGrown[value] = type;
    value.setType(RankedTensorType::get(grownShape(type.getShape()), type.getElementType()));
  });
}

void Extents::replace(Operation *op, ValueRange values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    auto found = ofGrown.find(result);
    if (found == ofGrown.end())
      continue;
    RankedTensorType type = found->second;
    ofGrown.erase(found); // another value may come to lie where this one was
    ofGrown[value] = type;
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

/// Refuses tiles that only their spares make too large.
static LogicalResult checkSizes(FunctionOpInterface function) {
  WalkResult result = function->walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      ArrayRef<int64_t> extents = shapeOf(type);
      SmallVector<int64_t> grown = grownShape(extents);
      int64_t count = llvm::product_of(grown);
      if (count <= kMaxElements || !grows(extents))
        continue;
      InFlightDiagnostic error = emitCoded(placeOf(op), Code::TileExceedsMachine)
                                 << "a tile of " << describe(extents)
                                 << " elements is too large for this target: "
                                 << "it takes " << describe(grown) << ", which are " << count;
      error.attachNote() << "each extent takes the next power of two, and the largest tile is of "
                         << kMaxElements << " elements; loop over smaller tiles";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===-- Operations ---------------------------------------------------------------------------===//

/// Integers behind the last one of 32 bits wrap around: they are spares.
static void growArange(ArangeOp op, Extents &extents) {
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

static LogicalResult growConstant(arith::ConstantOp op) {
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

static void growReshape(ReshapeOp op, Extents &extents) {
  ArrayRef<int64_t> from = extents.of(op.getSource()), to = extents.of(op);
  if (reshapesGrown(from, to))
    return;
  OpBuilder builder(op);
  extents.replace(op, moveElements(builder, op.getLoc(), op.getSource(), from, to));
}

/// A gather of an element that is not there stays one: it is refused when it happens, as the
/// grown source may have it.
static Value withoutSparesOfSource(OpBuilder &builder, Location loc, Value indices,
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
  return fillSpares(builder, indices, isThere, builder.getIntegerAttr(type, -1));
}

static void growGather(GatherOp op, const Extents &extents, bool isWithin) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t extent = extents.of(op.getSource())[op.getAxis()];
  Value indices = op.getIndices();
  Type type = elementTypeOf(indices.getType());
  if (isWithin) {
    // Real indices stay, and spares become indices inside of the source.
    Value last = uniformTile(builder, loc, builder.getIntegerAttr(type, extent - 1),
                             shapeOf(indices.getType()));
    indices = arith::MinUIOp::create(builder, loc, indices, last);
  } else {
    if (!llvm::isPowerOf2_64(extent))
      indices = withoutSparesOfSource(builder, loc, indices, extent);
    type = elementTypeOf(indices.getType());
    indices = fillSpares(builder, indices, realElements(builder, loc, extents.of(op)),
                         builder.getIntegerAttr(type, 0));
  }
  op.getIndicesMutable().assign(indices);
}

/// Returns true if the padding holds 0: the padding of loads does, and that of tiles computed from
/// each element alone.
static bool haveSparesZero(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return !load.getOther() || matchPattern(load.getOther(), m_Zero()) ||
           matchPattern(load.getOther(), m_AnyZeroFloat());
  if (isa_and_nonnull<TransOp, HintOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
                      arith::BitcastOp>(op))
    return haveSparesZero(op->getOperand(0));
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_AnyZeroFloat());
}

/// Along K spares of both operands are 0, so that their products are. Others make spares of the
/// result.
static void growDot(DotOp op, const Extents &extents) {
  OpBuilder builder(op);
  unsigned rank = op.getType().getRank();
  for (auto [operand, axis] :
       {std::pair(&op.getAMutable(), rank - 1), std::pair(&op.getBMutable(), rank - 2)}) {
    Value tile = operand->get();
    Value real = realElements(builder, op.getLoc(), extents.of(tile), axis);
    if (!real || haveSparesZero(tile))
      continue;
    TypedAttr zero = cast<TypedAttr>(builder.getZeroAttr(elementTypeOf(tile.getType())));
    operand->assign(fillSpares(builder, tile, real, zero));
  }
}

/// Text that may access memory runs for copies of real elements in place of the spares.
static void growAssembly(InlineAsmOp op, const Extents &extents) {
  if (op.getIsPure())
    return;
  OpBuilder builder(op);
  for (OpOperand &source : op->getOpOperands())
    if (ArrayRef<int64_t> own = extents.of(source.get()); grows(own))
      source.set(moveElements(builder, op.getLoc(), source.get(), own, own));
}

/// Each value has extents of its own to be printed.
static void growPrint(PrintOp op, const Extents &extents) {
  OpBuilder builder(op);
  for (auto [operand, value] : llvm::enumerate(op.getValues())) {
    auto own = extents.isGrown(value) ? builder.getDenseI64ArrayAttr(extents.of(value))
                                      : op.getExtentsAttr();
    PrintOp::create(builder, op.getLoc(), op.prefixOf(operand), op.getHex(),
                    op.getIsSigned()[operand], value, own);
  }
  op.erase();
}

//===-- A function ---------------------------------------------------------------------------===//

namespace {
class Grower {
public:
  explicit Grower(FunctionOpInterface function) : function(function) {}

  /// Returns true if there was anything to pad.
  FailureOr<bool> grow();

private:
  void collect();
  void report();
  LogicalResult growOperation(Operation *op, Extents &extents);

  FunctionOpInterface function;
  SmallVector<Operation *> operations;
  SmallVector<ReduceOp> reductions;
  DenseSet<Operation *> gathersWithin; // those whose indices are known to be inside
};
} // namespace

void Grower::collect() {
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
void Grower::report() {
  SmallVector<ArrayRef<int64_t>> reported;
  for (Operation *op : operations) {
    if (!isa<MemoryAccess, DotOp>(op))
      continue;
    ArrayRef<int64_t> extents = shapeOf(op->getOperand(0).getType());
    if (!grows(extents) || llvm::is_contained(reported, extents))
      continue;
    reported.push_back(extents);
    emitCodedRemark(op, Code::GrownTile)
        << "a tile of " << describe(extents) << " elements takes the room of "
        << describe(grownShape(extents));
  }
}

LogicalResult Grower::growOperation(Operation *op, Extents &extents) {
  LogicalResult result = success();
  auto isGrown = [&](Value value) { return extents.isGrown(value); };
  if (llvm::none_of(op->getResults(), isGrown) && llvm::none_of(op->getOperands(), isGrown))
    return success();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ArangeOp arange) { growArange(arange, extents); })
      .Case([&](arith::ConstantOp constant) { result = growConstant(constant); })
      .Case([&](MemoryAccess access) {
        narrowMask(access, access.getMaskOperand(), extents.of(access.getPointers()));
      })
      .Case([&](ReshapeOp reshape) { growReshape(reshape, extents); })
      .Case([&](GatherOp gather) { growGather(gather, extents, gathersWithin.contains(gather)); })
      .Case([&](ReduceOp reduce) { growReduce(reduce, extents); })
      .Case([&](ScanOp scan) { growScan(scan, extents); })
      .Case([&](DotOp dot) { growDot(dot, extents); })
      .Case([&](InlineAsmOp assembly) { growAssembly(assembly, extents); })
      .Case([&](PrintOp print) { growPrint(print, extents); })
      .Case([&](AssertOp assertion) {
        narrowMask(assertion, assertion.getMaskMutable(), extents.of(assertion.getCondition()));
      });
  return result;
}

FailureOr<bool> Grower::grow() {
  if (failed(checkSizes(function)))
    return failure();
  collect();
  report();
  Extents extents(function);
  if (extents.isEmpty())
    return false;
  // Reductions first: they may read what a reshape would have moved.
  for (ReduceOp reduce : reductions)
    if (failed(growOperation(reduce, extents)))
      return failure();
  for (Operation *op : operations)
    if (failed(growOperation(op, extents)))
      return failure();
  if (auto kernel = dyn_cast<func::FuncOp>(function.getOperation()))
    kernel.setType(FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(),
                                     kernel.getBody().back().getTerminator()->getOperandTypes()));
  return true;
}

namespace {
struct GrowExtents : tw::impl::GrowExtentsBase<GrowExtents> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FailureOr<bool> grown = Grower(function).grow();
      if (failed(grown))
        return signalPassFailure();
      isChanged |= *grown;
    }
    if (!isChanged)
      return;
    // Masks of spares come twice and more, inside of loops too, and join masks of the kernel's.
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
