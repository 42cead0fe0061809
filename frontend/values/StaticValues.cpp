// Python's operators on values known at compile time.
#include "frontend/values/StaticValues.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/Parts.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tw;
using llvm::APInt;
using llvm::APSInt;

// Larger integers and strings are never meant, and would let a kernel exhaust the compiler's
// memory.
static constexpr unsigned kMaxIntBits = 4096;
static constexpr size_t kMaxElements = 1 << 16;

Value tw::makeInt(int64_t value) { return {APSInt::get(value)}; }

Value tw::makeTuple(std::vector<Value> items, std::vector<std::string> fields) {
  return {
      std::make_shared<const TupleContents>(TupleContents{std::move(items), std::move(fields)})};
}

Value tw::named(Value value, bool isNamed) {
  value.isNamed = isNamed && value.isNumber();
  const Tuple *tuple = value.as<Tuple>();
  if (!tuple)
    return value;
  std::vector<Value> items;
  for (const Value &item : (*tuple)->items)
    items.push_back(named(item, isNamed));
  return makeTuple(std::move(items), (*tuple)->fields);
}

const TupleContents *tw::partsOf(const Value &value) {
  if (const Aggregate *aggregate = value.as<Aggregate>())
    return aggregate->contents.get();
  const Tuple *tuple = value.as<Tuple>();
  return tuple ? tuple->get() : nullptr;
}

Value tw::withParts(const Value &value, std::vector<Value> parts) {
  Value tuple = makeTuple(std::move(parts), partsOf(value)->fields);
  if (const Aggregate *aggregate = value.as<Aggregate>())
    return {Aggregate{*tuple.as<Tuple>(), aggregate->type}};
  return tuple;
}

std::shared_ptr<const Value> tw::share(Value value) {
  return std::make_shared<const Value>(std::move(value));
}

bool tw::isStatic(const Value &value) {
  if (const TupleContents *parts = partsOf(value))
    return llvm::all_of(parts->items, isStatic);
  if (const RangeValue *range = value.as<RangeValue>())
    return isStatic(*range->start) && isStatic(*range->stop) && isStatic(*range->step);
  if (const Callable *method = value.as<Callable>(); method && method->self)
    return isStatic(*method->self);
  return !value.isRuntime() && !value.is<Absent>() && !value.is<Descriptor>();
}

bool tw::truthOf(const Value &value) {
  if (const bool *flag = value.as<bool>())
    return *flag;
  if (const APSInt *integer = value.as<APSInt>())
    return !integer->isZero();
  if (const double *number = value.as<double>())
    return *number != 0;
  if (const std::string *text = value.as<std::string>())
    return !text->empty();
  if (const Tuple *tuple = value.as<Tuple>())
    return !(*tuple)->items.empty();
  if (const RangeValue *range = value.as<RangeValue>())
    return lengthOf(*range).value_or(1) != 0;
  return !value.is<None>();
}

APSInt tw::toInteger(const Value &integer) {
  if (const bool *flag = integer.as<bool>())
    return APSInt::get(*flag);
  return *integer.as<APSInt>();
}

double tw::toDouble(const Value &number) {
  if (const double *value = number.as<double>())
    return *value;
  llvm::APFloat nearest(llvm::APFloat::IEEEdouble());
  nearest.convertFromAPInt(toInteger(number), /*IsSigned=*/true,
                           llvm::APFloat::rmNearestTiesToEven);
  return nearest.convertToDouble();
}

std::optional<int64_t> tw::toInt64(const Value &value) {
  if (!value.isInteger())
    return std::nullopt;
  APSInt integer = toInteger(value);
  return integer.isSignedIntN(64) ? std::optional(integer.getSExtValue()) : std::nullopt;
}

std::optional<int64_t> tw::lengthOf(const RangeValue &range) {
  std::optional<int64_t> start = toInt64(*range.start), stop = toInt64(*range.stop),
                         step = toInt64(*range.step);
  if (!start || !stop || !step || *step == 0)
    return std::nullopt;
  __int128 distance = *step > 0 ? (__int128)*stop - *start : (__int128)*start - *stop;
  __int128 stride = *step > 0 ? (__int128)*step : -(__int128)*step;
  __int128 length = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  return length > INT64_MAX ? std::nullopt : std::optional(int64_t(length));
}

std::vector<llvm::StringRef> tw::charactersOf(llvm::StringRef text) {
  std::vector<llvm::StringRef> characters;
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    // The bytes after a character's first one in UTF-8 are 10xxxxxx.
    for (end = begin + 1; end < text.size() && (text[end] & 0xC0) == 0x80;)
      ++end;
    characters.push_back(text.slice(begin, end));
  }
  return characters;
}

std::optional<std::vector<Value>> tw::elementsOf(const Value &value) {
  if (const Tuple *tuple = value.as<Tuple>())
    return (*tuple)->items;
  std::vector<Value> items;
  if (const std::string *text = value.as<std::string>()) {
    for (llvm::StringRef character : charactersOf(*text))
      items.push_back({character.str()});
    return items;
  }
  const RangeValue *range = value.as<RangeValue>();
  std::optional<int64_t> length = range ? lengthOf(*range) : std::nullopt;
  if (!length || *length > int64_t(kMaxElements))
    return std::nullopt;
  for (int64_t i = 0; i < *length; ++i)
    items.push_back(makeInt(*toInt64(*range->start) + i * *toInt64(*range->step)));
  return items;
}

/// Which of Python's objects a value stands for.
static llvm::StringRef referenceOf(const llvm::json::Object *json) {
  return json ? json->getString("ref").value_or("") : "";
}

/// -1, 0 or 1, exactly: an integer of many bits is not rounded to be compared. nullopt for NaN.
static std::optional<int> orderOfNumbers(const Value &a, const Value &b) {
  if (a.isInteger() && b.isInteger())
    return APSInt::compareValues(toInteger(a), toInteger(b));
  if (a.isInteger()) {
    std::optional<int> reverse = orderOfNumbers(b, a);
    return reverse ? std::optional(-*reverse) : std::nullopt;
  }
  double left = *a.as<double>();
  if (std::isnan(left))
    return std::nullopt;
  if (std::isinf(left) || !b.isInteger()) {
    double right = b.isInteger() ? 0 : *b.as<double>();
    if (std::isnan(right))
      return std::nullopt;
    return left < right ? -1 : left > right;
  }
  APSInt whole(1100, /*isUnsigned=*/false); // the largest double has 1024 bits
  bool isExact;
  llvm::APFloat(left).convertToInteger(whole, llvm::APFloat::rmTowardNegative, &isExact);
  int sign = APSInt::compareValues(whole, toInteger(b));
  return sign == 0 && left != std::floor(left) ? 1 : sign;
}

/// Ranges are equal when they count the same numbers.
static bool areEqualRanges(const RangeValue &a, const RangeValue &b) {
  std::optional<int64_t> length = lengthOf(a);
  if (!length || length != lengthOf(b) || *length == 0)
    return length && length == lengthOf(b);
  return areEqual(*a.start, *b.start) && (*length == 1 || areEqual(*a.step, *b.step));
}

bool tw::areEqual(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber())
    return orderOfNumbers(a, b) == 0;
  if (const RangeValue *left = a.as<RangeValue>(), *right = b.as<RangeValue>(); left && right)
    return areEqualRanges(*left, *right);
  if (const SliceValue *left = a.as<SliceValue>(), *right = b.as<SliceValue>(); left && right)
    return areEqual(*left->lower, *right->lower) && areEqual(*left->upper, *right->upper) &&
           areEqual(*left->step, *right->step);
  if (const Tuple *left = a.as<Tuple>(), *right = b.as<Tuple>(); left && right)
    return llvm::equal((*left)->items, (*right)->items, areEqual);
  if (const std::string *left = a.as<std::string>(), *right = b.as<std::string>(); left && right)
    return *left == *right;
  if (const DType *left = a.as<DType>(), *right = b.as<DType>(); left && right)
    return *left == *right;
  if (const TileType *left = a.as<TileType>(), *right = b.as<TileType>(); left && right)
    return *left == *right;
  if (const DescriptorType *left = a.as<DescriptorType>(), *right = b.as<DescriptorType>();
      left && right)
    return *left == *right;
  if (const Callable *left = a.as<Callable>(), *right = b.as<Callable>(); left && right)
    return left->kind == right->kind && left->name == right->name && left->self == right->self &&
           left->closure == right->closure && referenceOf(left->json) == referenceOf(right->json);
  if (const Opaque *left = a.as<Opaque>(), *right = b.as<Opaque>(); left && right)
    return left->text == right->text && left->isModule == right->isModule &&
           referenceOf(left->json) == referenceOf(right->json);
  return a.is<None>() && b.is<None>();
}

bool tw::areIdentical(const Value &a, const Value &b) {
  if (a.data.index() != b.data.index())
    return false;
  if (const TypedValue *left = a.as<TypedValue>())
    return left->value == b.as<TypedValue>()->value && left->dtype == b.as<TypedValue>()->dtype;
  if (const double *left = a.as<double>()) // NaN is itself, 0.0 is not -0.0
    return std::memcmp(left, b.as<double>(), sizeof(double)) == 0;
  if (const Aggregate *left = a.as<Aggregate>();
      left && referenceOf(left->type) != referenceOf(b.as<Aggregate>()->type))
    return false;
  if (const TupleContents *left = partsOf(a))
    return left->fields == partsOf(b)->fields &&
           llvm::equal(left->items, partsOf(b)->items, areIdentical);
  if (const Descriptor *left = a.as<Descriptor>())
    return (*left)->type == (*b.as<Descriptor>())->type &&
           llvm::equal((*left)->parts, (*b.as<Descriptor>())->parts, areIdentical);
  if (const RangeValue *left = a.as<RangeValue>(), *right = b.as<RangeValue>(); left && right)
    return left->isStatic == right->isStatic && left->options == right->options &&
           areIdentical(*left->start, *right->start) && areIdentical(*left->stop, *right->stop) &&
           areIdentical(*left->step, *right->step);
  if (const SliceValue *left = a.as<SliceValue>(), *right = b.as<SliceValue>(); left && right)
    return areIdentical(*left->lower, *right->lower) && areIdentical(*left->upper, *right->upper) &&
           areIdentical(*left->step, *right->step);
  return areEqual(a, b);
}

//===-- Binary operators ---------------------------------------------------------------------===//

static std::string operandError(llvm::StringRef op, const Value &a, const Value &b) {
  return llvm::formatv("operator {0} does not take {1} and {2}", op, typeName(a), typeName(b));
}

/// Both integers widened so that no sum, product or negation can overflow.
static std::pair<APSInt, APSInt> widen(const APSInt &a, const APSInt &b) {
  unsigned bits = a.getBitWidth() + b.getBitWidth() + 2;
  return {a.extend(bits), b.extend(bits)};
}

static StaticResult narrowed(const APInt &value) {
  unsigned bits = std::max(64u, value.getSignificantBits());
  if (bits > kMaxIntBits)
    return std::string(llvm::formatv("an integer of more than {0} bits", kMaxIntBits));
  return Value{APSInt(value.sextOrTrunc(bits), /*isUnsigned=*/false)};
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

static StaticResult integerShift(llvm::StringRef op, const APSInt &a, const APSInt &amount) {
  if (amount.isNegative())
    return std::string("negative shift count");
  if (op == "RShift")
    return narrowed(a.ashr(unsigned(amount.getLimitedValue(a.getBitWidth() - 1))));
  uint64_t count = amount.getLimitedValue(kMaxIntBits);
  return narrowed(a.extend(a.getBitWidth() + unsigned(count)).shl(unsigned(count)));
}

static StaticResult floatPower(double base, double exponent);
static constexpr llvm::StringLiteral kTooLargeForFloat = "an integer is too large for a float";

/// Whether an integer is a double without rounding.
static bool isExactDouble(const Value &integer) {
  APSInt number = toInteger(integer);
  return number.getSignificantBits() <= 54; // with the sign
}

/// Whether Python converts a number to a float, which it refuses beyond the largest one.
static bool isFiniteDouble(const Value &number) {
  return !number.isInteger() || std::isfinite(toDouble(number));
}

static StaticResult integerPower(const APSInt &base, const APSInt &exponent) {
  if (exponent.isNegative()) {
    if (!isExactDouble({base}) || !isExactDouble({exponent}))
      return std::string(kTooLargeForFloat);
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
      return std::string(llvm::formatv("an integer of more than {0} bits", kMaxIntBits));
  }
  return narrowed(result);
}

static StaticResult integerBinary(llvm::StringRef op, const APSInt &left, const APSInt &right) {
  if (op == "LShift" || op == "RShift")
    return integerShift(op, left, right);
  if (op == "Pow")
    return integerPower(left, right);
  auto [a, b] = widen(left, right);
  if (op == "Add")
    return narrowed(a + b);
  if (op == "Sub")
    return narrowed(a - b);
  if (op == "Mult")
    return narrowed(a * b);
  if (op == "BitAnd")
    return narrowed(a & b);
  if (op == "BitOr")
    return narrowed(a | b);
  if (op == "BitXor")
    return narrowed(a ^ b);
  if (right.isZero() && (op == "Div" || op == "FloorDiv" || op == "Mod"))
    return std::string("division by zero");
  if (op == "Div" && (!isExactDouble({left}) || !isExactDouble({right})))
    return std::string(kTooLargeForFloat); // the quotient of rounded numbers is not Python's
  if (op == "Div")
    return Value{toDouble({left}) / toDouble({right})};
  if (op != "FloorDiv" && op != "Mod")
    return operandError(op, {left}, {right});
  auto [quotient, remainder] = floorDivMod(a, b);
  return narrowed(op == "Mod" ? remainder : quotient);
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

static StaticResult floatPower(double base, double exponent) {
  if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent))
    return std::string("a negative number to a fractional power");
  if (base == 0 && exponent < 0)
    return std::string("zero to a negative power");
  double power = std::pow(base, exponent);
  if (std::isinf(power) && std::isfinite(base) && std::isfinite(exponent))
    return std::string("the result is too large for a float");
  return Value{power};
}

static StaticResult floatBinary(llvm::StringRef op, double a, double b) {
  if (b == 0 && (op == "Div" || op == "FloorDiv" || op == "Mod"))
    return std::string("division by zero");
  if (op == "Add")
    return Value{a + b};
  if (op == "Sub")
    return Value{a - b};
  if (op == "Mult")
    return Value{a * b};
  if (op == "Div")
    return Value{a / b};
  if (op == "FloorDiv")
    return Value{floorDivMod(a, b).first};
  if (op == "Mod")
    return Value{floorDivMod(a, b).second};
  if (op == "Pow")
    return floatPower(a, b);
  return operandError(op, {a}, {b});
}

static StaticResult repeated(const Value &sequence, const Value &count) {
  std::optional<int64_t> times = toInt64(count);
  const std::string *text = sequence.as<std::string>();
  const Tuple *tuple = sequence.as<Tuple>();
  size_t size = text ? text->size() : (*tuple)->items.size();
  if (!times ||
      (*times > 0 && size * uint64_t(std::min<int64_t>(*times, kMaxElements + 1)) > kMaxElements))
    return std::string(llvm::formatv("a sequence of more than {0} elements", kMaxElements));
  std::string repeatedText;
  std::vector<Value> items;
  for (int64_t i = 0; size != 0 && i < *times; ++i) {
    if (text)
      repeatedText += *text;
    else
      llvm::append_range(items, (*tuple)->items);
  }
  return text ? Value{repeatedText} : makeTuple(std::move(items));
}

static std::optional<StaticResult> sequenceBinary(llvm::StringRef op, const Value &a,
                                                  const Value &b) {
  if (op == "Add") {
    if (const std::string *left = a.as<std::string>(), *right = b.as<std::string>(); left && right)
      return left->size() + right->size() > kMaxElements
                 ? StaticResult(std::string("a text that is too long"))
                 : StaticResult(Value{*left + *right});
    if (const Tuple *left = a.as<Tuple>(), *right = b.as<Tuple>(); left && right) {
      std::vector<Value> items = (*left)->items;
      llvm::append_range(items, (*right)->items);
      return items.size() > kMaxElements ? StaticResult(std::string("a tuple that is too long"))
                                         : StaticResult(makeTuple(std::move(items)));
    }
  }
  auto isSequence = [](const Value &v) { return v.is<std::string>() || v.is<Tuple>(); };
  if (op == "Mult" && isSequence(a) && b.isInteger())
    return repeated(a, b);
  if (op == "Mult" && isSequence(b) && a.isInteger())
    return repeated(b, a);
  return std::nullopt;
}

StaticResult tw::staticBinary(llvm::StringRef op, const Value &a, const Value &b) {
  if (std::optional<StaticResult> result = sequenceBinary(op, a, b))
    return *result;
  if (!a.isNumber() || !b.isNumber())
    return operandError(op, a, b);
  if (a.is<bool>() && b.is<bool>() && (op == "BitAnd" || op == "BitOr" || op == "BitXor")) {
    bool left = *a.as<bool>(), right = *b.as<bool>();
    return Value{op == "BitAnd" ? left && right : op == "BitOr" ? left || right : left != right};
  }
  if (a.isInteger() && b.isInteger())
    return integerBinary(op, toInteger(a), toInteger(b));
  if (!isFiniteDouble(a) || !isFiniteDouble(b))
    return std::string(kTooLargeForFloat);
  return floatBinary(op, toDouble(a), toDouble(b));
}

StaticResult tw::staticUnary(llvm::StringRef op, const Value &a) {
  if (op == "Not")
    return Value{!truthOf(a)};
  if (const double *number = a.as<double>(); number && op != "Invert")
    return Value{op == "USub" ? -*number : *number};
  if (!a.isInteger())
    return std::string(llvm::formatv("operator {0} does not take {1}", op, typeName(a)));
  APSInt integer = toInteger(a);
  APInt wide = integer.extend(integer.getBitWidth() + 1);
  if (op == "USub")
    return narrowed(-wide);
  return op == "Invert" ? narrowed(~wide) : StaticResult(Value{integer});
}

//===-- Comparisons --------------------------------------------------------------------------===//

/// -1, 0, 1; nullopt when not ordered (NaN, or types without an order).
static std::optional<int> order(const Value &a, const Value &b, bool &isComparable) {
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

static StaticResult membership(bool isNegated, const Value &item, const Value &container) {
  if (const std::string *text = container.as<std::string>(), *part = item.as<std::string>();
      text && part)
    return Value{llvm::StringRef(*text).contains(*part) != isNegated};
  std::optional<std::vector<Value>> items = elementsOf(container);
  if (!items || container.is<std::string>())
    return std::string(llvm::formatv("{0} cannot be searched", typeName(container)));
  bool found = llvm::any_of(*items, [&](const Value &other) { return areEqual(item, other); });
  return Value{found != isNegated};
}

StaticResult tw::staticCompare(llvm::StringRef op, const Value &a, const Value &b) {
  if (op == "Eq" || op == "NotEq")
    return Value{areEqual(a, b) == (op == "Eq")};
  if (op == "Is" || op == "IsNot") {
    bool isSame = a.data.index() == b.data.index() && areEqual(a, b);
    return Value{isSame == (op == "Is")};
  }
  if (op == "In" || op == "NotIn")
    return membership(op == "NotIn", a, b);
  bool isComparable = false;
  std::optional<int> sign = order(a, b, isComparable);
  if (!isComparable)
    return std::string(llvm::formatv("{0} and {1} cannot be ordered", typeName(a), typeName(b)));
  if (!sign)
    return Value{false};
  return Value{llvm::StringSwitch<bool>(op)
                   .Case("Lt", *sign < 0)
                   .Case("LtE", *sign <= 0)
                   .Case("Gt", *sign > 0)
                   .Default(*sign >= 0)};
}
