// The pass `merge-comparisons`: two bounds of one number become one, which is found on fewer
// elements than are compared. Attention's masks, of the sequence's end and of the diagonal, are
// such a pair.
#include "ir/tile/Repeated.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace tw {
#define GEN_PASS_DEF_MERGECOMPARISONS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw::tile;
using arith::CmpIPredicate;

//===-- Bounds --------------------------------------------------------------------------------===//

namespace {
/// A comparison: `number` is at most `bound` (at least, if not `isUpper`), and not equal to it if
/// `isStrict`.
struct Bound {
  Enlarged number, bound;
  bool isUpper, isStrict, isSigned;
};
} // namespace

/// Returns a comparison as a bound of its left and of its right side; nothing for other masks.
static SmallVector<Bound, 2> boundsOf(Value mask) {
  Enlarged outer = enlargedFrom(mask);
  auto comparison = outer.source.getDefiningOp<arith::CmpIOp>();
  if (!comparison)
    return {};
  using P = CmpIPredicate;
  P predicate = comparison.getPredicate();
  auto isOneOf = [&](auto... any) { return ((predicate == any) || ...); };
  if (isOneOf(P::eq, P::ne))
    return {};
  bool isLess = isOneOf(P::slt, P::sle, P::ult, P::ule);
  bool isStrict = isOneOf(P::slt, P::sgt, P::ult, P::ugt);
  bool isSigned = isOneOf(P::slt, P::sle, P::sgt, P::sge);
  Enlarged lhs = enlargedFrom({comparison.getLhs(), outer.dims});
  Enlarged rhs = enlargedFrom({comparison.getRhs(), outer.dims});
  return {{lhs, rhs, isLess, isStrict, isSigned}, {rhs, lhs, !isLess, isStrict, isSigned}};
}

static CmpIPredicate predicateOf(const Bound &bound) {
  using P = CmpIPredicate;
  static constexpr P kPredicates[2][2][2] = {{{P::uge, P::ugt}, {P::ule, P::ult}},
                                             {{P::sge, P::sgt}, {P::sle, P::slt}}};
  return kPredicates[bound.isSigned][bound.isUpper][bound.isStrict];
}

//===-- Merging -------------------------------------------------------------------------------===//

namespace {
/// Merges masks under one `and` or `or`.
class Merger {
public:
  explicit Merger(Operation *root)
      : builder(root), loc(root->getLoc()), shape(shapeOf(root->getResult(0).getType())),
        isAnd(isa<arith::AndIOp>(root)) {}

  /// Returns one comparison in place of two; null where that would not take fewer operations.
  Value merge(Value first, Value second) {
    for (const Bound &a : boundsOf(first))
      for (const Bound &b : boundsOf(second)) {
        bool areAlike = a.number == b.number && a.isUpper == b.isUpper && a.isSigned == b.isSigned;
        const Enlarged *place = areAlike ? placeOf(a.bound, b.bound) : nullptr;
        if (place)
          return emit(a, b, *place);
      }
    return {};
  }

private:
  /// Returns the tile that both bounds have the shape of, if it is smaller than the mask.
  const Enlarged *placeOf(const Enlarged &a, const Enlarged &b) const {
    if (isUniform(a.source) && isUniform(b.source))
      return &a;
    const Enlarged &place = isUniform(a.source) ? b : a;
    bool fitsBoth = isUniform(a.source) || isUniform(b.source) ||
                    (a.dims == b.dims && a.source.getType() == b.source.getType());
    int64_t size = ShapedType::getNumElements(shapeOf(place.source.getType()));
    return fitsBoth && size < ShapedType::getNumElements(shape) ? &place : nullptr;
  }

  /// Makes one of a strict and another bound like the other: `x < a and x <= b` becomes
  /// `x < min(a, b + 1)`. Where b is the greatest number, b + 1 does not exist, and `a` alone
  /// decides: it is at most b, and stands for both. The other cases are mirror images.
  Value emit(const Bound &a, const Bound &b, const Enlarged &place) {
    bool takesLess = a.isUpper == isAnd;
    Value ofA = boundAt(a.bound, place), ofB = boundAt(b.bound, place);
    Bound merged = a;
    if (a.isStrict != b.isStrict) {
      Value &changed = a.isStrict == isAnd ? ofB : ofA;
      changed = neighbour(changed, takesLess, a.isSigned);
      merged.isStrict = isAnd;
    }
    merged.bound = {extreme(ofA, ofB, takesLess, a.isSigned), place.dims};
    return compare(merged);
  }

  Value compare(const Bound &bound) {
    auto compare = [&](Value number, Value limit) -> Value {
      return arith::CmpIOp::create(builder, loc, predicateOf(bound), number, limit);
    };
    const Enlarged &number = bound.number, &limit = bound.bound;
    if (isa<RankedTensorType>(limit.source.getType()))
      return compare(enlarge(number), enlarge(limit));
    Value repeated = SplatOp::create(builder, loc, number.source.getType(), limit.source);
    return enlarge({compare(number.source, repeated), number.dims});
  }

  /// Returns a bound as a tile like `place`, or as a scalar where that is uniform.
  Value boundAt(const Enlarged &bound, const Enlarged &place) {
    if (isUniform(place.source))
      return uniformScalar(builder, bound.source);
    return isUniform(bound.source)
               ? reshapeUniform(builder, bound.source, shapeOf(place.source.getType()))
               : bound.source;
  }

  /// Returns the number above, or below, each element; of the last one of its type, that one.
  Value neighbour(Value value, bool above, bool isSigned) {
    unsigned bits = elementTypeOf(value.getType()).getIntOrFloatBitWidth();
    APInt last = above ? (isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits))
                       : (isSigned ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits));
    APInt step(bits, above ? 1 : -1, /*isSigned=*/true);
    Value inner = extreme(value, constantLike(value, last - step), above, isSigned);
    return arith::AddIOp::create(builder, loc, inner, constantLike(value, step));
  }

  Value extreme(Value a, Value b, bool least, bool isSigned) {
    if (isSigned)
      return least ? Value(arith::MinSIOp::create(builder, loc, a, b))
                   : arith::MaxSIOp::create(builder, loc, a, b);
    return least ? Value(arith::MinUIOp::create(builder, loc, a, b))
                 : arith::MaxUIOp::create(builder, loc, a, b);
  }

  Value constantLike(Value value, const APInt &number) {
    TypedAttr constant = builder.getIntegerAttr(elementTypeOf(value.getType()), number);
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      constant = DenseElementsAttr::get(type, number);
    return arith::ConstantOp::create(builder, loc, constant);
  }

  /// Returns the tile in the shape of the mask.
  Value enlarge(const Enlarged &tile) {
    Type type = RankedTensorType::get(shape, elementTypeOf(tile.source.getType()));
    if (isUniform(tile.source))
      return reshapeUniform(builder, tile.source, shape);
    Value result = tile.source;
    SmallVector<int64_t> extents(shapeOf(result.getType()));
    for (auto [axis, dim] : llvm::enumerate(tile.dims))
      if (dim < 0) {
        extents.insert(extents.begin() + axis, 1);
        Type expanded = RankedTensorType::get(extents, elementTypeOf(type));
        result = ExpandDimsOp::create(builder, loc, expanded, result, axis);
      }
    return result.getType() == type ? result : BroadcastOp::create(builder, loc, type, result);
  }

  OpBuilder builder;
  Location loc;
  ArrayRef<int64_t> shape;
  bool isAnd;
};
} // namespace

/// Collects the masks under one kind of operation.
static void collectMasks(Value mask, OperationName kind, SmallVectorImpl<Value> &masks) {
  Operation *op = mask.getDefiningOp();
  if (!op || op->getName() != kind || !mask.hasOneUse())
    return masks.push_back(mask);
  for (Value operand : op->getOperands())
    collectMasks(operand, kind, masks);
}

static void mergeUnder(Operation *root) {
  SmallVector<Value> masks;
  for (Value operand : root->getOperands())
    collectMasks(operand, root->getName(), masks);
  Merger merger(root);
  size_t numMasks = masks.size();
  for (size_t i = 0; i < masks.size(); ++i)
    for (size_t j = i + 1; j < masks.size();)
      if (Value merged = merger.merge(masks[i], masks[j])) {
        masks[i] = merged;
        masks.erase(masks.begin() + j);
      } else {
        ++j;
      }
  if (masks.size() == numMasks)
    return;
  OpBuilder builder(root);
  Value all = masks.front();
  for (Value mask : llvm::drop_begin(masks))
    all = isa<arith::AndIOp>(root)
              ? Value(arith::AndIOp::create(builder, root->getLoc(), all, mask))
              : arith::OrIOp::create(builder, root->getLoc(), all, mask);
  root->getResult(0).replaceAllUsesWith(all);
}

namespace {
struct MergeComparisons : tw::impl::MergeComparisonsBase<MergeComparisons> {
  void runOnOperation() override {
    SmallVector<Operation *> roots;
    getOperation().walk([&](Operation *op) {
      auto type = isa<arith::AndIOp, arith::OrIOp>(op)
                      ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                      : nullptr;
      auto isUnderSameKind = [&] {
        return op->hasOneUse() && op->user_begin()->getName() == op->getName();
      };
      if (type && type.getElementType().isInteger(1) && !isUnderSameKind())
        roots.push_back(op);
    });
    llvm::for_each(roots, mergeUnder);
  }
};
} // namespace
