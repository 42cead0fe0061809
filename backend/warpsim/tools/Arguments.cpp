// Reads the arguments of `warpsim run`.
#include "backend/warpsim/tools/Arguments.h"
#include "backend/warpsim/exec/Float.h"
#include <charconv>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

using namespace tw::warpsim;

namespace {
struct TypeRow {
  const char *name;
  unsigned bytes;
  bool isFloat;
  const FloatFormat *format = nullptr; // of floats below 32 bits
};
} // namespace

static const TypeRow *findType(const std::string &name) {
  static constexpr TypeRow rows[] = {
      {"i1", 1, false},          {"i8", 1, false},         {"i16", 2, false},
      {"i32", 4, false},         {"i64", 8, false},        {"e4m3", 1, true, &kE4m3},
      {"e5m2", 1, true, &kE5m2}, {"f16", 2, true, &kHalf}, {"bf16", 2, true, &kBrain},
      {"f32", 4, true},          {"f64", 8, true}};
  for (const TypeRow &row : rows)
    if (name == row.name)
      return &row;
  return nullptr;
}

unsigned Argument::elementBytes() const { return findType(type)->bytes; }

static uint64_t encodeNumber(const std::string &type, double value) {
  if (const FloatFormat *format = findType(type)->format)
    return roundToFormat(value, *format, Rounding::Rn);
  if (type == "f32")
    return std::bit_cast<uint32_t>(float(value));
  if (type == "f64")
    return std::bit_cast<uint64_t>(value);
  return uint64_t(int64_t(value));
}

double Argument::element(uint64_t index) const {
  uint64_t bits = 0;
  unsigned size = elementBytes();
  memcpy(&bits, data + index * size, size);
  if (const FloatFormat *format = findType(type)->format)
    return valueOfCode(uint32_t(bits), *format);
  if (type == "f32")
    return double(std::bit_cast<float>(uint32_t(bits)));
  if (type == "f64")
    return std::bit_cast<double>(bits);
  unsigned unused = 64 - 8 * size;
  return double(int64_t(bits << unused) >> unused);
}

template <typename T> static bool parseWhole(const std::string &text, T &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}

/// False when the rule is neither a name nor a number.
static bool fill(Argument &argument, const std::string &rule, uint64_t seed) {
  double constant = 0;
  uint64_t limit = 0; // of random integers; 0: none
  bool isBounded = rule.starts_with("random:") && parseWhole(rule.substr(7), limit) && limit > 0;
  bool isRandom = rule == "random" || isBounded;
  if (!isRandom && rule != "iota" && rule != "zeros" && !parseWhole(rule, constant))
    return false;
  argument.storage = std::make_unique<char[]>(argument.bytes() + 64);
  argument.data = argument.storage.get();
  argument.data += (64 - reinterpret_cast<uintptr_t>(argument.data) % 64) % 64;
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  bool isFloat = findType(argument.type)->isFloat;
  unsigned size = argument.elementBytes();
  for (uint64_t i = 0; i < argument.numElements; ++i) {
    uint64_t bits = encodeNumber(argument.type, rule == "iota" ? double(i) : constant);
    if (isRandom && isFloat)
      bits = encodeNumber(argument.type, uniform(generator));
    else if (isRandom)
      bits = isBounded ? generator() % limit : generator();
    if (argument.type == "i1")
      bits &= 1;
    memcpy(argument.data + i * size, &bits, size);
  }
  return true;
}

static bool parseScalar(Argument &argument, const std::string &value) {
  double number = 0;
  int64_t integer = 0;
  bool isFloat = findType(argument.type)->isFloat;
  if (!isFloat && parseWhole(value, integer))
    argument.scalarBits = uint64_t(integer);
  else if (isFloat && parseWhole(value, number))
    argument.scalarBits = encodeNumber(argument.type, number);
  else
    return false;
  return true;
}

bool tw::warpsim::parseArgument(const std::string &text, uint64_t seed, Argument &argument,
                                std::string &error) {
  error = "argument `" + text + "` is not like f32[1024]=random or i32=5";
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return false;
  std::string declaration = text.substr(0, equals), value = text.substr(equals + 1);
  argument.isReadOnly = declaration.starts_with("const ");
  if (argument.isReadOnly)
    declaration.erase(0, strlen("const "));
  size_t bracket = declaration.find('[');
  argument.type = declaration.substr(0, bracket);
  argument.isArray = bracket != std::string::npos;
  if (!findType(argument.type))
    return false;
  if (!argument.isArray)
    return parseScalar(argument, value);
  if (!declaration.ends_with("]"))
    return false;
  std::string extent = declaration.substr(bracket + 1, declaration.size() - bracket - 2);
  constexpr uint64_t kMaxElements = uint64_t(1) << 34;
  return parseWhole(extent, argument.numElements) && argument.numElements <= kMaxElements &&
         fill(argument, value, seed);
}

/// The numbers between commas; false where one is none.
static bool parseNumbers(const std::string &text, std::vector<uint64_t> &numbers) {
  std::stringstream fields(text);
  for (std::string field; std::getline(fields, field, ',');)
    if (!parseWhole(field, numbers.emplace_back()))
      return false;
  return true;
}

bool tw::warpsim::parseMap(const std::string &text, MapArgument &argument, std::string &error) {
  std::stringstream parts(text.substr(text.find('=') + 1));
  std::vector<std::vector<uint64_t>> numbers;
  bool isRead = true;
  for (std::string part; std::getline(parts, part, ';');)
    isRead &= parseNumbers(part, numbers.emplace_back());
  size_t rank = numbers.size() == 5 ? numbers[1].size() : 0;
  isRead = isRead && rank >= 1 && rank <= 5 && numbers[0].size() == 2 &&
           numbers[2].size() + 1 == rank && numbers[3].size() == rank && numbers[4].size() == 1;
  TensorElement element = TensorElement::U64;
  for (TensorElement other : {TensorElement::U8, TensorElement::U16, TensorElement::U32})
    if (isRead && bytesOf(other) == numbers[0][1])
      element = other;
  if (isRead) {
    argument.array = numbers[0][0];
    TensorMap &map = argument.map;
    map.element = element;
    map.rank = uint8_t(rank);
    std::copy(numbers[1].begin(), numbers[1].end(), map.extents.begin());
    std::copy(numbers[2].begin(), numbers[2].end(), map.strides.begin());
    std::copy(numbers[3].begin(), numbers[3].end(), map.box.begin());
    map.swizzleBytes = uint8_t(numbers[4][0]);
    error = validate(map);
  } else {
    error = "a map is map=ARRAY,BYTES;EXTENTS;STRIDES;BOX;SWIZZLE, not '" + text + "'";
  }
  return error.empty();
}
