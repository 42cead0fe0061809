// Gives products of several warps their operands in shared memory, for stage-through-shared.
#include "ir/target/TargetDesc.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/product/AsyncOperands.h"
#include "passes/simt/shared/Staging.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::AsyncMmaAttr;

namespace {
/// Stages the products of one function.
struct ProductStaging {
  ProductStaging(Staging &staging, FunctionOpInterface function)
      : staging(staging), function(function), facts(function) {}

  void run(MmaOp op);
  Value findBuffer(OperandSource source, AsyncMmaAttr instruction, bool isA);
  Value allocate(OperandSource source, MmaOp op, bool isA);
  void fill(OperandSource source, Operation *product, Value buffer);
  bool startCopy(tile::LoadOp load, Value buffer, Operation *use);

  Staging &staging;
  FunctionOpInterface function;
  IndexFacts facts;                    // of the function before
  llvm::DenseMap<Value, Value> placed; // buffers by tile
};
} // namespace

/// The dimension along which the first registers of a tile are neighbours.
static unsigned dimOfRegisters(const LinearLayout &layout) {
  ArrayRef<uint32_t> bases = layout.bases(Place::Register);
  return !bases.empty() && (bases.front() & layout.maskOf(0)) ? 0 : 1;
}

/// Returns true if the instruction can read the operand in a buffer as it lies there.
static bool isReadIn(Value buffer, OperandSource source, AsyncMmaAttr instruction, bool isA) {
  auto type = cast<SharedType>(buffer.getType());
  std::optional<OperandSlabs> slabs =
      slabsOf(type.getLayout().getValue(), tile::elementBytes(type.getElementType()),
              instruction.getSpanBytes());
  return slabs && takesRowsAlong(instruction, isA, source.dimOf(slabs->dim));
}

/// Returns the buffer that a copy ahead, or another product, has the operand in, if it can be read
/// there; null where there is none.
Value ProductStaging::findBuffer(OperandSource source, AsyncMmaAttr instruction, bool isA) {
  auto load = source.tile.getDefiningOp<LoadSharedOp>();
  Value buffer = load ? load.getBuffer() : placed.lookup(source.tile);
  return buffer && isReadIn(buffer, source, instruction, isA) ? buffer : Value();
}

/// Returns true if a tile is an operand of such products only.
static bool feedsAsyncOnly(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ConvertLayoutOp, tile::TransOp>(user))
      return feedsAsyncOnly(user->getResult(0));
    auto mma = dyn_cast<MmaOp>(user);
    return mma && mma.getAsync() && use.get() != mma.getAcc();
  });
}

/// Returns true if copies for later iterations are started beside an operation.
static bool isBesideRings(Operation *op) {
  return llvm::any_of(op->getBlock()->getOps<AsyncCopyOp>(), [&](AsyncCopyOp copy) {
    return isa<LoopLikeOpInterface>(op->getParentOp()) && copy.getBuffer().getDefiningOp<SlotOp>();
  });
}

/// Copies a loaded tile to the buffer beside the program, if nothing else needs it and the machine
/// can; `use` waits for it, and for all other copies.
bool ProductStaging::startCopy(tile::LoadOp load, Value buffer, Operation *use) {
  auto type = cast<SharedType>(buffer.getType());
  tile::TargetAttr target = targetOf(load);
  if (!feedsAsyncOnly(load) || isBesideRings(load) || load.getIsVolatile() ||
      !fillsWithZeros(load) || !target)
    return false;
  std::optional<VectorAccess> pieces =
      asyncPieces(facts, load.getPtr(), load.getMask(), type, target);
  if (!pieces)
    return false;
  OpBuilder builder(load);
  AsyncCopyOp::create(builder, load.getLoc(), load.getPtr(), buffer, load.getMask(), pieces->vector,
                      pieces->dim, load.getCache(), load.getEvict());
  AsyncCommitOp::create(builder, load.getLoc());
  auto before = dyn_cast_or_null<AsyncWaitOp>(use->getPrevNode());
  if (!before || before.getPending() != 0) {
    builder.setInsertionPoint(use);
    AsyncWaitOp::create(builder, load.getLoc(), /*pending=*/0);
  }
  return true;
}

/// The operation in the region of a tile that is, or is around, its product.
static Operation *placeOfUse(OperandSource source, Operation *product) {
  while (product->getParentRegion() != source.tile.getParentRegion())
    product = product->getParentOp();
  return product;
}

/// A buffer of slabs for an operand, where the tile is loaded or before the loops that do not
/// change it.
Value ProductStaging::allocate(OperandSource source, MmaOp op, bool isA) {
  Type type = source.tile.getType();
  unsigned dim = dimOfRegisters(layoutOf(type));
  if (!takesRowsAlong(*op.getAsync(), isA, source.dimOf(dim)))
    dim = 1 - dim;
  OpBuilder::InsertionGuard guard(staging.builder);
  Operation *load = source.tile.getDefiningOp<tile::LoadOp>();
  staging.builder.setInsertionPoint(load ? load : placeOfUse(source, op));
  return staging.allocate(tile::elementTypeOf(type),
                          bufferOf(*slabsFor(*op.getAsync(), type, dim), tile::shapeOf(type)),
                          bufferName(staging.loc, isA ? "operand A of dot" : "operand B of dot"));
}

/// Writes an operand to its buffer, once for this product and all behind it.
void ProductStaging::fill(OperandSource source, Operation *product, Value buffer) {
  placed[source.tile] = buffer;
  Operation *use = placeOfUse(source, product);
  auto load = source.tile.getDefiningOp<tile::LoadOp>();
  if (load && startCopy(load, buffer, use))
    return;
  OpBuilder builder(use);
  StoreSharedOp::create(builder, staging.loc, source.tile, buffer);
}

/// Returns true if a left operand need not be in registers: it is loaded, or the loops around the
/// product do not change it.
static bool mayLieInMemory(OperandSource left, MmaOp op) {
  return left.tile.getDefiningOp<tile::LoadOp>() ||
         left.tile.getParentRegion() != op->getParentRegion();
}

/// Erases what made operands, where nothing else needs it.
static void eraseUnused(SmallVector<Value> values) {
  while (!values.empty()) {
    Operation *unused = values.pop_back_val().getDefiningOp();
    if (!unused || !unused->use_empty() ||
        !isa<ConvertLayoutOp, tile::TransOp, LoadSharedOp, tile::LoadOp>(unused))
      continue;
    if (isa<ConvertLayoutOp, tile::TransOp>(unused))
      values.push_back(unused->getOperand(0));
    unused->erase();
  }
}

void ProductStaging::run(MmaOp op) {
  staging.builder.setInsertionPoint(op);
  staging.loc = op.getLoc();
  OperandSource left = sourceOf(op.getA()), right = sourceOf(op.getB());
  Value b = findBuffer(right, *op.getAsync(), /*isA=*/false);
  if (!b) {
    b = allocate(right, op, /*isA=*/false);
    fill(right, op, b);
  }
  Value a = findBuffer(left, *op.getAsync(), /*isA=*/true), added;
  if (!a && mayLieInMemory(left, op))
    a = added = allocate(left, op, /*isA=*/true);
  auto product = MmaAsyncOp::create(staging.builder, op.getLoc(), op.getType(), a ? a : op.getA(),
                                    b, op.getAcc(), *op.getAsync(), a && left.isTransposed,
                                    right.isTransposed, op.getPartialDepthAttr());
  tile::TargetAttr target = targetOf(op);
  if (added && target && packedBytes(findLiveBuffers(function)) > target.getSharedBytes()) {
    product.getAMutable().assign(op.getA());
    product.setTransposedA(false);
    added.getDefiningOp()->erase();
  } else if (added) {
    fill(left, product, added);
  }
  op.replaceAllUsesWith(product.getResult());
  SmallVector<Value> operands = {op.getA(), op.getB()};
  op.erase();
  eraseUnused(std::move(operands));
}

void tw::simt::stageAsyncProducts(Staging &staging, ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    SmallVector<MmaOp> products;
    function->walk([&](MmaOp op) {
      if (op.getAsync())
        products.push_back(op);
    });
    if (products.empty())
      continue;
    ProductStaging product(staging, function);
    for (MmaOp op : products)
      product.run(op);
  }
}
