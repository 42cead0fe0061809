// The pass `lower-simd`: walks a kernel in order and lowers each root to loops over vectors.
#include "ir/Diagnostic.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Passes.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/SimdFunction.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tw {
#define GEN_PASS_DEF_LOWERSIMD
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

static constexpr uint64_t kBufferAlignment = 64;

SimdFunction::SimdFunction(func::FuncOp source)
    : source(source), machine(simdMachineOf(source)), builder(source.getContext()),
      loc(source.getLoc()), facts(source), plan(source, facts) {}

TileBuffer SimdFunction::allocate(ArrayRef<int64_t> shape, Type element, Operation *lastReader) {
  uint64_t bytes = elementBytes(element);
  for (int64_t extent : shape)
    bytes *= extent;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(scratch);
  Type i8 = builder.getI8Type();
  BufferPlace place = bufferPlaces.take(bytes, [&](uint64_t size) -> Value {
    return LLVM::AllocaOp::create(builder, loc, scratch.getType(), i8, constantIndex(size),
                                  kBufferAlignment);
  });
  owned.push_back({place, lastReader});
  Value base = place.onStack;
  if (!base)
    base = LLVM::GEPOp::create(builder, loc, scratch.getType(), i8, scratch,
                               ValueRange{constantIndex(place.scratchOffset)});
  return {base, SmallVector<int64_t>(shape), element};
}

TileBuffer SimdFunction::allocate(ArrayRef<int64_t> shape, Type element) {
  return allocate(shape, element, current);
}

TileBuffer SimdFunction::allocate(Value tile) {
  Operation *last = current;
  for (Operation *site : plan.sitesOf(tile)) {
    Operation *reader = current->getBlock()->findAncestorOpInBlock(*site);
    if (reader && last->isBeforeInBlock(reader))
      last = reader;
  }
  return allocate(shapeOf(tile.getType()), elementTypeOf(tile.getType()), last);
}

static void freeBuffersReadUpTo(Operation *op, SimdFunction &f) {
  llvm::erase_if(f.owned, [&](const BufferInUse &buffer) {
    if (buffer.lastReader != op)
      return false;
    f.bufferPlaces.free(buffer.place);
    return true;
  });
}

void SimdFunction::keep(Value tile, const TileBuffer &buffer) {
  ArrayRef<int64_t> shape = shapeOf(tile.getType());
  auto [vectorDim, lanes] = chooseVector({tile}, shape);
  auto emit = [&, vectorDim = vectorDim, lanes = lanes] {
    auto store = [&](const Coordinates &at, Value value) { storeBuffer(buffer, at, value); };
    if (emitTransposed(tile, {}, vectorDim, int(shape.size()) - 1, lanes, store))
      return;
    auto keepVector = [&](const Coordinates &at) { storeBuffer(buffer, at, evaluate(tile, at)); };
    emitOuterLoops(shape, vectorDim, [&](const Coordinates &outer) {
      emitVectorLoop(shape[vectorDim], outer, vectorDim, lanes, keepVector,
                     /*splitsAtKnownMasks=*/true);
    });
  };
  withFullMasks({tile}, emit, /*rowStep=*/shape.size() == 1 ? lanes : 0);
}

LogicalResult SimdFunction::lowerJoin(JoinOp op) {
  TileBuffer buffer = allocate(op.getResult());
  ArrayRef<int64_t> shape = shapeOf(op.getLhs().getType());
  auto [vectorDim, lanes] = chooseVector({op.getLhs(), op.getRhs()}, shape);
  emitNest(shape, vectorDim, lanes, [&](const Coordinates &at) {
    Coordinates pair = at;
    for (auto [side, operand] : llvm::enumerate(op.getOperands())) {
      pair.index.resize(shape.size());
      Value value = evaluate(operand, at);
      pair.index.push_back(constantIndex(side));
      storeBuffer(buffer, pair, value);
    }
  });
  buffers[op.getResult()] = buffer;
  return success();
}

LogicalResult SimdFunction::lowerOperation(Operation *op) {
  loc = op->getLoc();
  if (source->hasAttr(kChecksAccesses))
    checkAccess(op);
  if (isAtomic(op))
    return lowerAtomic(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](StoreOp store) { return stored.contains(store) ? success() : lowerStore(store); })
      .Case([&](ReduceOp reduce) { return lowerReduce(reduce); })
      .Case([&](ScanOp scan) { return lowerScan(scan); })
      .Case([&](HistogramOp histogram) { return lowerHistogram(histogram); })
      .Case([&](DotOp dot) { return lowerDot(dot); })
      .Case([&](JoinOp join) { return lowerJoin(join); })
      .Case([&](PrintOp print) { return lowerPrint(print); })
      .Case([&](AssertOp check) { return lowerAssert(check); })
      .Case([&](MachineOp machine) { return lowerMachine(machine); })
      .Case<AssumeOp, BarrierOp, OrderLaunchesOp>([](Operation *) { return success(); })
      .Case([&](func::ReturnOp) {
        releaseMatrixRegisters(*this);
        LLVM::ReturnOp::create(builder, loc, ValueRange());
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        auto constant = dyn_cast<arith::ConstantOp>(other);
        if (constant && isTile(constant) && !isa<SplatElementsAttr>(constant.getValue()))
          return emitCoded(other, Code::UnsupportedOperation)
                 << "a tile constant must have one value in all elements";
        for (OpResult result : other->getResults()) {
          if (!isTile(result)) {
            scalars[result] = evaluateOperation(result, Coordinates());
          } else if (plan.isKept(result)) {
            TileBuffer buffer = destinationOf(result);
            keep(result, buffer);
            buffers[result] = buffer;
          }
        }
        return success();
      });
}

LogicalResult SimdFunction::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<scf::YieldOp, scf::ConditionOp>(op))
      return success(); // the enclosing operation's lowering writes what they carry
    // A root's intermediate values are not worth remembering beyond it; buffers may change between
    // roots.
    memo.clear();
    llvm::SaveAndRestore lowering(current, &op);
    if (failed(lowerOperation(&op)))
      return failure();
    freeBuffersReadUpTo(&op, *this);
  }
  return success();
}

LogicalResult SimdFunction::lower() {
  MLIRContext *context = source.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer});
  builder.setInsertionPoint(source);
  auto lowered = LLVM::LLVMFuncOp::create(builder, loc, source.getName(), type);
  function = lowered;
  Block *entry = lowered.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  programArgument = entry->getArgument(1);
  Value scratchAddress =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), programArgument,
                          ArrayRef<LLVM::GEPArg>{int32_t(offsetof(TwProgram, scratch))});
  scratch = LLVM::LoadOp::create(builder, loc, pointer, scratchAddress);
  for (BlockArgument argument : source.getArguments()) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(), entry->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{int32_t(argument.getArgNumber())});
    scalars[argument] = LLVM::LoadOp::create(builder, loc, this->lowered(argument.getType()), slot);
  }
  configureMatrixRegisters(*this);
  return lowerBlock(source.getBody().front());
}

/// These machines divide exactly; LLVM would take the permission to use a reciprocal.
static void forbidReciprocals(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto quotient = dyn_cast<arith::DivFOp>(op))
      quotient.setFastmath(arith::FastMathFlags::none);
    else if (auto product = dyn_cast<arith::MulFOp>(op)) // by an exact inverse
      product.setFastmath(arith::FastMathFlags::none);
  });
}

namespace {
struct LowerSimd : tw::impl::LowerSimdBase<LowerSimd> {
  using Base::Base;
  void runOnOperation() override {
    forbidReciprocals(getOperation());
    uint64_t scratchBytes = 0;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      sinkProducts(function);
      SimdFunction lowering(function);
      if (failed(lowering.lower()))
        return signalPassFailure();
      scratchBytes = std::max(scratchBytes, lowering.bufferPlaces.scratchBytes());
      function.erase();
    }
    getOperation()->setAttr("simd.scratch_bytes",
                            Builder(&getContext()).getI64IntegerAttr(scratchBytes));
  }
};
} // namespace
