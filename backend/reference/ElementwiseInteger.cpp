// The meaning of integer operations on one element: total, wrapping, never undefined.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tw::reference;

/// Division by 0 yields 0; the smallest number divided by -1 wraps to itself.
static int64_t divideSigned(int64_t lhs, int64_t rhs, unsigned) {
  if (rhs == 0)
    return 0;
  return rhs == -1 ? int64_t(-uint64_t(lhs)) : lhs / rhs;
}
static int64_t remainderSigned(int64_t lhs, int64_t rhs, unsigned) {
  return rhs == 0 || rhs == -1 ? 0 : lhs % rhs;
}
static int64_t floorDivideSigned(int64_t lhs, int64_t rhs, unsigned width) {
  int64_t quotient = divideSigned(lhs, rhs, width);
  bool rounds = remainderSigned(lhs, rhs, width) != 0 && (lhs < 0) != (rhs < 0);
  return quotient - rounds;
}
static int64_t ceilDivideSigned(int64_t lhs, int64_t rhs, unsigned width) {
  int64_t quotient = divideSigned(lhs, rhs, width);
  bool rounds = remainderSigned(lhs, rhs, width) != 0 && (lhs < 0) == (rhs < 0);
  return quotient + rounds;
}

/// Shifts by the width or more push every bit out; an arithmetic one leaves the sign.
static uint64_t shiftLeft(uint64_t lhs, uint64_t rhs, unsigned width) {
  return rhs >= width ? 0 : lhs << rhs;
}
static uint64_t shiftRight(uint64_t lhs, uint64_t rhs, unsigned width) {
  return rhs >= width ? 0 : lhs >> rhs;
}
static uint64_t shiftRightSigned(const ElementwiseCall &call) {
  uint64_t distance = std::min<uint64_t>(call.unsignedAt(1), call.width() - 1);
  return truncateToWidth(uint64_t(call.signedAt(0) >> distance), call.width());
}

static uint64_t compareIntegers(const ElementwiseCall &call) {
  uint64_t lhs = call.unsignedAt(0), rhs = call.unsignedAt(1);
  int64_t signedLhs = call.signedAt(0), signedRhs = call.signedAt(1);
  switch (cast<arith::CmpIOp>(call.op).getPredicate()) {
  case arith::CmpIPredicate::eq:
    return lhs == rhs;
  case arith::CmpIPredicate::ne:
    return lhs != rhs;
  case arith::CmpIPredicate::slt:
    return signedLhs < signedRhs;
  case arith::CmpIPredicate::sle:
    return signedLhs <= signedRhs;
  case arith::CmpIPredicate::sgt:
    return signedLhs > signedRhs;
  case arith::CmpIPredicate::sge:
    return signedLhs >= signedRhs;
  case arith::CmpIPredicate::ult:
    return lhs < rhs;
  case arith::CmpIPredicate::ule:
    return lhs <= rhs;
  case arith::CmpIPredicate::ugt:
    return lhs > rhs;
  case arith::CmpIPredicate::uge:
    return lhs >= rhs;
  }
  return 0;
}

static uint64_t countLeadingZeros(const ElementwiseCall &call) {
  return llvm::countl_zero(call.unsignedAt(0)) - (64 - call.width());
}
static uint64_t countTrailingZeros(const ElementwiseCall &call) {
  return std::min<uint64_t>(llvm::countr_zero(call.unsignedAt(0)), call.width());
}
static uint64_t countOnes(const ElementwiseCall &call) {
  return llvm::popcount(call.unsignedAt(0));
}
static uint64_t absoluteInteger(const ElementwiseCall &call) {
  uint64_t x = call.unsignedAt(0);
  return truncateToWidth(call.signedAt(0) < 0 ? -x : x, call.width());
}

/// base ** exponent, wrapping; a negative exponent divides 1, which leaves 0 but for bases 1 and
/// -1.
static int64_t powerOfInteger(int64_t base, int64_t exponent, unsigned) {
  if (exponent < 0 && base != 1 && base != -1)
    return 0;
  if (exponent < 0)
    exponent = exponent & 1;
  uint64_t result = 1;
  for (uint64_t square = base; exponent > 0; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return int64_t(result);
}

static void addDivisions(Meanings &meanings) {
  meanings["arith.divsi"].elementwise = signedMeaning<divideSigned>;
  meanings["arith.remsi"].elementwise = signedMeaning<remainderSigned>;
  meanings["arith.floordivsi"].elementwise = signedMeaning<floorDivideSigned>;
  meanings["arith.ceildivsi"].elementwise = signedMeaning<ceilDivideSigned>;
  meanings["arith.divui"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return b == 0 ? 0 : a / b; }>;
  meanings["arith.remui"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return b == 0 ? 0 : a % b; }>;
  meanings["arith.ceildivui"].elementwise = unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) {
    return b == 0 ? 0 : a / b + (a % b != 0);
  }>;
}

static void addBitwise(Meanings &meanings) {
  meanings["arith.andi"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a & b; }>;
  meanings["arith.ori"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a | b; }>;
  meanings["arith.xori"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a ^ b; }>;
  meanings["arith.shli"].elementwise = unsignedMeaning<shiftLeft>;
  meanings["arith.shrui"].elementwise = unsignedMeaning<shiftRight>;
  meanings["arith.shrsi"].elementwise = shiftRightSigned;
  meanings["math.ctlz"].elementwise = countLeadingZeros;
  meanings["math.cttz"].elementwise = countTrailingZeros;
  meanings["math.ctpop"].elementwise = countOnes;
}

void tw::reference::addIntegerMeanings(Meanings &meanings) {
  addDivisions(meanings);
  addBitwise(meanings);
  meanings["arith.addi"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a + b; }>;
  meanings["arith.subi"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a - b; }>;
  meanings["arith.muli"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return a * b; }>;
  meanings["arith.maxui"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return std::max(a, b); }>;
  meanings["arith.minui"].elementwise =
      unsignedMeaning<[](uint64_t a, uint64_t b, unsigned) { return std::min(a, b); }>;
  meanings["arith.maxsi"].elementwise =
      signedMeaning<[](int64_t a, int64_t b, unsigned) { return std::max(a, b); }>;
  meanings["arith.minsi"].elementwise =
      signedMeaning<[](int64_t a, int64_t b, unsigned) { return std::min(a, b); }>;
  meanings["arith.cmpi"].elementwise = compareIntegers;
  meanings["math.absi"].elementwise = absoluteInteger;
  meanings["math.ipowi"].elementwise = signedMeaning<powerOfInteger>;
}
