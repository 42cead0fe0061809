// Tensor maps: descriptions of arrays that a machine's copies of boxes read, and how a launch fills
// them in.
#ifndef RUNTIME_TENSORMAPS_H
#define RUNTIME_TENSORMAPS_H
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tw {

struct ArtifactParameter;
struct LaunchArgument;
struct RuntimeError;

inline constexpr unsigned kMostMapDims = 5;
/// Bytes of a map, which kernels are passed by value behind their parameters, so aligned.
inline constexpr unsigned kTensorMapBytes = 128, kTensorMapAlignment = 64;

/// `factor` times the values of integer parameters.
struct LaunchProduct {
  int64_t factor = 1;
  std::vector<uint32_t> parameters; // numbers of the artifact's
  bool operator==(const LaunchProduct &) const = default;
};

/// Types of an array's elements, by the numbers of CUtensorMapDataType: where boxes are added to
/// it, floats count as such. Types that are only copied are integers of their size.
enum class MapElement : uint32_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  U64 = 4,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9
};
/// Returns the bytes of an element; 0 of a number that is none.
constexpr uint32_t mapElementBytes(MapElement element) {
  switch (element) {
  case MapElement::U8:
    return 1;
  case MapElement::U16:
  case MapElement::F16:
  case MapElement::BF16:
    return 2;
  case MapElement::U32:
  case MapElement::F32:
    return 4;
  case MapElement::U64:
  case MapElement::F64:
    return 8;
  }
  return 0;
}

/// A map of which each launch gives the numbers. Dimensions are innermost first; the innermost has
/// stride 1. What boxes have outside of the array is 0. Without a box the kernel gets no map: it
/// loads blocks of the array, and launches check that it can.
struct TensorMapRecipe {
  uint32_t parameter = 0; // the pointer to the array's first element
  MapElement element = MapElement::U8;
  std::vector<LaunchProduct> extents; // elements
  std::vector<LaunchProduct> strides; // elements, of all dimensions but the innermost
  std::vector<uint32_t> box;          // elements
  /// The bytes of a row in shared memory, by which its pieces are swizzled. Without a box:
  /// addresses of the array's rows are multiples of it.
  uint32_t spanBytes = 0;
  bool isOfBlocks() const { return box.empty(); }
  bool operator==(const TensorMapRecipe &) const = default;
};

/// The numbers of one launch.
struct TensorMapNumbers {
  uint64_t base = 0;
  std::array<uint64_t, kMostMapDims> extents = {};
  std::array<uint64_t, kMostMapDims - 1> strides = {}; // bytes
  bool operator==(const TensorMapNumbers &) const = default;
};

/// Returns true if a recipe can be followed for a kernel of these parameters.
bool isWellFormed(const TensorMapRecipe &recipe, std::span<const ArtifactParameter> parameters);

/// The recipes of a kernel, ready for launches.
class TensorMapMaker {
public:
  TensorMapMaker(std::vector<TensorMapRecipe> recipes,
                 std::span<const ArtifactParameter> parameters);
  const std::vector<TensorMapRecipe> &recipes() const { return all; }
  /// Computes the numbers of a map; an error with Code::TensorMapRefused where no map has them: a
  /// base or stride that is not a multiple of 16 bytes, an extent below 1, a stride that is
  /// negative or too far (cuTensorMapEncodeTiled). Limits of arrays of blocks are those of
  /// SPV_INTEL_2d_block_io: a base at a multiple of 64 bytes; rows of 64 to below 2^24 bytes, a
  /// multiple of 4, which do not overlap; fewer than 2^24 rows.
  std::optional<RuntimeError> compute(size_t map, std::span<const LaunchArgument> arguments,
                                      TensorMapNumbers &numbers) const;

private:
  /// The range of a number of an array, and a divisor of it.
  struct Limits {
    uint64_t least, most, divisor;
    const char *words; // for users; launches do not make text where nothing is wrong
  };
  static Limits limitsOfExtent(const TensorMapRecipe &recipe, size_t dim);
  static Limits limitsOfStride(const TensorMapRecipe &recipe, size_t dim, uint64_t rowBytes);
  std::optional<uint64_t> compute(const LaunchProduct &product, int64_t scale,
                                  std::span<const LaunchArgument> arguments,
                                  const Limits &limits) const;

  std::vector<TensorMapRecipe> all;
  std::vector<std::string> names; // of the parameters
  std::vector<int8_t> bits;       // by parameter: of an integer, negative without a sign; else 0
};

} // namespace tw
#endif
