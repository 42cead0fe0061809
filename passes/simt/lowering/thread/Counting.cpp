#include "passes/simt/lowering/thread/Counting.h"
#include "ir/tile/Repeated.h"
#include "llvm/ADT/DenseSet.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

namespace {
/// Facts of the sums of a base and indices: those that do not wrap around are exact.
enum class CountedSums { MayWrap, Exact, ExactFromZero };

/// Numbers that count along a dimension of a tile.
struct Counted {
  unsigned dim;
  CountedSums sums;
};
} // namespace

/// Finds what is known of `base + index` for the indices of an arange. A base that steps through a
/// loop is known by its divisor to end early enough: to a multiple of 128, at most 2^31 - 128, any
/// index below 128 can be added.
static CountedSums sumsOf(const IndexFacts &facts, Value base, ArangeOp indices) {
  int64_t least = int32_t(indices.getStart()), greatest = int64_t(int32_t(indices.getEnd())) - 1;
  if (least < 0)
    return CountedSums::MayWrap;
  if (!base)
    return CountedSums::ExactFromZero;
  IndexRange range = facts.rangeOf(base);
  int64_t divisor = facts.of(base).axes[0].divisibility;
  if (range.least < 0)
    return greatest < powerOfTwoIn(divisor) ? CountedSums::Exact : CountedSums::MayWrap;
  greatest += range.greatest - (divisor > 0 ? range.greatest % divisor : 0);
  return greatest <= std::numeric_limits<int32_t>::max() ? CountedSums::ExactFromZero
                                                         : CountedSums::MayWrap;
}

/// Returns true if a tile is only compared, so that its elements need not be there.
static bool isOnlyCompared(Value tile) {
  return llvm::all_of(tile.getUsers(), [](Operation *user) {
    if (isa<ExpandDimsOp, BroadcastOp>(user))
      return isOnlyCompared(user->getResult(0));
    return isa<arith::CmpIOp>(user);
  });
}

/// Returns how a tile is exactly a uniform number plus 0, 1, 2, ... along a dimension.
static std::optional<Counted> countedAlong(const IndexFacts &facts, Value tile) {
  Enlarged sum = enlargedFrom(tile);
  Value base;
  Enlarged indices = sum;
  if (auto add = sum.source.getDefiningOp<arith::AddIOp>())
    for (unsigned side : {0u, 1u})
      if (auto splat = add->getOperand(side).getDefiningOp<SplatOp>()) {
        base = splat.getSource();
        indices = enlargedFrom({add->getOperand(1 - side), sum.dims});
      }
  auto arange = indices.source.getDefiningOp<ArangeOp>();
  auto dim = llvm::find(indices.dims, 0);
  if (!arange || dim == indices.dims.end() || !isOnlyCompared(sum.source))
    return std::nullopt;
  CountedSums sums = sumsOf(facts, base, arange);
  if (sums == CountedSums::MayWrap)
    return std::nullopt;
  return Counted{unsigned(dim - indices.dims.begin()), sums};
}

/// Returns the part of each register in the index along a dimension; nothing where a lane's or a
/// warp's part is not added to it.
static std::optional<SmallVector<int64_t>> registerParts(const LinearLayout &layout, unsigned dim) {
  uint32_t mask = layout.maskOf(dim), ofThreads = 0, ofRegisters = 0;
  for (Place place : {Place::Lane, Place::Warp})
    for (uint32_t basis : layout.bases(place))
      ofThreads |= basis & mask;
  SmallVector<int64_t> parts;
  for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg) {
    uint32_t part = layout.apply(Place::Register, reg) & mask;
    ofRegisters |= part;
    parts.push_back(part >> layout.firstBitOf(dim));
  }
  return ofThreads & ofRegisters ? std::nullopt : std::optional(std::move(parts));
}

/// Returns bound - base where `base + index` is from 0. A bound below -1 is taken as -1: numbers
/// from 0 compare with both alike, and the difference does not overflow.
static Value emitLimitFromZero(SimtFunction &f, Value bound, Value base, bool mayBeLess) {
  Value least = f.constantOf(bound.getType(), -1);
  Value clamped = mayBeLess ? f.builder.createOrFold<arith::MaxSIOp>(f.loc, bound, least) : bound;
  return f.create<arith::SubIOp>(clamped, base, arith::IntegerOverflowFlags::nsw);
}

/// Returns bound - base, or what indices from 0 compare with alike: -1 where it is below 0, the
/// greatest number where it is beyond that.
static Value emitLimit(SimtFunction &f, Value bound, Value base) {
  auto constant = [&](int64_t value) { return f.constantOf(bound.getType(), value); };
  Value isBelow = f.create<arith::CmpIOp>(arith::CmpIPredicate::slt, bound, base);
  Value difference = f.create<arith::SubIOp>(bound, base); // without a sign, where it is not below
  Value capped =
      f.create<arith::MinUIOp>(difference, constant(std::numeric_limits<int32_t>::max()));
  return f.create<arith::SelectOp>(isBelow, constant(-1), capped);
}

/// Returns a number for each register of `bound` that indices compare with as `base + index` do
/// with the bound.
static Registers emitLimits(SimtFunction &f, Value bound, Value base, CountedSums sums) {
  bool mayBeLess = f.facts.rangeOf(bound).least < -1;
  llvm::DenseMap<Value, Value> limits;
  Registers result;
  for (Value number : f.registersOf(bound)) {
    Value &limit = limits[number];
    if (!limit)
      limit = sums == CountedSums::Exact ? emitLimit(f, number, base)
                                         : emitLimitFromZero(f, number, base, mayBeLess);
    result.push_back(limit);
  }
  return result;
}

std::optional<std::array<Registers, 2>> tw::simt::countedOperands(SimtFunction &f,
                                                                  arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  bool isSigned = llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, op.getPredicate());
  if (!isSigned || !hasLayout(op.getType()) || !elementTypeOf(op.getLhs().getType()).isInteger(32))
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    Value counting = op->getOperand(side), bound = op->getOperand(1 - side);
    std::optional<Counted> counted = countedAlong(f.facts, counting);
    std::optional<SmallVector<int64_t>> parts =
        counted ? registerParts(layoutOf(op.getType()), counted->dim) : std::nullopt;
    if (!parts)
      continue;
    llvm::SmallDenseSet<int64_t> distinct(parts->begin(), parts->end());
    const Registers &bounds = f.registersOf(bound);
    llvm::SmallDenseSet<Value> distinctBounds(bounds.begin(), bounds.end());
    size_t ofLimit = counted->sums == CountedSums::Exact ? 4 : 2; // operations
    if (distinct.size() <= ofLimit * distinctBounds.size() + 1)
      continue; // as many operations as there were sums
    std::array<Registers, 2> operands;
    operands[1 - side] = emitLimits(f, bound, f.scalarOf(counting), counted->sums);
    for (int64_t part : *parts)
      operands[side].push_back(f.constantI32(part));
    return operands;
  }
  return std::nullopt;
}
