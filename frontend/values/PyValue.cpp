// Values made, taken apart and compared.
#include "frontend/values/PyValue.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/Parts.h"
#include <cmath>

using namespace tw;
using llvm::APSInt;

PyValue tw::makeInt(int64_t value) { return {APSInt::get(value)}; }

PyValue tw::makeTuple(std::vector<PyValue> items, std::vector<std::string> fields) {
  return {
      std::make_shared<const TupleContents>(TupleContents{std::move(items), std::move(fields)})};
}

PyValue tw::named(PyValue value, bool isNamed) {
  value.isNamed = isNamed && value.isNumber();
  const Tuple *tuple = value.as<Tuple>();
  if (!tuple)
    return value;
  std::vector<PyValue> items;
  for (const PyValue &item : (*tuple)->items)
    items.push_back(named(item, isNamed));
  return makeTuple(std::move(items), (*tuple)->fields);
}

const TupleContents *tw::partsOf(const PyValue &value) {
  if (const Aggregate *aggregate = value.as<Aggregate>())
    return aggregate->contents.get();
  const Tuple *tuple = value.as<Tuple>();
  return tuple ? tuple->get() : nullptr;
}

PyValue tw::withParts(const PyValue &value, std::vector<PyValue> parts) {
  PyValue tuple = makeTuple(std::move(parts), partsOf(value)->fields);
  if (const Aggregate *aggregate = value.as<Aggregate>())
    return {Aggregate{*tuple.as<Tuple>(), aggregate->type}};
  return tuple;
}

PyValue tw::makeDescriptor(DescriptorType type, std::vector<PyValue> parts) {
  return {std::make_shared<const DescriptorContents>(
      DescriptorContents{std::move(type), std::move(parts)})};
}

PyValue tw::mapLeaves(const PyValue &value, llvm::function_ref<PyValue(const PyValue &)> change) {
  auto changed = [&](llvm::ArrayRef<PyValue> parts) {
    std::vector<PyValue> result;
    for (const PyValue &part : parts)
      result.push_back(mapLeaves(part, change));
    return result;
  };
  if (const TupleContents *contents = partsOf(value))
    return withParts(value, changed(contents->items));
  if (const Descriptor *descriptor = value.as<Descriptor>())
    return makeDescriptor((*descriptor)->type, changed((*descriptor)->parts));
  return change(value);
}

void tw::forEachLeaf(const PyValue &value, llvm::function_ref<void(const PyValue &)> visit) {
  if (const TupleContents *contents = partsOf(value))
    for (const PyValue &item : contents->items)
      forEachLeaf(item, visit);
  else if (const Descriptor *descriptor = value.as<Descriptor>())
    for (const PyValue &part : (*descriptor)->parts)
      forEachLeaf(part, visit);
  else
    visit(value);
}

std::shared_ptr<const PyValue> tw::share(PyValue value) {
  return std::make_shared<const PyValue>(std::move(value));
}

bool tw::isStatic(const PyValue &value) {
  if (const TupleContents *parts = partsOf(value))
    return llvm::all_of(parts->items, isStatic);
  if (const RangeValue *range = value.as<RangeValue>())
    return isStatic(*range->start) && isStatic(*range->stop) && isStatic(*range->step);
  if (const Callable *method = value.as<Callable>(); method && method->self)
    return isStatic(*method->self);
  return !value.isRuntime() && !value.is<Absent>() && !value.is<Descriptor>();
}

bool tw::truthOf(const PyValue &value) {
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

APSInt tw::toInteger(const PyValue &integer) {
  if (const bool *flag = integer.as<bool>())
    return APSInt::get(*flag);
  return *integer.as<APSInt>();
}

double tw::toDouble(const PyValue &number) {
  if (const double *value = number.as<double>())
    return *value;
  llvm::APFloat nearest(llvm::APFloat::IEEEdouble());
  nearest.convertFromAPInt(toInteger(number), /*IsSigned=*/true,
                           llvm::APFloat::rmNearestTiesToEven);
  return nearest.convertToDouble();
}

std::optional<int64_t> tw::toInt64(const PyValue &value) {
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

std::optional<std::vector<PyValue>> tw::elementsOf(const PyValue &value) {
  if (const Tuple *tuple = value.as<Tuple>())
    return (*tuple)->items;
  std::vector<PyValue> items;
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
static llvm::StringRef referenceOf(const JsonObject *json) {
  return json ? json->getString("ref").value_or("") : "";
}

std::optional<int> tw::orderOfNumbers(const PyValue &a, const PyValue &b) {
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

bool tw::areEqual(const PyValue &a, const PyValue &b) {
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

bool tw::areIdentical(const PyValue &a, const PyValue &b) {
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
