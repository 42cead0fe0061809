// Python's operators on values known at compile time.
#include "frontend/values/StaticOperators.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tw;
using llvm::APInt;
using llvm::APSInt;
using llvm::formatv;

// Larger integers are never meant, and would let a kernel exhaust the compiler's memory.
static constexpr unsigned kMaxIntBits = 4096;

//===-- Binary operators ---------------------------------------------------------------------===//

static Reason refuseOperands(BinaryOperator op, const PyValue &a, const PyValue &b) {
  return refuse(
      formatv("`{0}` does not take {1} and {2}", rowOf(op).symbol, typeName(a), typeName(b)));
}

/// Both integers widened so that no sum, product or negation can overflow.
static std::pair<APSInt, APSInt> widen(const APSInt &a, const APSInt &b) {
  unsigned bits = a.getBitWidth() + b.getBitWidth() + 2;
  return {a.extend(bits), b.extend(bits)};
}

static OrReason<PyValue> narrowed(const APInt &value) {
  unsigned bits = std::max(64u, value.getSignificantBits());
  if (bits > kMaxIntBits)
    return refuse(formatv("an integer of more than {0} bits", kMaxIntBits));
  return PyValue{APSInt(value.sextOrTrunc(bits), /*isUnsigned=*/false)};
}

/// Python rounds quotients down; APInt rounds toward 0.
static std::pair<APInt, APInt> floorDivMod(const APSInt &a, const APSInt &b) {
  APInt quotient, remainder;
  APInt::sdivrem(a, b, quotient, remainder);
  if (!remainder.isZero() && remainder.isNegative() != b.isNegative()) {
    --quotient;
    remainder += b;
  }
  return {quotient, remainder};
}

static OrReason<PyValue> integerShift(bool isLeft, const APSInt &a, const APSInt &amount) {
  if (amount.isNegative())
    return refuse("negative shift count");
  if (!isLeft)
    return narrowed(a.ashr(unsigned(amount.getLimitedValue(a.getBitWidth() - 1))));
  uint64_t count = amount.getLimitedValue(kMaxIntBits);
  return narrowed(a.extend(a.getBitWidth() + unsigned(count)).shl(unsigned(count)));
}

static OrReason<PyValue> floatPower(double base, double exponent);
static constexpr llvm::StringLiteral kTooLargeForFloat = "an integer is too large for a float";

/// Returns true if a double holds an integer without rounding.
static bool isExactDouble(const PyValue &integer) {
  APSInt number = toInteger(integer);
  return number.getSignificantBits() <= 54; // with the sign
}

/// Returns true if Python converts a number to a float; it refuses numbers beyond the largest one.
static bool isFiniteDouble(const PyValue &number) {
  return !number.isInteger() || std::isfinite(toDouble(number));
}

static OrReason<PyValue> integerPower(const APSInt &base, const APSInt &exponent) {
  if (exponent.isNegative()) {
    if (!isExactDouble({base}) || !isExactDouble({exponent}))
      return refuse(kTooLargeForFloat);
    return floatPower(toDouble({base}), toDouble({exponent}));
  }
  APInt result(kMaxIntBits + 64, 1);
  APInt factor = base.sextOrTrunc(kMaxIntBits + 64);
  bool isSmall = base.isZero() || base.isOne() || base.isAllOnes();
  uint64_t count = isSmall ? (exponent[0] ? 1 : 0) + (exponent.isZero() ? 0 : 2)
                           : exponent.getLimitedValue(kMaxIntBits + 1);
  for (uint64_t i = 0; i < count; ++i) {
    result *= factor;
    if (result.getSignificantBits() > kMaxIntBits)
      return refuse(formatv("an integer of more than {0} bits", kMaxIntBits));
  }
  return narrowed(result);
}

static bool isDivision(BinaryOperator op) {
  return op == BinaryOperator::Div || op == BinaryOperator::FloorDiv || op == BinaryOperator::Mod;
}

static OrReason<PyValue> integerBinary(BinaryOperator op, const APSInt &left, const APSInt &right) {
  if (right.isZero() && isDivision(op))
    return refuse("division by zero");
  auto [a, b] = widen(left, right);
  switch (op) {
  case BinaryOperator::LShift:
  case BinaryOperator::RShift:
    return integerShift(op == BinaryOperator::LShift, left, right);
  case BinaryOperator::Pow:
    return integerPower(left, right);
  case BinaryOperator::Add:
    return narrowed(a + b);
  case BinaryOperator::Sub:
    return narrowed(a - b);
  case BinaryOperator::Mul:
    return narrowed(a * b);
  case BinaryOperator::BitAnd:
    return narrowed(a & b);
  case BinaryOperator::BitOr:
    return narrowed(a | b);
  case BinaryOperator::BitXor:
    return narrowed(a ^ b);
  case BinaryOperator::Div:
    if (!isExactDouble({left}) || !isExactDouble({right}))
      return refuse(kTooLargeForFloat); // the quotient of rounded numbers is not Python's
    return PyValue{toDouble({left}) / toDouble({right})};
  case BinaryOperator::FloorDiv:
    return narrowed(floorDivMod(a, b).first);
  case BinaryOperator::Mod:
    return narrowed(floorDivMod(a, b).second);
  case BinaryOperator::MatMul:
    return refuseOperands(op, {left}, {right});
  }
  llvm_unreachable("every operator returns");
}

/// Quotient and remainder of floats. The quotient is that of an exact multiple, which a rounded
/// division may miss by less than one half, so that it is rounded to the nearest integer.
static std::pair<double, double> floorDivMod(double a, double b) {
  double remainder = std::fmod(a, b), quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((remainder < 0) != (b < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0)
    return {std::copysign(0.0, a / b), remainder};
  double whole = std::floor(quotient);
  return {quotient - whole > 0.5 ? whole + 1 : whole, remainder};
}

static OrReason<PyValue> floatPower(double base, double exponent) {
  if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent))
    return refuse("a negative number to a fractional power");
  if (base == 0 && exponent < 0)
    return refuse("zero to a negative power");
  double power = std::pow(base, exponent);
  if (std::isinf(power) && std::isfinite(base) && std::isfinite(exponent))
    return refuse("the result is too large for a float");
  return PyValue{power};
}

static OrReason<PyValue> floatBinary(BinaryOperator op, const PyValue &left, const PyValue &right) {
  double a = toDouble(left), b = toDouble(right);
  if (b == 0 && isDivision(op))
    return refuse("division by zero");
  switch (op) {
  case BinaryOperator::Add:
    return PyValue{a + b};
  case BinaryOperator::Sub:
    return PyValue{a - b};
  case BinaryOperator::Mul:
    return PyValue{a * b};
  case BinaryOperator::Div:
    return PyValue{a / b};
  case BinaryOperator::FloorDiv:
    return PyValue{floorDivMod(a, b).first};
  case BinaryOperator::Mod:
    return PyValue{floorDivMod(a, b).second};
  case BinaryOperator::Pow:
    return floatPower(a, b);
  default:
    return refuseOperands(op, left, right);
  }
}

static OrReason<PyValue> repeated(const PyValue &sequence, const PyValue &count) {
  std::optional<int64_t> times = toInt64(count);
  const std::string *text = sequence.as<std::string>();
  const Tuple *tuple = sequence.as<Tuple>();
  size_t size = text ? text->size() : (*tuple)->items.size();
  if (!times ||
      (*times > 0 && size * uint64_t(std::min<int64_t>(*times, kMaxElements + 1)) > kMaxElements))
    return refuse(formatv("a sequence of more than {0} elements", kMaxElements));
  std::string repeatedText;
  std::vector<PyValue> items;
  for (int64_t i = 0; size != 0 && i < *times; ++i) {
    if (text)
      repeatedText += *text;
    else
      llvm::append_range(items, (*tuple)->items);
  }
  return text ? PyValue{repeatedText} : makeTuple(std::move(items));
}

static OrReason<PyValue> joinedTexts(const std::string &left, const std::string &right) {
  if (left.size() + right.size() > kMaxElements)
    return refuse("a text that is too long");
  return PyValue{left + right};
}

static OrReason<PyValue> joinedTuples(const Tuple &left, const Tuple &right) {
  std::vector<PyValue> items = left->items;
  llvm::append_range(items, right->items);
  if (items.size() > kMaxElements)
    return refuse("a tuple that is too long");
  return makeTuple(std::move(items));
}

/// Applies the operator to texts and tuples; nullopt where it has no meaning for them.
static std::optional<OrReason<PyValue>> sequenceBinary(BinaryOperator op, const PyValue &a,
                                                       const PyValue &b) {
  if (op == BinaryOperator::Add) {
    if (const std::string *left = a.as<std::string>(), *right = b.as<std::string>(); left && right)
      return joinedTexts(*left, *right);
    if (const Tuple *left = a.as<Tuple>(), *right = b.as<Tuple>(); left && right)
      return joinedTuples(*left, *right);
  }
  auto isSequence = [](const PyValue &v) { return v.is<std::string>() || v.is<Tuple>(); };
  if (op == BinaryOperator::Mul && isSequence(a) && b.isInteger())
    return repeated(a, b);
  if (op == BinaryOperator::Mul && isSequence(b) && a.isInteger())
    return repeated(b, a);
  return std::nullopt;
}

/// The operators that yield a bool of two bools.
static std::optional<bool> boolBinary(BinaryOperator op, bool a, bool b) {
  switch (op) {
  case BinaryOperator::BitAnd:
    return a && b;
  case BinaryOperator::BitOr:
    return a || b;
  case BinaryOperator::BitXor:
    return a != b;
  default:
    return std::nullopt;
  }
}

OrReason<PyValue> tw::staticBinary(BinaryOperator op, const PyValue &a, const PyValue &b) {
  if (std::optional<OrReason<PyValue>> result = sequenceBinary(op, a, b))
    return *result;
  if (!a.isNumber() || !b.isNumber())
    return refuseOperands(op, a, b);
  if (const bool *left = a.as<bool>(), *right = b.as<bool>(); left && right)
    if (std::optional<bool> result = boolBinary(op, *left, *right))
      return PyValue{*result};
  if (a.isInteger() && b.isInteger())
    return integerBinary(op, toInteger(a), toInteger(b));
  if (!isFiniteDouble(a) || !isFiniteDouble(b))
    return refuse(kTooLargeForFloat);
  return floatBinary(op, a, b);
}

OrReason<PyValue> tw::staticUnary(UnaryOperator op, const PyValue &a) {
  if (op == UnaryOperator::Not)
    return PyValue{!truthOf(a)};
  if (const double *number = a.as<double>(); number && op != UnaryOperator::Invert)
    return PyValue{op == UnaryOperator::USub ? -*number : *number};
  if (!a.isInteger())
    return refuse(formatv("`{0}` does not take {1}", rowOf(op).symbol, typeName(a)));
  APSInt integer = toInteger(a);
  APInt wide = integer.extend(integer.getBitWidth() + 1);
  if (op == UnaryOperator::USub)
    return narrowed(-wide);
  if (op == UnaryOperator::Invert)
    return narrowed(~wide);
  return PyValue{integer};
}

//===-- Comparisons --------------------------------------------------------------------------===//

/// -1, 0, 1; nullopt when not ordered (NaN, or types without an order).
static std::optional<int> order(const PyValue &a, const PyValue &b, bool &isComparable) {
  isComparable = true;
  if (a.isNumber() && b.isNumber())
    return orderOfNumbers(a, b);
  if (const std::string *left = a.as<std::string>(), *right = b.as<std::string>(); left && right)
    return left->compare(*right) < 0 ? -1 : left->compare(*right) > 0;
  if (const Tuple *left = a.as<Tuple>(), *right = b.as<Tuple>(); left && right) {
    for (auto [x, y] : llvm::zip((*left)->items, (*right)->items))
      if (!areEqual(x, y))
        return order(x, y, isComparable);
    size_t leftSize = (*left)->items.size(), rightSize = (*right)->items.size();
    return leftSize < rightSize ? -1 : leftSize > rightSize;
  }
  isComparable = false;
  return std::nullopt;
}

static OrReason<PyValue> membership(bool isNegated, const PyValue &item, const PyValue &container) {
  if (const std::string *text = container.as<std::string>(), *part = item.as<std::string>();
      text && part)
    return PyValue{llvm::StringRef(*text).contains(*part) != isNegated};
  std::optional<std::vector<PyValue>> items = elementsOf(container);
  if (!items || container.is<std::string>())
    return refuse(formatv("{0} cannot be searched", typeName(container)));
  bool found = llvm::any_of(*items, [&](const PyValue &other) { return areEqual(item, other); });
  return PyValue{found != isNegated};
}

/// The answer to an ordering comparison of values of which one is less (-1), greater (1) or
/// neither.
static bool isOrdered(Comparison op, int sign) {
  switch (op) {
  case Comparison::Lt:
    return sign < 0;
  case Comparison::LtE:
    return sign <= 0;
  case Comparison::Gt:
    return sign > 0;
  default:
    return sign >= 0;
  }
}

OrReason<PyValue> tw::staticCompare(Comparison op, const PyValue &a, const PyValue &b) {
  switch (op) {
  case Comparison::Eq:
  case Comparison::NotEq:
    return PyValue{areEqual(a, b) == (op == Comparison::Eq)};
  case Comparison::Is:
  case Comparison::IsNot: {
    bool isSame = a.data.index() == b.data.index() && areEqual(a, b);
    return PyValue{isSame == (op == Comparison::Is)};
  }
  case Comparison::In:
  case Comparison::NotIn:
    return membership(op == Comparison::NotIn, a, b);
  default:
    break;
  }
  bool isComparable = false;
  std::optional<int> sign = order(a, b, isComparable);
  if (!isComparable)
    return refuse(formatv("{0} and {1} cannot be ordered", typeName(a), typeName(b)));
  return PyValue{sign && isOrdered(op, *sign)};
}
