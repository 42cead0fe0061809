// Fills in tensor maps from the arguments of a launch.
#include "runtime/TensorMaps.h"
#include "runtime/Artifact.h"
#include "runtime/Device.h"
#include "runtime/arguments/BlockArrays.h"
#include "runtime/codes/Codes.h"
#include <algorithm>
#include <bit>
#include <functional>

using namespace tw;

/// Limits of cuTensorMapEncodeTiled (CUDA Driver API).
static constexpr uint64_t kPieceBytes = 16, kMostExtent = uint64_t(1) << 32,
                          kStrideLimit = uint64_t(1) << 40;
static constexpr uint32_t kMostBoxExtent = 256;

/// The bits of an integer parameter, negative without a sign; 0 of others.
static int8_t bitsOf(const ArtifactParameter &parameter) {
  for (int8_t bits : {1, 8, 16, 32, 64})
    for (int8_t sign : {1, -1})
      if (parameter.type == (sign > 0 ? "i" : "u") + std::to_string(bits))
        return int8_t(sign * bits);
  return 0;
}

/// Returns true for powers of two of at least `least` and at most `most`.
static bool isSize(uint32_t bytes, uint32_t least, uint32_t most) {
  return std::has_single_bit(bytes) && bytes >= least && bytes <= most;
}

bool tw::isWellFormed(const TensorMapRecipe &recipe,
                      std::span<const ArtifactParameter> parameters) {
  size_t rank = recipe.extents.size();
  bool areOfRank = rank >= 1 && rank <= kMostMapDims && recipe.strides.size() + 1 == rank &&
                   (recipe.isOfBlocks() ? rank >= 2 : recipe.box.size() == rank);
  auto isOfIntegers = [&](const LaunchProduct &product) {
    return std::ranges::all_of(product.parameters, [&](uint32_t number) {
      return number < parameters.size() && bitsOf(parameters[number]) != 0;
    });
  };
  return areOfRank && recipe.parameter < parameters.size() &&
         parameters[recipe.parameter].type.starts_with("*") &&
         std::ranges::all_of(recipe.extents, isOfIntegers) &&
         std::ranges::all_of(recipe.strides, isOfIntegers) &&
         mapElementBytes(recipe.element) != 0 && isSize(recipe.spanBytes, 16, 128) &&
         std::ranges::all_of(
             recipe.box, [](uint32_t extent) { return extent >= 1 && extent <= kMostBoxExtent; }) &&
         (recipe.isOfBlocks() ||
          recipe.box[0] * mapElementBytes(recipe.element) <= recipe.spanBytes);
}

TensorMapMaker::TensorMapMaker(std::vector<TensorMapRecipe> recipes,
                               std::span<const ArtifactParameter> parameters)
    : all(std::move(recipes)) {
  for (const ArtifactParameter &parameter : parameters) {
    bits.push_back(bitsOf(parameter));
    names.push_back(parameter.name);
  }
}

/// The integer in the lower bits of an argument.
static int64_t valueOf(int8_t bits, uint64_t argument) {
  unsigned shift = 64 - unsigned(bits < 0 ? -bits : bits);
  return bits < 0 ? int64_t(argument << shift >> shift) : int64_t(argument << shift) >> shift;
}

/// "2 * a_row, where a_row is 0": a product as users know it.
static std::string describe(const LaunchProduct &product, int64_t scale,
                            std::span<const std::string> names,
                            const std::function<int64_t(uint32_t)> &valueOf) {
  auto factor = int64_t(uint64_t(product.factor) * uint64_t(scale));
  std::string text = factor == 1 && !product.parameters.empty() ? "" : std::to_string(factor);
  std::string values;
  for (uint32_t number : product.parameters) {
    text += (text.empty() ? "" : " * ") + names[number];
    values += (values.empty() ? ", where " : " and ") + names[number] + " is " +
              std::to_string(valueOf(number));
  }
  return text + values;
}

/// The refusal of a launch by a guard of a map. `CompiledKernel.guards` of Python lists the guards
/// by the same names, in which dimensions count from the innermost one.
static RuntimeError refuse(const TensorMapRecipe &recipe, const std::string &array,
                           const std::string &what, const std::string &guard,
                           const std::string &why) {
  return {RuntimeError::Kind::Launch, Code::TensorMapRefused,
          (recipe.isOfBlocks() ? "no blocks are loaded of the array `"
                               : "no tensor map describes the array `") +
              array + "`: " + what + " (guard " + array + "." + guard + ") is " + why,
          ""};
}

TensorMapMaker::Limits TensorMapMaker::limitsOfExtent(const TensorMapRecipe &recipe, size_t dim) {
  if (!recipe.isOfBlocks() || dim > 1)
    return {1, kMostExtent, 1, "from 1 to 2^32"};
  if (dim == 1)
    return {1, block::kLimit - 1, 1, "from 1 to below 2^24"};
  return {block::kLeastRowBytes, block::kLimit - 1, block::kPlaceBytes,
          "a multiple of 4, from 64 to below 2^24 bytes"};
}

TensorMapMaker::Limits TensorMapMaker::limitsOfStride(const TensorMapRecipe &recipe, size_t dim,
                                                      uint64_t rowBytes) {
  if (!recipe.isOfBlocks())
    return {kPieceBytes, kStrideLimit - 1, kPieceBytes, "a multiple of 16, from 16 to below 2^40"};
  if (dim > 1)
    return {0, kStrideLimit - 1, block::kBaseBytes, "a multiple of 64, from 0 to below 2^40"};
  return {rowBytes, block::kLimit - 1, recipe.spanBytes,
          recipe.spanBytes == kPieceBytes
              ? "a multiple of 16, from its bytes of a row to below 2^24"
              : "a multiple of 64, from its bytes of a row to below 2^24"};
}

/// The product, or none where it is not within its limits.
std::optional<uint64_t> TensorMapMaker::compute(const LaunchProduct &product, int64_t scale,
                                                std::span<const LaunchArgument> arguments,
                                                const Limits &limits) const {
  int64_t value = product.factor;
  bool isLost = __builtin_mul_overflow(value, scale, &value);
  for (uint32_t number : product.parameters)
    isLost |= __builtin_mul_overflow(value, valueOf(bits[number], arguments[number].bits), &value);
  bool isWithin = !isLost && value >= 0 && uint64_t(value) >= limits.least &&
                  uint64_t(value) <= limits.most && uint64_t(value) % limits.divisor == 0;
  return isWithin ? std::optional(uint64_t(value)) : std::nullopt;
}

std::optional<RuntimeError> TensorMapMaker::compute(size_t map,
                                                    std::span<const LaunchArgument> arguments,
                                                    TensorMapNumbers &numbers) const {
  const TensorMapRecipe &recipe = all[map];
  const std::string &array = names[recipe.parameter];
  auto refuseNumber = [&](const char *what, const char *part, size_t dim,
                          const LaunchProduct &product, int64_t scale, const Limits &limits) {
    std::string text = describe(product, scale, names, [&](uint32_t number) {
      return valueOf(bits[number], arguments[number].bits);
    });
    std::string number = std::to_string(dim);
    return refuse(recipe, array, what + number, part + ("[" + number + "]"),
                  text + ", and has to be " + limits.words);
  };
  numbers = {};
  numbers.base = arguments[recipe.parameter].bits;
  uint64_t baseBytes = recipe.isOfBlocks() ? block::kBaseBytes : kPieceBytes;
  if (numbers.base % baseBytes != 0 || numbers.base == 0)
    return refuse(recipe, array, "its address", "address",
                  std::to_string(numbers.base) + ", and has to be a multiple of " +
                      std::to_string(baseBytes) + ", not 0");
  int64_t elementBytes = mapElementBytes(recipe.element);
  for (size_t dim = 0; dim < recipe.extents.size(); ++dim) {
    int64_t scale = recipe.isOfBlocks() && dim == 0 ? elementBytes : 1;
    Limits limits = limitsOfExtent(recipe, dim);
    std::optional<uint64_t> extent = compute(recipe.extents[dim], scale, arguments, limits);
    if (!extent)
      return refuseNumber("its extent along dimension ", "extent", dim, recipe.extents[dim], scale,
                          limits);
    numbers.extents[dim] = *extent / uint64_t(scale);
  }
  uint64_t rowBytes = numbers.extents[0] * uint64_t(elementBytes);
  for (size_t dim = 1; dim <= recipe.strides.size(); ++dim) {
    Limits limits = limitsOfStride(recipe, dim, rowBytes);
    const LaunchProduct &product = recipe.strides[dim - 1];
    std::optional<uint64_t> stride = compute(product, elementBytes, arguments, limits);
    if (!stride)
      return refuseNumber("its bytes from one to the next along dimension ", "stride", dim, product,
                          elementBytes, limits);
    numbers.strides[dim - 1] = *stride;
  }
  return std::nullopt;
}
