// The pass `split-loops-by-mask`: iterations in which a mask is all true run in a loop of their
// own, without it. Halide and TVM partition loops in this way. Where the launch's factor allows it,
// that loop takes maxima of scores before it multiplies them.
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/analysis/LoopForms.h"
#include "passes/analysis/SplitLoops.h"
#include "passes/analysis/StridedTile.h"
#include "passes/tile/ScaledMaxima.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

namespace tw {
#define GEN_PASS_DEF_SPLITLOOPSBYMASK
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::tile;
using arith::CmpIPredicate;

/// A loop of more operations is not written out three times.
static constexpr int64_t kLargestBody = 400;
/// Loops of masked iterations that are expected to have fewer are marked as short.
static constexpr int64_t kFewIterations = 4;

//===-- What to split by ----------------------------------------------------------------------===//

namespace {
/// A comparison that is true for all elements where `distance`, at its low end, is at least 0.
struct SplitMask {
  arith::CmpIOp comparison;
  LoopForm distance;

  /// True in the first iterations, else in the last.
  bool isPrefix() const { return distance.slope < 0; }
  /// Iterations in which the comparison is true for some elements only, where tiles are aligned to
  /// each other.
  int64_t numMixed() const {
    return (distance.start.high - distance.start.low + 1) / std::abs(distance.slope);
  }
  /// Returns true if there is one such iteration at most, however tiles lie.
  bool isMixedOnce() const {
    return distance.start.high - distance.start.low < std::abs(distance.slope);
  }
};

struct LoopSplit {
  SmallVector<SplitMask> masks;
  SmallVector<FormGuard> guards;
  llvm::SetVector<Value> factors; // of maxima, to be positive normal numbers

  void require(const LoopForms &forms) {
    for (const FormGuard &guard : forms.getGuards())
      if (!llvm::is_contained(guards, guard))
        guards.push_back(guard);
  }
};
} // namespace

/// Returns true if a mask selects elements of an access or of a select, alone or combined with
/// other masks.
static bool isUsedAsMask(Value mask) {
  SmallVector<Value> pending = {mask};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      if (isa<MemoryAccess>(user))
        return true;
      if (auto choice = dyn_cast<arith::SelectOp>(user); choice && choice.getCondition() == value)
        return true;
      if (isa<arith::AndIOp, arith::OrIOp, arith::SelectOp, ShapeOp, HintOp>(user))
        pending.push_back(user->getResult(0));
    }
  }
  return false;
}

/// How far a comparison is from being false; nothing for equality.
static std::optional<LoopForm> distanceOf(arith::CmpIOp comparison, const IndexFacts &facts,
                                          LoopForms &forms) {
  CmpIPredicate predicate = comparison.getPredicate();
  if (predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne)
    return std::nullopt;
  auto is = [&](CmpIPredicate a, CmpIPredicate b) { return predicate == a || predicate == b; };
  bool isLess =
      is(CmpIPredicate::slt, CmpIPredicate::ult) || is(CmpIPredicate::sle, CmpIPredicate::ule);
  bool isStrict =
      is(CmpIPredicate::slt, CmpIPredicate::ult) || is(CmpIPredicate::sgt, CmpIPredicate::ugt);
  bool isUnsigned = predicate >= CmpIPredicate::ult;
  Value lhs = comparison.getLhs(), rhs = comparison.getRhs();
  for (Value side : {lhs, rhs})
    if (!forms.requireExact(side) || (isUnsigned && !forms.requireNonNegative(side)))
      return std::nullopt;
  std::optional<LinearForm> distance =
      combine(facts.of(isLess ? rhs : lhs).form, facts.of(isLess ? lhs : rhs).form, -1);
  if (distance && isStrict)
    distance = combine(*distance, LinearForm::ofConstant(1), -1);
  return distance ? forms.of(*distance) : std::nullopt;
}

/// Returns true if the range in which a mask is all true is known to be empty.
static bool isNeverFull(const SplitMask &mask) {
  return mask.distance.start.terms.empty() && mask.isPrefix() && mask.distance.start.low < 0;
}

static LoopSplit planSplit(scf::ForOp loop, const IndexFacts &facts) {
  LoopSplit split;
  loop.getBody()->walk([&](arith::CmpIOp comparison) {
    bool changes = !loop.isDefinedOutsideOfLoop(comparison.getLhs()) ||
                   !loop.isDefinedOutsideOfLoop(comparison.getRhs());
    if (!changes || !isa<RankedTensorType>(comparison.getType()) || !isUsedAsMask(comparison))
      return;
    LoopForms forms(loop, facts);
    std::optional<LoopForm> distance = distanceOf(comparison, facts, forms);
    if (!distance) {
      emitCodedRemark(comparison, Code::SplitLoop)
          << "this mask is computed in every iteration of its loop: it is not a comparison of sums "
             "that grow by a constant";
      return;
    }
    SplitMask mask = {comparison, *distance};
    if (distance->slope == 0 || isNeverFull(mask))
      return;
    split.masks.push_back(std::move(mask));
    split.require(forms);
  });
  for (const ScaledMaximum &scaled : findScaledMaxima(loop))
    if (!isPositiveNormal(scaled.factor)) {
      emitCodedRemark(scaled.maximum, Code::SplitLoop)
          << "this maximum is taken of numbers that are not yet scaled, where the scale is a "
             "positive normal number";
      split.factors.insert(scaled.factor);
    }
  return split;
}

//===-- Where to split ------------------------------------------------------------------------===//

namespace {
/// Emits, before a loop, the bounds of its iterations without masks. Everything is computed in 64
/// bits, of which LoopForm leaves enough.
class SplitBounds {
public:
  SplitBounds(scf::ForOp loop, int64_t step)
      : loop(loop), step(step), builder(loop), loc(loop.getLoc()) {
    lower = wide(loop.getLowerBound());
    upper = wide(loop.getUpperBound());
    Value span = arith::SubIOp::create(builder, loc, upper, lower);
    span = arith::MaxSIOp::create(builder, loc, plus(span, step - 1), constant(0));
    count = dividedBy(span, step);
    last = arith::MaxSIOp::create(builder, loc, plus(count, -1), constant(0));
  }

  /// The first iteration that is not in the range of `mask`, or, where it is a suffix, that is.
  Value iterationOf(const SplitMask &mask) {
    int64_t slope = mask.distance.slope;
    Value distance = sumOf(mask.distance.start, mask.distance.start.low);
    if (mask.isPrefix()) {
      Value reach = arith::MaxSIOp::create(builder, loc, plus(distance, -slope), constant(0));
      return dividedBy(reach, -slope);
    }
    Value missing = arith::SubIOp::create(builder, loc, constant(0), distance);
    missing = arith::MaxSIOp::create(builder, loc, missing, constant(0));
    return dividedBy(plus(missing, slope - 1), slope);
  }

  /// The loop may end behind its upper bound, by less than a step, if that is a number of its type.
  void requireEnd() {
    Type type = loop.getUpperBound().getType();
    if (type.isIndex() || type.getIntOrFloatBitWidth() > kWideScalarBits)
      return; // guards keep such bounds far from where they wrap
    int64_t limit = (int64_t(1) << (type.getIntOrFloatBitWidth() - 1)) - 1;
    require(CmpIPredicate::sle, lower, times(count, step), limit);
  }

  /// Requires a value to stay within the bounds of its guard in all iterations.
  void require(const FormGuard &guard) {
    const auto &[start, slope] = guard.form;
    Value growth = slope ? times(last, slope) : Value();
    if (guard.max != std::numeric_limits<int64_t>::max())
      require(CmpIPredicate::sle, sumOf(start, start.high), slope > 0 ? growth : Value(),
              guard.max);
    require(CmpIPredicate::sge, sumOf(start, start.low), slope < 0 ? growth : Value(), guard.min);
  }

  void requirePositiveNormal(Value factor) {
    const llvm::fltSemantics &format = cast<FloatType>(factor.getType()).getFloatSemantics();
    auto compare = [&](arith::CmpFPredicate predicate, const APFloat &limit) {
      Value bound =
          arith::ConstantOp::create(builder, loc, builder.getFloatAttr(factor.getType(), limit));
      require(arith::CmpFOp::create(builder, loc, predicate, factor, bound));
    };
    compare(arith::CmpFPredicate::OGE, APFloat::getSmallestNormalized(format));
    compare(arith::CmpFPredicate::OLE, APFloat::getLargest(format));
  }

  /// Returns the number of the loop's iterations.
  Value numIterations() const { return count; }

  /// Computes the induction variable's value at an iteration, or at the loop's end; `otherwise` if
  /// a guard fails.
  Value boundAt(Value iteration, Value otherwise) {
    iteration = arith::MinSIOp::create(builder, loc, iteration, count);
    Value bound = arith::AddIOp::create(builder, loc, lower, times(iteration, step));
    Type type = loop.getUpperBound().getType();
    if (type.isIndex())
      bound = arith::IndexCastOp::create(builder, loc, type, bound);
    else if (type != bound.getType())
      bound = arith::TruncIOp::create(builder, loc, type, bound, arith::IntegerOverflowFlags::nsw);
    return holds ? arith::SelectOp::create(builder, loc, holds, bound, otherwise) : bound;
  }

  template <typename Choice> Value choose(Value first, Value second) {
    return first ? Choice::create(builder, loc, first, second) : second;
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  Value plus(Value value, int64_t number) {
    return number ? arith::AddIOp::create(builder, loc, value, constant(number)) : value;
  }
  Value times(Value value, int64_t factor) {
    return factor == 1 ? value : arith::MulIOp::create(builder, loc, value, constant(factor));
  }
  /// For numbers from 0: divisions by powers of two are shifts.
  Value dividedBy(Value value, int64_t divisor) {
    return divisor == 1 ? value : arith::DivUIOp::create(builder, loc, value, constant(divisor));
  }
  Value wide(Value scalar) {
    Type type = builder.getI64Type();
    if (scalar.getType() == type)
      return scalar;
    if (scalar.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, type, scalar);
    return arith::ExtSIOp::create(builder, loc, type, scalar);
  }
  Value sumOf(const LinearForm &form, int64_t offset) {
    Value sum;
    for (const LinearForm::Term &term : form.terms)
      sum = choose<arith::AddIOp>(sum, times(wide(term.leaf), term.factor));
    return sum ? plus(sum, offset) : constant(offset);
  }
  void require(CmpIPredicate predicate, Value value, Value growth, int64_t limit) {
    if (growth)
      value = arith::AddIOp::create(builder, loc, value, growth);
    require(arith::CmpIOp::create(builder, loc, predicate, value, constant(limit)));
  }
  void require(Value condition) { holds = choose<arith::AndIOp>(holds, condition); }

  scf::ForOp loop;
  int64_t step;
  OpBuilder builder;
  Location loc;
  Value lower, upper, count, last;
  Value holds; // whether all guards do
};
} // namespace

//===-- The loops -----------------------------------------------------------------------------===//

static void replaceByTrue(arith::CmpIOp comparison) {
  OpBuilder builder(comparison);
  auto type = cast<RankedTensorType>(comparison.getType());
  comparison.replaceAllUsesWith(
      arith::ConstantOp::create(builder, comparison.getLoc(), DenseElementsAttr::get(type, true))
          .getResult());
  comparison.erase();
}

/// Most often a loop of masked iterations runs once.
static void markShort(scf::ForOp loop, int64_t numMixed) {
  if (numMixed < kFewIterations)
    loop->setAttr(kLoopShort, UnitAttr::get(loop.getContext()));
}

static void markEnd(scf::ForOp loop, const LoopSplit &split) {
  if (!split.masks.empty() && llvm::all_of(split.masks, [](const SplitMask &mask) {
        return mask.isPrefix() && mask.isMixedOnce();
      }))
    loop->setAttr(kLoopOfEnd, UnitAttr::get(loop.getContext()));
}

/// Clones the loop before itself, without the masks of `split` and, where these include suffixes,
/// once more with them. The loop stays for the last iterations, or goes.
static void apply(scf::ForOp loop, const LoopSplit &split, int64_t step) {
  SplitBounds bounds(loop, step);
  bounds.requireEnd();
  for (const FormGuard &guard : split.guards)
    bounds.require(guard);
  for (Value factor : split.factors)
    bounds.requirePositiveNormal(factor);
  Value first, end; // iterations of the loop without masks
  int64_t mixedBefore = 0, mixedAfter = 0;
  for (const SplitMask &mask : split.masks) {
    Value iteration = bounds.iterationOf(mask);
    int64_t &mixed = mask.isPrefix() ? mixedAfter : mixedBefore;
    mixed = std::max(mixed, mask.numMixed());
    if (mask.isPrefix())
      end = bounds.choose<arith::MinSIOp>(end, iteration);
    else
      first = bounds.choose<arith::MaxSIOp>(first, iteration);
  }
  if (!split.factors.empty() && !end)
    end = bounds.numIterations();
  if (first && end)
    end = bounds.choose<arith::MaxSIOp>(end, first);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value mainLower = first ? bounds.boundAt(first, end ? lower : upper) : lower;
  Value mainUpper = end ? bounds.boundAt(end, lower) : upper;

  OpBuilder builder(loop);
  auto cloneFor = [&](Value from, Value to, ValueRange inits, IRMapping &mapping) {
    auto clone = cast<scf::ForOp>(builder.clone(*loop, mapping));
    clone.setLowerBound(from);
    clone.setUpperBound(to);
    clone.getInitArgsMutable().assign(inits);
    return clone;
  };
  SmallVector<Value> carried(loop.getInitArgs());
  if (first) {
    IRMapping mapping;
    scf::ForOp before = cloneFor(lower, mainLower, carried, mapping);
    markShort(before, mixedBefore);
    before->setAttr(kLoopWholeSteps, builder.getUnitAttr());
    carried.assign(before.result_begin(), before.result_end());
  }
  IRMapping mapping;
  scf::ForOp main = cloneFor(mainLower, mainUpper, carried, mapping);
  for (SplitMask mask : split.masks)
    replaceByTrue(mapping.lookup(mask.comparison.getResult()).getDefiningOp<arith::CmpIOp>());
  for (const ScaledMaximum &scaled : findScaledMaxima(main))
    if (split.factors.contains(scaled.factor))
      takeOfScores(scaled);
  if (!end) {
    loop.replaceAllUsesWith(main.getResults());
    loop.erase();
    return;
  }
  main->setAttr(kLoopWholeSteps, builder.getUnitAttr());
  loop.setLowerBound(mainUpper);
  loop.getInitArgsMutable().assign(main.getResults());
  markShort(loop, mixedAfter);
  markEnd(loop, split);
}

/// Returns true if a loop contains products. In SIMD code, products take most of the time, and each
/// loop nest tests for itself whether its masks are full: a second loop would only cost compile
/// time.
static bool hasProducts(scf::ForOp loop) {
  return loop.getBody()->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Number of operations of a loop; nothing where it has loops inside.
static std::optional<int64_t> sizeOf(scf::ForOp loop) {
  int64_t size = 0;
  bool hasLoops = false;
  loop.getBody()->walk([&](Operation *op) {
    ++size;
    hasLoops |= isa<LoopLikeOpInterface>(op);
  });
  return hasLoops ? std::nullopt : std::optional(size);
}

/// Returns true if the loop was split.
static bool splitLoop(scf::ForOp loop, const IndexFacts &facts) {
  APInt step;
  constexpr unsigned largestStepBits = 32;
  if (loop.getUnsignedCmp() || !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      !step.isStrictlyPositive() || step.getSignificantBits() > largestStepBits)
    return false;
  std::optional<int64_t> size = sizeOf(loop);
  if (!size)
    return false;
  for (const ScaledMaximum &scaled : findScaledMaxima(loop))
    if (isPositiveNormal(scaled.factor).value_or(false))
      takeOfScores(scaled);
  LoopSplit split = planSplit(loop, facts);
  // Bounds of 64 bits are guarded as the masks' scalars are.
  LoopForms bounds(loop, facts);
  if ((split.masks.empty() && split.factors.empty()) || !bounds.ofInvariant(loop.getLowerBound()) ||
      !bounds.ofInvariant(loop.getUpperBound()))
    return false;
  if (*size > kLargestBody) {
    emitCodedRemark(loop, Code::SplitLoop)
        << "this loop computes its masks in every iteration: it is too large to be written out "
           "more than once";
    return false;
  }
  split.require(bounds);
  if (!split.masks.empty())
    emitCodedRemark(loop, Code::SplitLoop)
        << "masks that this loop computes only where they are not all true: " << split.masks.size();
  apply(loop, split, step.getSExtValue());
  return true;
}

namespace {
struct SplitLoopsByMask : tw::impl::SplitLoopsByMaskBase<SplitLoopsByMask> {
  using SplitLoopsByMaskBase::SplitLoopsByMaskBase;

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    IndexFacts facts(getOperation());
    for (scf::ForOp loop : loops)
      if (hasProducts(loop) == products && splitLoop(loop, facts))
        facts = IndexFacts(getOperation());
  }
};
} // namespace
