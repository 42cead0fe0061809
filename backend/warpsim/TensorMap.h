// Tensor maps: what the simulator's TMA copies know of a tensor, and their 128 bytes.
#ifndef BACKEND_WARPSIM_TENSORMAP_H
#define BACKEND_WARPSIM_TENSORMAP_H
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tw::warpsim {

/// The types of elements, with the numbers of CUtensorMapDataType.
enum class TensorElement : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz
};
unsigned bytesOf(TensorElement element);

/// The arguments of cuTensorMapEncodeTiled. Dimensions are innermost first.
struct TensorMap {
  TensorElement element = TensorElement::F32;
  uint8_t rank = 1;
  uint64_t base = 0;
  std::array<uint64_t, 5> extents = {1, 1, 1, 1, 1};
  std::array<uint64_t, 4> strides = {}; // bytes, of all dimensions but the innermost
  std::array<uint32_t, 5> box = {1, 1, 1, 1, 1}, elementStrides = {1, 1, 1, 1, 1};
  uint8_t swizzleBytes = 0; // 0, 32, 64 or 128
  bool fillsWithNan = false;

  uint64_t strideOf(unsigned dimension) const {
    return dimension ? strides[dimension - 1] : bytesOf(element);
  }
  /// The elements of a box along a dimension. The innermost stride counts as 1.
  uint32_t countOf(unsigned dimension) const {
    return dimension ? (box[dimension] + elementStrides[dimension] - 1) / elementStrides[dimension]
                     : box[0];
  }
  uint32_t boxBytes() const;
};

/// Says what the driver would refuse; empty for a valid map.
std::string validate(const TensorMap &map);
/// The bytes of a valid map: the simulator's own encoding, not the driver's.
std::array<uint8_t, 128> encode(const TensorMap &map);
/// Reads them back; nothing where they are not of `encode`.
std::optional<TensorMap> decode(const uint8_t *bytes);

} // namespace tw::warpsim
#endif
