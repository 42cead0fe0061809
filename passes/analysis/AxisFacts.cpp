// Facts along one dimension through one operation of integers.
#include "passes/analysis/AxisFacts.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tw;

//===-- Changes ------------------------------------------------------------------------------===//

static AxisChange sumOf(AxisChange lhs, AxisChange rhs) {
  int64_t step = 0;
  if (lhs.isConstant() && rhs.isConstant())
    return llvm::AddOverflow(lhs.step, rhs.step, step) ? AxisChange{} : AxisChange::constant(step);
  if (lhs.isInvariant())
    return rhs;
  if (rhs.isInvariant())
    return lhs;
  return lhs.isEven() && rhs.isEven() ? AxisChange{AxisChange::Affine} : AxisChange{};
}

static AxisChange multipleOf(AxisChange change, int64_t factor) {
  int64_t step = 0;
  if (change.isConstant())
    return llvm::MulOverflow(change.step, factor, step) ? AxisChange{} : AxisChange::constant(step);
  return change.isEven() ? change : AxisChange{};
}

static AxisChange productOf(AxisChange lhs, AxisChange rhs) {
  if (lhs.isInvariant() && rhs.isInvariant())
    return lhs;
  bool isEven = (lhs.isInvariant() && rhs.isEven()) || (rhs.isInvariant() && lhs.isEven());
  return isEven ? AxisChange{AxisChange::Affine} : AxisChange{};
}

//===-- Groups -------------------------------------------------------------------------------===//

int64_t tw::powerOfTwoIn(uint64_t value) {
  return value == 0 ? kMaxDivisibility : std::min<uint64_t>(kMaxDivisibility, value & -value);
}

static int64_t times(int64_t lhs, int64_t rhs) {
  return lhs > kMaxDivisibility / rhs ? kMaxDivisibility : lhs * rhs;
}

int64_t tw::divisibilityAt(const AxisFacts &axis, int64_t size, int64_t bytes) {
  return axis.run > size ? std::min(axis.divisibility, times(size, bytes)) : axis.divisibility;
}

AxisFacts tw::meet(const AxisFacts &lhs, const AxisFacts &rhs, int64_t bytes) {
  AxisFacts result;
  result.run = std::min(lhs.run, rhs.run);
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility =
      std::min(divisibilityAt(lhs, result.run, bytes), divisibilityAt(rhs, result.run, bytes));
  if (lhs.change == rhs.change)
    result.change = lhs.change;
  return result;
}

AxisFacts tw::sum(const AxisFacts &lhs, const AxisFacts &rhs, int64_t bytes) {
  AxisFacts result;
  result.run = std::max(std::min(lhs.run, rhs.constancy), std::min(lhs.constancy, rhs.run));
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run, bytes),
                                 times(divisibilityAt(rhs, result.run), bytes));
  result.change = sumOf(lhs.change, rhs.change);
  return result;
}

AxisFacts tw::difference(const AxisFacts &lhs, const AxisFacts &rhs) {
  AxisFacts result;
  result.run = std::min(lhs.run, rhs.constancy);
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run), divisibilityAt(rhs, result.run));
  result.change = sumOf(lhs.change, multipleOf(rhs.change, -1));
  return result;
}

AxisFacts tw::product(const AxisFacts &lhs, const AxisFacts &rhs) {
  AxisFacts result;
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = times(divisibilityAt(lhs, 1), divisibilityAt(rhs, 1));
  result.change = productOf(lhs.change, rhs.change);
  return result;
}

AxisFacts tw::scaled(const AxisFacts &lhs, int64_t factor) {
  AxisFacts result;
  result.constancy = lhs.constancy;
  result.divisibility = times(divisibilityAt(lhs, 1), powerOfTwoIn(uint64_t(factor)));
  result.change = multipleOf(lhs.change, factor);
  return result;
}

int64_t tw::groupsWithin(const AxisFacts &axis, int64_t step) {
  return std::min({axis.run, axis.divisibility, step});
}

AxisFacts tw::quotient(const AxisFacts &lhs, int64_t divisor, bool roundsDown) {
  AxisFacts result;
  result.constancy = lhs.constancy;
  if (roundsDown)
    result.constancy = std::max(result.constancy, groupsWithin(lhs, powerOfTwoIn(divisor)));
  if (llvm::isPowerOf2_64(divisor))
    result.divisibility = std::max<int64_t>(1, divisibilityAt(lhs, 1) / divisor);
  result.change = AxisChange::invariantIf(lhs.change.isInvariant());
  return result;
}

AxisFacts tw::remainder(const AxisFacts &lhs, const AxisFacts &rhs, bool roundsDown) {
  AxisFacts result;
  int64_t divisor = divisibilityAt(rhs, 1);
  if (roundsDown)
    result.run = std::min(groupsWithin(lhs, divisor), std::max<int64_t>(rhs.constancy, 1));
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run), divisor);
  if (rhs.change.isInvariant())
    result.change = lhs.change.isUnit() ? AxisChange{AxisChange::WrappedUnit}
                                        : AxisChange::invariantIf(lhs.change.isInvariant());
  return result;
}
