// Facts along one dimension through one operation of integers.
#include "passes/analysis/AxisAlignment.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tw;

int64_t tw::powerOfTwoIn(uint64_t value) {
  return value == 0 ? kMaxDivisibility : std::min<uint64_t>(kMaxDivisibility, value & -value);
}

static int64_t product(int64_t lhs, int64_t rhs) {
  return lhs > kMaxDivisibility / rhs ? kMaxDivisibility : lhs * rhs;
}

int64_t tw::divisibilityAt(const AxisAlignment &axis, int64_t size, int64_t bytes) {
  return axis.run > size ? std::min(axis.divisibility, product(size, bytes)) : axis.divisibility;
}

AxisAlignment tw::meet(const AxisAlignment &lhs, const AxisAlignment &rhs, int64_t bytes) {
  AxisAlignment result;
  result.run = std::min(lhs.run, rhs.run);
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility =
      std::min(divisibilityAt(lhs, result.run, bytes), divisibilityAt(rhs, result.run, bytes));
  return result;
}

AxisAlignment tw::sum(const AxisAlignment &lhs, const AxisAlignment &rhs, int64_t bytes) {
  AxisAlignment result;
  result.run = std::max(std::min(lhs.run, rhs.constancy), std::min(lhs.constancy, rhs.run));
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run, bytes),
                                 product(divisibilityAt(rhs, result.run), bytes));
  return result;
}

AxisAlignment tw::difference(const AxisAlignment &lhs, const AxisAlignment &rhs) {
  AxisAlignment result;
  result.run = std::min(lhs.run, rhs.constancy);
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run), divisibilityAt(rhs, result.run));
  return result;
}

AxisAlignment tw::scaled(const AxisAlignment &lhs, const AxisAlignment &rhs) {
  AxisAlignment result;
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = product(divisibilityAt(lhs, 1), divisibilityAt(rhs, 1));
  return result;
}

int64_t tw::groupsWithin(const AxisAlignment &axis, int64_t step) {
  return std::min({axis.run, axis.divisibility, step});
}

AxisAlignment tw::quotient(const AxisAlignment &lhs, int64_t divisor, bool roundsDown) {
  AxisAlignment result;
  result.constancy = lhs.constancy;
  if (roundsDown)
    result.constancy = std::max(result.constancy, groupsWithin(lhs, powerOfTwoIn(divisor)));
  if (llvm::isPowerOf2_64(divisor))
    result.divisibility = std::max<int64_t>(1, divisibilityAt(lhs, 1) / divisor);
  return result;
}

AxisAlignment tw::remainder(const AxisAlignment &lhs, const AxisAlignment &rhs, bool roundsDown) {
  AxisAlignment result;
  int64_t divisor = divisibilityAt(rhs, 1);
  if (roundsDown)
    result.run = std::min(groupsWithin(lhs, divisor), std::max<int64_t>(rhs.constancy, 1));
  result.constancy = std::min(lhs.constancy, rhs.constancy);
  result.divisibility = std::min(divisibilityAt(lhs, result.run), divisor);
  return result;
}
