// Reads tiles of indices and pointers as boxes of strided arrays.
#include "passes/analysis/StridedTile.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tw;
using namespace tw::tile;

//===-- Polynomials --------------------------------------------------------------------------===//

/// More monomials than addresses of tiles have, and factors that 64 bits hold with room to spare.
static constexpr size_t kMostMonomials = 16;
static constexpr int64_t kMostFactor = int64_t(1) << 48;

bool tw::isOfLaunch(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
         argument.getType().isInteger();
}

bool Monomial::isAlike(const Monomial &other) const {
  return std::is_permutation(leaves.begin(), leaves.end(), other.leaves.begin(),
                             other.leaves.end());
}

std::optional<Monomial> Monomial::dividedBy(const Monomial &divisor) const {
  Monomial quotient = *this;
  for (Value leaf : divisor.leaves) {
    auto *found = llvm::find(quotient.leaves, leaf);
    if (found == quotient.leaves.end())
      return std::nullopt;
    quotient.leaves.erase(found);
  }
  if (divisor.factor == 0 || factor % divisor.factor != 0)
    return std::nullopt;
  quotient.factor = factor / divisor.factor;
  quotient.wideFactor = wideFactor / std::gcd(wideFactor, divisor.factor);
  return quotient;
}

bool Monomial::isNonNegative(const IndexFacts &facts) const {
  return factor > 0 &&
         llvm::all_of(leaves, [&](Value leaf) { return facts.of(leaf).isNonNegative; });
}

void Polynomial::add(Monomial monomial) {
  auto *alike =
      llvm::find_if(monomials, [&](const Monomial &own) { return own.isAlike(monomial); });
  if (alike == monomials.end()) {
    if (monomial.factor != 0)
      monomials.push_back(std::move(monomial));
    return;
  }
  alike->factor += monomial.factor;
  alike->wideFactor = std::max(alike->wideFactor, monomial.wideFactor);
  if (alike->factor == 0)
    monomials.erase(alike);
}

void Polynomial::add(const Polynomial &other, int64_t sign) {
  for (Monomial monomial : other.all()) {
    monomial.factor *= sign;
    add(std::move(monomial));
  }
}

std::optional<Monomial> Polynomial::single() const {
  return monomials.size() == 1 ? std::optional(monomials.front()) : std::nullopt;
}

bool Polynomial::isOne() const {
  std::optional<Monomial> only = single();
  return only && only->isConstant() && only->factor == 1;
}

bool Polynomial::operator==(const Polynomial &other) const {
  Polynomial difference = *this;
  difference.add(other, -1);
  return difference.isZero();
}

/// Returns the product as `type` holds it; none of too many or too large numbers.
static std::optional<Polynomial> multiply(const Polynomial &lhs, const Polynomial &rhs, Type type) {
  Polynomial product;
  bool isIn64Bits = !elementTypeOf(type).isInteger(32);
  for (const Monomial &a : lhs.all())
    for (const Monomial &b : rhs.all()) {
      Monomial monomial = a;
      if (llvm::MulOverflow(a.factor, b.factor, monomial.factor) ||
          std::abs(monomial.factor) > kMostFactor)
        return std::nullopt;
      llvm::append_range(monomial.leaves, b.leaves);
      if (llvm::MulOverflow(a.wideFactor, b.wideFactor, monomial.wideFactor))
        return std::nullopt;
      // The constant is at most kMostFactor, as is the product.
      if (isIn64Bits && a.isConstant() != b.isConstant())
        monomial.wideFactor *= std::abs(a.isConstant() ? a.factor : b.factor);
      product.add(std::move(monomial));
    }
  return product.all().size() <= kMostMonomials ? std::optional(product) : std::nullopt;
}

//===-- Values -------------------------------------------------------------------------------===//

namespace {
/// Reads values of one kernel, each once.
class Reader {
public:
  explicit Reader(const IndexFacts &facts) : facts(facts) {}
  std::optional<StridedTile> read(Value value);

private:
  std::optional<StridedTile> readOperation(Operation *op);
  std::optional<StridedTile> readShape(Operation *op); // of dimensions that come, go or repeat
  std::optional<StridedTile> readArgument(BlockArgument argument);
  std::optional<StridedTile> readCarried(scf::ForOp loop, BlockArgument carried,
                                         const Polynomial &counter);
  std::optional<StridedTile> readResult(scf::ForOp loop, OpResult result);

  bool isLeaf(Value scalar, const Polynomial &sum) const;

  const IndexFacts &facts;
  llvm::DenseMap<Value, std::optional<StridedTile>> known;
};
} // namespace

static StridedTile scalarOf(Polynomial offset, Value base = {}) { return {base, offset, {}}; }

static std::optional<StridedTile> sum(std::optional<StridedTile> lhs,
                                      const std::optional<StridedTile> &rhs, int64_t sign) {
  if (!lhs || !rhs || rhs->base || lhs->steps.size() != rhs->steps.size())
    return std::nullopt;
  lhs->offset.add(rhs->offset, sign);
  for (auto [own, other] : llvm::zip(lhs->steps, rhs->steps))
    own.add(other, sign);
  llvm::append_range(lhs->wraps, rhs->wraps);
  return lhs;
}

/// A product of which one side is the same for all elements.
static std::optional<StridedTile> product(const std::optional<StridedTile> &lhs,
                                          const std::optional<StridedTile> &rhs, Type type) {
  if (!lhs || !rhs)
    return std::nullopt;
  auto isUniform = [](const StridedTile &tile) {
    return llvm::all_of(tile.steps, [](const Polynomial &step) { return step.isZero(); });
  };
  if (!isUniform(*rhs))
    return isUniform(*lhs) ? product(rhs, lhs, type) : std::nullopt;
  StridedTile result = *lhs;
  llvm::append_range(result.wraps, rhs->wraps);
  std::optional<Polynomial> offset = multiply(lhs->offset, rhs->offset, type);
  if (!offset)
    return std::nullopt;
  result.offset = *offset;
  for (Polynomial &step : result.steps) {
    std::optional<Polynomial> scaled = multiply(step, rhs->offset, type);
    if (!scaled)
      return std::nullopt;
    step = *scaled;
  }
  return result;
}

/// The only dimension along which a tile changes, if neighbours are one apart there.
static std::optional<unsigned> unitDimOf(const StridedTile &tile) {
  std::optional<unsigned> unit;
  for (auto [dim, step] : llvm::enumerate(tile.steps)) {
    if (step.isZero())
      continue;
    if (unit || !step.isOne())
      return std::nullopt;
    unit = dim;
  }
  return unit;
}

static bool isUniform(const StridedTile &tile) {
  return llvm::all_of(tile.steps, [](const Polynomial &step) { return step.isZero(); });
}

/// An index modulo an extent.
static std::optional<StridedTile> wrapped(std::optional<StridedTile> index,
                                          const std::optional<StridedTile> &extent) {
  if (!index || !extent || extent->base || !index->wraps.empty())
    return std::nullopt;
  std::optional<unsigned> dim = unitDimOf(*index);
  std::optional<Monomial> number = extent->offset.single();
  if (!dim || !number || !number->isFixed() || !isUniform(*extent))
    return std::nullopt;
  index->wraps.push_back({dim, index->offset, *number});
  return index;
}

std::optional<StridedTile> Reader::readShape(Operation *op) {
  std::optional<StridedTile> tile = read(op->getOperand(0));
  if (!tile)
    return std::nullopt;
  const StridedTile source = *tile;
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    tile->steps.insert(tile->steps.begin() + expand.getAxis(), Polynomial());
    for (IndexLimit &wrap : tile->wraps)
      *wrap.dim += *wrap.dim >= expand.getAxis();
  } else if (auto transposed = dyn_cast<TransOp>(op)) {
    for (auto [dim, from] : llvm::enumerate(transposed.getOrder())) {
      tile->steps[dim] = source.steps[from];
      for (auto [wrap, before] : llvm::zip(tile->wraps, source.wraps))
        if (before.dim == unsigned(from))
          wrap.dim = dim;
    }
  } else {
    // Along a dimension of one element, no step is taken.
    for (auto [dim, extent] : llvm::enumerate(shapeOf(op->getOperand(0).getType())))
      if (extent == 1)
        tile->steps[dim] = Polynomial();
  }
  return tile;
}

std::optional<StridedTile> Reader::readOperation(Operation *op) {
  using Result = std::optional<StridedTile>;
  Value result = op->getResult(0);
  APInt number;
  if (matchPattern(op, m_ConstantInt(&number))) {
    StridedTile constant = scalarOf(Polynomial::ofConstant(number.getSExtValue()));
    constant.steps.resize(shapeOf(result.getType()).size());
    return constant;
  }
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ArangeOp range) -> Result {
        return StridedTile{
            {}, Polynomial::ofConstant(int32_t(range.getStart())), {Polynomial::ofConstant(1)}};
      })
      .Case([&](SplatOp splat) {
        Result scalar = read(splat.getSource());
        if (scalar)
          scalar->steps.resize(splat.getType().getRank());
        return scalar;
      })
      .Case<ExpandDimsOp, TransOp, BroadcastOp>([&](Operation *) { return readShape(op); })
      .Case<HintOp, simt::ConvertLayoutOp, arith::ExtSIOp, arith::IndexCastOp>(
          [&](Operation *) { return read(op->getOperand(0)); })
      .Case<arith::AddIOp, AddPtrOp>(
          [&](Operation *) { return sum(read(op->getOperand(0)), read(op->getOperand(1)), 1); })
      .Case(
          [&](arith::SubIOp) { return sum(read(op->getOperand(0)), read(op->getOperand(1)), -1); })
      .Case([&](arith::MulIOp) {
        return product(read(op->getOperand(0)), read(op->getOperand(1)), result.getType());
      })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](Operation *) { return wrapped(read(op->getOperand(0)), read(op->getOperand(1))); })
      .Default([](Operation *) { return std::nullopt; });
}

/// A scalar that grows by the same in each iteration: its multiples of the counter, where that is
/// `counter`.
std::optional<StridedTile> Reader::readCarried(scf::ForOp loop, BlockArgument carried,
                                               const Polynomial &counter) {
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return std::nullopt;
  std::optional<StridedTile> next = read(loop.getTiedLoopYieldedValue(carried)->get());
  std::optional<StridedTile> first = read(loop.getTiedLoopInit(carried)->get());
  std::optional<StridedTile> lower = read(loop.getLowerBound());
  if (!next || !first || !lower || next->base || first->base)
    return std::nullopt;
  Polynomial growth = next->offset;
  growth.add(Polynomial::ofLeaf(carried), -1);
  Polynomial iterations = counter;
  iterations.add(lower->offset, -1);
  StridedTile result = *first;
  for (const Monomial &monomial : growth.all()) {
    bool isFixed = llvm::all_of(monomial.leaves,
                                [&](Value leaf) { return loop.isDefinedOutsideOfLoop(leaf); });
    std::optional<Monomial> each = monomial.dividedBy(Monomial{step.getSExtValue()});
    if (!isFixed || !each)
      return std::nullopt;
    each->wideFactor = 1; // a counter's multiple is an index along the dimension that it steps
    std::optional<Polynomial> grown =
        multiply(iterations, *each, IntegerType::get(loop.getContext(), 32));
    if (!grown)
      return std::nullopt;
    result.offset.add(*grown);
  }
  return result;
}

std::optional<StridedTile> Reader::readArgument(BlockArgument argument) {
  if (isa<PtrType>(argument.getType()))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp())
               ? std::optional(scalarOf({}, argument))
               : std::nullopt;
  if (!argument.getType().isIntOrIndex())
    return std::nullopt;
  StridedTile leaf = scalarOf(Polynomial::ofLeaf(argument));
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument == loop.getInductionVar())
    return leaf;
  known[argument] = leaf; // as what it adds to itself is read
  std::optional<StridedTile> carried =
      readCarried(loop, argument, Polynomial::ofLeaf(loop.getInductionVar()));
  return carried ? carried : leaf;
}

/// Reads what the next loop goes on from: the counter has come to the upper bound.
std::optional<StridedTile> Reader::readResult(scf::ForOp loop, OpResult result) {
  BlockArgument carried = loop.getTiedLoopRegionIterArg(result);
  if (!loop->hasAttr(kLoopWholeSteps) || !result.getType().isIntOrIndex())
    return std::nullopt;
  read(carried);
  auto inside = std::exchange(known[carried], scalarOf(Polynomial::ofLeaf(carried)));
  std::optional<StridedTile> upper = read(loop.getUpperBound());
  std::optional<StridedTile> end = upper ? readCarried(loop, carried, upper->offset) : std::nullopt;
  known[carried] = inside;
  return end;
}

/// Returns true if more is known of a scalar than of what it is the sum of. Sums of arguments are
/// read further: strides divide them.
bool Reader::isLeaf(Value scalar, const Polynomial &sum) const {
  auto isNonNegative = [&](const Monomial &monomial) { return monomial.isNonNegative(facts); };
  return facts.of(scalar).isNonNegative && !llvm::all_of(sum.all(), isNonNegative) &&
         llvm::none_of(sum.all(), [](const Monomial &monomial) {
           return llvm::any_of(monomial.leaves, isOfLaunch);
         });
}

std::optional<StridedTile> Reader::read(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<StridedTile> result;
  if (auto argument = dyn_cast<BlockArgument>(value))
    result = readArgument(argument);
  else if (auto loop = value.getDefiningOp<scf::ForOp>())
    result = readResult(loop, cast<OpResult>(value));
  else
    result = readOperation(value.getDefiningOp());
  bool isScalar = value.getType().isIntOrIndex();
  if (isScalar && (!result || isLeaf(value, result->offset)))
    result = scalarOf(Polynomial::ofLeaf(value));
  known[value] = result;
  return result;
}

std::optional<StridedTile> tw::stridedTileOf(const IndexFacts &facts, Value value) {
  return Reader(facts).read(value);
}

//===-- Masks --------------------------------------------------------------------------------===//

/// Divides `index - extent`, of which a launch gives the latter: arguments with a sign, else a
/// constant with one.
static std::optional<Monomial> takeExtent(Polynomial &difference) {
  Polynomial extent;
  for (bool isConstant : {false, true})
    for (const Monomial &monomial : difference.all())
      if (extent.isZero() && monomial.isFixed() && monomial.isConstant() == isConstant &&
          monomial.factor < 0)
        extent.add(monomial);
  std::optional<Monomial> only = extent.single();
  if (!only)
    return std::nullopt;
  difference.add(extent, -1);
  only->factor = -only->factor;
  return only;
}

/// Reads the bound of a comparison without signs. A number from 0 on is below max(extent, 0) where
/// it is below the extent.
static std::optional<StridedTile> boundOf(const IndexFacts &facts, Value bound) {
  auto splat = bound.getDefiningOp<SplatOp>();
  auto clamp = (splat ? splat.getSource() : bound).getDefiningOp<arith::MaxSIOp>();
  if (!clamp || !clamp.getType().isInteger() || !matchPattern(clamp.getRhs(), m_Zero()))
    return stridedTileOf(facts, bound);
  std::optional<StridedTile> extent = stridedTileOf(facts, clamp.getLhs());
  if (extent)
    extent->steps.resize(shapeOf(bound.getType()).size());
  return extent;
}

/// Reads index < extent.
static std::optional<IndexLimit> limitOf(const IndexFacts &facts, arith::CmpIOp comparison) {
  using arith::CmpIPredicate;
  CmpIPredicate predicate = comparison.getPredicate();
  bool isLess = predicate == CmpIPredicate::slt || predicate == CmpIPredicate::ult;
  bool isGreater = predicate == CmpIPredicate::sgt || predicate == CmpIPredicate::ugt;
  if (!isLess && !isGreater)
    return std::nullopt;
  std::optional<StridedTile> difference =
      stridedTileOf(facts, comparison->getOperand(isLess ? 0 : 1));
  // Beyond the sign of numbers, unsigned ones compare otherwise: neither side may be a difference.
  bool isUnsigned = predicate == CmpIPredicate::ult || predicate == CmpIPredicate::ugt;
  Value bound = comparison->getOperand(isLess ? 1 : 0);
  std::optional<StridedTile> limit =
      isUnsigned ? boundOf(facts, bound) : stridedTileOf(facts, bound);
  if (isUnsigned &&
      (!difference || !limit ||
       !llvm::all_of(difference->offset.all(),
                     [&](const Monomial &part) { return part.isNonNegative(facts); }) ||
       !limit->offset.single() || limit->offset.single()->factor < 0))
    return std::nullopt;
  difference = sum(difference, limit, -1);
  if (!difference || difference->base || !difference->wraps.empty())
    return std::nullopt;
  std::optional<unsigned> dim = unitDimOf(*difference);
  if (!dim && !isUniform(*difference))
    return std::nullopt;
  std::optional<Monomial> extent = takeExtent(difference->offset);
  if (!extent)
    return std::nullopt;
  return IndexLimit{dim, difference->offset, *extent};
}

bool tw::collectLimits(const IndexFacts &facts, Value mask, SmallVectorImpl<IndexLimit> &limits) {
  Operation *op = mask.getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
    bool isLeftLimits = collectLimits(facts, both.getLhs(), limits);
    return collectLimits(facts, both.getRhs(), limits) && isLeftLimits;
  }
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op)) {
    std::optional<IndexLimit> limit = limitOf(facts, comparison);
    if (limit)
      limits.push_back(*limit);
    return limit.has_value();
  }
  if (!isa_and_nonnull<SplatOp, BroadcastOp, simt::ConvertLayoutOp, ExpandDimsOp, TransOp>(op))
    return false;
  size_t first = limits.size();
  bool isOfLimits = collectLimits(facts, op->getOperand(0), limits);
  for (IndexLimit &limit : MutableArrayRef(limits).drop_front(first)) {
    if (!limit.dim)
      continue;
    if (auto expand = dyn_cast<ExpandDimsOp>(op))
      *limit.dim += *limit.dim >= expand.getAxis();
    if (auto transposed = dyn_cast<TransOp>(op))
      limit.dim =
          llvm::find(transposed.getOrder(), int32_t(*limit.dim)) - transposed.getOrder().begin();
  }
  return isOfLimits;
}
