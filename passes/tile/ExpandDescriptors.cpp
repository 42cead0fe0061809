// The pass `expand-descriptors`: accesses to boxes of strided arrays become accesses through
// pointers and masks, for machines that do not copy boxes by themselves.
#include "ir/tile/Box.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tw {
#define GEN_PASS_DEF_EXPANDDESCRIPTORS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::tile;

namespace {
/// Emits the pointers and the mask of one box, before the operation that accesses it.
class BoxAccess {
public:
  BoxAccess(Operation *op, const Box &box, const IndexFacts &facts);

  Value pointers();
  Value mask(); // null: everything is accessed
  /// Returns the type of what is accessed: the tile of the box, without some extents of 1.
  RankedTensorType type() const { return RankedTensorType::get(shape, box.type.getElementType()); }

private:
  Value wide(Value integer) {
    Type type = withElementType(integer.getType(), builder.getI64Type());
    return integer.getType() == type ? integer
                                     : builder.createOrFold<arith::ExtSIOp>(loc, type, integer);
  }
  Value splat(Value scalar, ArrayRef<int64_t> shape) {
    return SplatOp::create(builder, loc, RankedTensorType::get(shape, scalar.getType()), scalar);
  }
  /// 0, 1, ... along a dimension.
  Value steps(int64_t dim) {
    int64_t extent = box.type.getDimSize(dim);
    return ArangeOp::create(builder, loc, RankedTensorType::get({extent}, builder.getI32Type()), 0,
                            int32_t(extent));
  }
  bool isDropped(int64_t dim) const { return !llvm::is_contained(kept, dim); }
  Value alongDim(Value line, int64_t dim);
  Value inside(int64_t dim);

  OpBuilder builder;
  Location loc;
  const Box &box;
  const IndexFacts &facts;
  SmallVector<int64_t> kept;  // the dimensions of the box that the access has
  SmallVector<int64_t> shape; // of these
};
} // namespace

/// Returns true if the kernel knows the tile of a box only in another shape of fewer dimensions: a
/// matrix of a batch.
static bool isReshapedOnly(Operation *op, const Box &box) {
  auto isSmaller = [&](Type type) { return int64_t(shapeOf(type).size()) < box.type.getRank(); };
  if (!isa<DescriptorLoadOp>(op)) {
    auto store = dyn_cast<DescriptorStoreOp>(op);
    Value written = store ? store.getValue() : cast<DescriptorAtomicOp>(op).getValue();
    auto reshape = written.getDefiningOp<ReshapeOp>();
    return reshape && isSmaller(reshape.getSource().getType());
  }
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isa<ReshapeOp>(user) && isSmaller(user->getResult(0).getType());
  });
}

BoxAccess::BoxAccess(Operation *op, const Box &box, const IndexFacts &facts)
    : builder(op), loc(op->getLoc()), box(box), facts(facts) {
  bool mayDrop = isReshapedOnly(op, box);
  for (auto [dim, extent] : llvm::enumerate(box.type.getShape()))
    if (!mayDrop || extent != 1 || box.isListed(dim)) {
      kept.push_back(dim);
      shape.push_back(extent);
    }
  if (kept.empty()) {
    kept.push_back(0);
    shape.push_back(1);
  }
}

/// A 1-D tile along a dimension of the box, or a scalar of one that is dropped, the same for all
/// indices of the others.
Value BoxAccess::alongDim(Value line, int64_t dim) {
  if (isDropped(dim))
    return splat(line, shape);
  Type element = elementTypeOf(line.getType());
  for (auto [position, other] : llvm::enumerate(kept)) {
    if (other == dim)
      continue;
    SmallVector<int64_t> expanded(shapeOf(line.getType()));
    expanded.insert(expanded.begin() + position, 1);
    line = ExpandDimsOp::create(builder, loc, RankedTensorType::get(expanded, element), line,
                                int32_t(position));
  }
  return builder.createOrFold<BroadcastOp>(loc, RankedTensorType::get(shape, element), line);
}

/// The corner is a scalar sum; what follows from it is the same for every box of these strides, so
/// that a loop over boxes computes it once.
Value BoxAccess::pointers() {
  Value corner = box.base;
  for (int64_t dim = 0; dim < box.type.getRank(); ++dim)
    if (!box.isListed(dim))
      corner = AddPtrOp::create(
          builder, loc, corner,
          builder.createOrFold<arith::MulIOp>(loc, wide(box.offsets[dim]), wide(box.strides[dim])));
  Value pointers = splat(corner, shape);
  for (int64_t dim : kept) {
    Value line = box.isListed(dim) ? box.offsets[dim] : steps(dim);
    // Small numbers times 1 need no 64 bits; other strides are known at run time only.
    if (box.isListed(dim) || facts.of(box.strides[dim]).constant != 1)
      line = arith::MulIOp::create(builder, loc, wide(line),
                                   splat(wide(box.strides[dim]), shapeOf(line.getType())));
    pointers = AddPtrOp::create(builder, loc, pointers, alongDim(line, dim));
  }
  return pointers;
}

static Value behindWidening(Value integer) {
  auto widened = integer.getDefiningOp<arith::ExtSIOp>();
  return widened && elementTypeOf(widened.getIn().getType()).isInteger(32) ? widened.getIn()
                                                                           : integer;
}

/// An integer in 32 bits where they are enough.
static Value narrowed(OpBuilder &builder, Value integer) {
  integer = behindWidening(integer);
  APInt number;
  if (!integer.getType().isInteger(64) || !matchPattern(integer, m_ConstantInt(&number)) ||
      !number.isSignedIntN(32))
    return integer;
  return arith::ConstantOp::create(builder, integer.getLoc(),
                                   builder.getI32IntegerAttr(int32_t(number.getSExtValue())));
}

/// Returns true if an extent is certainly non-negative. This is never certain of a sum: if the
/// kernel's own arithmetic wraps around, there must be no access.
static bool isSize(Value extent, const IndexFacts &facts) {
  bool isGiven = isa<BlockArgument>(extent) || matchPattern(extent, m_Constant());
  return isGiven && facts.of(extent).isNonNegative;
}

/// Emits a test that an index is non-negative and below the extent: one unsigned comparison. In as
/// many bits as the offset and the extent have, the test is exact even if the sum wraps around,
/// since the sum is then at least 2^31.
Value BoxAccess::inside(int64_t dim) {
  bool isKnownSize = isSize(behindWidening(box.shape[dim]), facts);
  Value extent = narrowed(builder, box.shape[dim]), offset = narrowed(builder, box.offsets[dim]);
  bool isWide = !extent.getType().isInteger(32) || !elementTypeOf(offset.getType()).isInteger(32);
  if (isWide) {
    extent = wide(extent);
    offset = wide(offset);
  }
  if (!isKnownSize) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(extent.getType(), 0));
    extent = arith::MaxSIOp::create(builder, loc, extent, zero);
  }
  Value index = offset;
  if (isDropped(dim))
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index, extent);
  if (!box.isListed(dim)) {
    Value line = isWide ? wide(steps(dim)) : steps(dim);
    index = arith::AddIOp::create(builder, loc, splat(offset, shapeOf(line.getType())), line);
  }
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index,
                               splat(extent, shapeOf(index.getType())));
}

Value BoxAccess::mask() {
  Value mask;
  for (int32_t dim : box.checked) {
    Value along = alongDim(inside(dim), dim);
    mask = mask ? arith::AndIOp::create(builder, loc, mask, along).getResult() : along;
  }
  return mask;
}

static Value nanTile(OpBuilder &builder, Location loc, RankedTensorType type) {
  auto element = cast<FloatType>(type.getElementType());
  Attribute nan = FloatAttr::get(element, APFloat::getNaN(element.getFloatSemantics()));
  return arith::ConstantOp::create(builder, loc,
                                   SplatElementsAttr::get(type, ArrayRef<Attribute>{nan}));
}

static void expand(Operation *op, const Box &box, const IndexFacts &facts) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  BoxAccess access(op, box, facts);
  Value mask = access.mask(), pointers = access.pointers();
  auto reshaped = [&](Value tile, RankedTensorType type) -> Value {
    if (tile.getType() == type)
      return tile;
    return builder.createOrFold<ReshapeOp>(loc, type, tile, /*allow_reorder=*/false);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](DescriptorLoadOp load) {
        Value other = mask && load.getNanOutside() ? nanTile(builder, loc, access.type()) : Value();
        auto plain = LoadOp::create(builder, loc, access.type(), pointers, mask, other,
                                    load.getCache(), load.getEvict(), load.getIsVolatile());
        load.replaceAllUsesWith(reshaped(plain.getResult(), box.type));
      })
      .Case([&](DescriptorStoreOp store) {
        StoreOp::create(builder, loc, pointers, reshaped(store.getValue(), access.type()), mask,
                        store.getCache(), store.getEvict());
      })
      .Case([&](DescriptorAtomicOp atomic) {
        AtomicRmwOp::create(builder, loc, access.type(), atomic.getKind(), pointers,
                            reshaped(atomic.getValue(), access.type()), mask, MemoryOrder::Relaxed,
                            MemoryScope::GPU);
      });
  op->erase();
}

namespace {
struct ExpandDescriptors : tw::impl::ExpandDescriptorsBase<ExpandDescriptors> {
  void runOnOperation() override {
    getOperation().walk([](func::FuncOp function) {
      SmallVector<Operation *> accesses;
      function.walk([&](Operation *op) {
        if (boxOf(op))
          accesses.push_back(op);
      });
      if (accesses.empty())
        return;
      IndexFacts facts(function);
      for (Operation *op : accesses)
        expand(op, *boxOf(op), facts);
    });
  }
};
} // namespace
