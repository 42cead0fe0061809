// Gives products of several warps their operands in shared memory, for stage-through-shared.
#include "ir/target/TargetDesc.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/product/AsyncOperands.h"
#include "passes/simt/shared/Staging.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::AsyncMmaAttr;

namespace {
/// A buffer with an operand in slabs, which may be transposed there.
struct OperandBuffer {
  Value buffer;
  bool isTransposed = false;
};

/// Stages the products of one function.
struct ProductStaging {
  ProductStaging(Staging &staging, FunctionOpInterface function)
      : staging(staging), facts(function) {}

  void run(MmaOp op);
  std::optional<OperandBuffer> bufferOfLeft(MmaOp op);
  OperandBuffer placeOperand(OperandSource source, MmaOp op, bool isA);
  bool startCopy(tile::LoadOp load, Value buffer, Operation *use);

  Staging &staging;
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

/// The buffer that a copy or an earlier store has left the operand in, if it can be read there.
static std::optional<OperandBuffer> bufferWith(OperandSource source, AsyncMmaAttr instruction,
                                               bool isA) {
  auto load = source.tile.getDefiningOp<LoadSharedOp>();
  if (!load || !isReadIn(load.getBuffer(), source, instruction, isA))
    return std::nullopt;
  return OperandBuffer{load.getBuffer(), source.isTransposed};
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

/// Places an operand in slabs: once for all products, before the loops that do not change it.
OperandBuffer ProductStaging::placeOperand(OperandSource source, MmaOp op, bool isA) {
  auto known = placed.find(source.tile);
  if (known != placed.end() && isReadIn(known->second, source, *op.getAsync(), isA))
    return {known->second, source.isTransposed};
  Operation *place = op;
  Region *made = source.tile.getParentRegion();
  while (place->getParentRegion() != made)
    place = place->getParentOp();
  unsigned dim = dimOfRegisters(layoutOf(source.tile.getType()));
  if (!takesRowsAlong(*op.getAsync(), isA, source.dimOf(dim)))
    dim = 1 - dim;
  std::optional<OperandSlabs> slabs = slabsFor(*op.getAsync(), source.tile.getType(), dim);
  LinearLayout layout = bufferOf(*slabs, tile::shapeOf(source.tile.getType()));
  auto load = source.tile.getDefiningOp<tile::LoadOp>();
  OpBuilder::InsertionGuard guard(staging.builder);
  staging.builder.setInsertionPoint(load ? load : place);
  Value buffer =
      staging.allocate(tile::elementTypeOf(source.tile.getType()), layout,
                       bufferName(staging.loc, isA ? "operand A of dot" : "operand B of dot"));
  if (!load || !startCopy(load, buffer, place)) {
    staging.builder.setInsertionPoint(place);
    StoreSharedOp::create(staging.builder, staging.loc, source.tile, buffer);
  }
  placed[source.tile] = buffer;
  return {buffer, source.isTransposed};
}

/// The left operand in shared memory, where it is loaded or the loops around the product do not
/// change it. Else it stays in registers.
std::optional<OperandBuffer> ProductStaging::bufferOfLeft(MmaOp op) {
  OperandSource source = sourceOf(op.getA());
  if (std::optional<OperandBuffer> buffer = bufferWith(source, *op.getAsync(), /*isA=*/true))
    return buffer;
  bool isOutside = source.tile.getParentRegion() != op->getParentRegion();
  if (!isOutside && !source.tile.getDefiningOp<tile::LoadOp>())
    return std::nullopt;
  return placeOperand(source, op, /*isA=*/true);
}

void ProductStaging::run(MmaOp op) {
  staging.builder.setInsertionPoint(op);
  staging.loc = op.getLoc();
  OperandSource right = sourceOf(op.getB());
  std::optional<OperandBuffer> b = bufferWith(right, *op.getAsync(), /*isA=*/false);
  if (!b)
    b = placeOperand(right, op, /*isA=*/false);
  std::optional<OperandBuffer> a = bufferOfLeft(op);
  Value result = MmaAsyncOp::create(staging.builder, op.getLoc(), op.getType(),
                                    a ? a->buffer : op.getA(), b->buffer, op.getAcc(),
                                    *op.getAsync(), a && a->isTransposed, b->isTransposed);
  op.replaceAllUsesWith(result);
  SmallVector<Value> operands = {op.getA(), op.getB()};
  op.erase();
  while (!operands.empty()) {
    Operation *unused = operands.pop_back_val().getDefiningOp();
    if (!unused || !unused->use_empty() ||
        !isa<ConvertLayoutOp, tile::TransOp, LoadSharedOp, tile::LoadOp>(unused))
      continue;
    if (!isa<LoadSharedOp, tile::LoadOp>(unused))
      operands.push_back(unused->getOperand(0));
    unused->erase();
  }
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
