#include "passes/simt/lowering/thread/Counting.h"
#include "ir/tile/Repeated.h"
#include "llvm/ADT/DenseSet.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// Returns true if `base + index` is a number from 0 for each index of an arange. A base that steps
/// through a loop is known by its divisor to end early enough.
static bool isExact(const IndexFacts &facts, Value base, ArangeOp indices) {
  int64_t least = int32_t(indices.getStart()), greatest = int64_t(int32_t(indices.getEnd())) - 1;
  if (base) {
    IndexRange range = facts.rangeOf(base);
    int64_t divisor = facts.of(base).axes[0].divisibility;
    if (range.least < 0)
      return false;
    least += range.least;
    greatest += range.greatest - (divisor > 0 ? range.greatest % divisor : 0);
  }
  return least >= 0 && greatest <= std::numeric_limits<int32_t>::max();
}

/// Returns true if a tile is only compared, so that its elements need not be there.
static bool isOnlyCompared(Value tile) {
  return llvm::all_of(tile.getUsers(), [](Operation *user) {
    if (isa<ExpandDimsOp, BroadcastOp>(user))
      return isOnlyCompared(user->getResult(0));
    return isa<arith::CmpIOp>(user);
  });
}

/// Returns the dimension of a tile along which it is exactly a uniform number plus 0, 1, 2, ....
static std::optional<unsigned> countingDim(const IndexFacts &facts, Value tile) {
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
  if (!arange || dim == indices.dims.end() || !isOnlyCompared(sum.source) ||
      !isExact(facts, base, arange))
    return std::nullopt;
  return dim - indices.dims.begin();
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

/// Returns bound - base for each register. A bound below -1 is taken as -1: numbers from 0 compare
/// with both alike, and the difference does not overflow.
static Registers emitLimits(SimtFunction &f, Value bound, Value base) {
  llvm::DenseMap<Value, Value> limits;
  Registers result;
  for (Value number : f.registersOf(bound)) {
    Value &limit = limits[number];
    if (!limit) {
      Value least = f.constantOf(number.getType(), -1);
      Value clamped = f.facts.rangeOf(bound).least >= -1
                          ? number
                          : f.builder.createOrFold<arith::MaxSIOp>(f.loc, number, least);
      limit = f.create<arith::SubIOp>(clamped, base, arith::IntegerOverflowFlags::nsw);
    }
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
    std::optional<unsigned> dim = countingDim(f.facts, counting);
    std::optional<SmallVector<int64_t>> parts =
        dim ? registerParts(layoutOf(op.getType()), *dim) : std::nullopt;
    if (!parts)
      continue;
    llvm::SmallDenseSet<int64_t> distinct(parts->begin(), parts->end());
    const Registers &bounds = f.registersOf(bound);
    llvm::SmallDenseSet<Value> distinctBounds(bounds.begin(), bounds.end());
    if (distinct.size() <= 2 * distinctBounds.size() + 1)
      continue; // as many differences and maxima as there were sums
    std::array<Registers, 2> operands;
    operands[1 - side] = emitLimits(f, bound, f.scalarOf(counting));
    for (int64_t part : *parts)
      operands[side].push_back(f.constantI32(part));
    return operands;
  }
  return std::nullopt;
}
