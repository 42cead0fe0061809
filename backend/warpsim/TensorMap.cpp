// Checks of tensor maps as the driver has them (cuTensorMapEncodeTiled), and their encoding.
#include "backend/warpsim/TensorMap.h"
#include <cstring>

using namespace tw::warpsim;

static constexpr char kMagic[8] = {'T', 'W', 'T', 'E', 'N', 'S', 'O', 'R'};

unsigned tw::warpsim::bytesOf(TensorElement element) {
  static constexpr uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return kBytes[size_t(element)];
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = bytesOf(element);
  for (unsigned i = 0; i < rank; ++i)
    bytes *= countOf(i);
  return bytes;
}

static std::string validateDimension(const TensorMap &map, unsigned i) {
  std::string of = " of dimension " + std::to_string(i) + " is ";
  if (map.extents[i] == 0 || map.extents[i] > uint64_t(1) << 32)
    return "the extent" + of + std::to_string(map.extents[i]) + ", not 1 to 2^32";
  if (map.box[i] == 0 || map.box[i] > 256)
    return "the box" + of + std::to_string(map.box[i]) + ", not 1 to 256";
  if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
    return "the element stride" + of + std::to_string(map.elementStrides[i]) + ", not 1 to 8";
  uint64_t stride = map.strideOf(i);
  if (i && (stride % 16 || stride >= uint64_t(1) << 40))
    return "the stride" + of + std::to_string(stride) + " bytes, not a multiple of 16 below 2^40";
  return "";
}

static bool isFloat(TensorElement element) { return element >= TensorElement::F16; }

std::string tw::warpsim::validate(const TensorMap &map) {
  if (map.element > TensorElement::TF32Ftz)
    return "the element type does not exist";
  if (map.rank < 1 || map.rank > 5)
    return "the rank is " + std::to_string(map.rank) + ", not 1 to 5";
  if (map.base % 16)
    return "the base is not a multiple of 16 bytes";
  for (unsigned i = 0; i < map.rank; ++i)
    if (std::string wrong = validateDimension(map, i); !wrong.empty())
      return wrong;
  unsigned swizzle = map.swizzleBytes, row = map.box[0] * bytesOf(map.element);
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return "the swizzle is " + std::to_string(swizzle) + " bytes, not 0, 32, 64 or 128";
  if (row % 16)
    return "the box's rows have " + std::to_string(row) + " bytes, not a multiple of 16";
  if (swizzle && row > swizzle)
    return "the box's rows have " + std::to_string(row) + " bytes, more than the swizzle's " +
           std::to_string(swizzle);
  if (map.fillsWithNan && !isFloat(map.element))
    return "elements outside of the tensor cannot be NaN: they are integers";
  return "";
}

namespace {
/// The fields in their order. A map of one simulator is read by the same one: no byte order.
struct Encoded {
  char magic[8];
  uint8_t element, rank, swizzleBytes, fillsWithNan, unused[4];
  uint64_t base, extents[5], strides[4];
  uint16_t box[5];
  uint8_t elementStrides[5], end;
};
static_assert(sizeof(Encoded) <= 128);
} // namespace

std::array<uint8_t, 128> tw::warpsim::encode(const TensorMap &map) {
  Encoded encoded = {};
  memcpy(encoded.magic, kMagic, sizeof(kMagic));
  encoded.element = uint8_t(map.element);
  encoded.rank = map.rank;
  encoded.swizzleBytes = map.swizzleBytes;
  encoded.fillsWithNan = map.fillsWithNan;
  encoded.base = map.base;
  for (unsigned i = 0; i < 5; ++i) {
    encoded.extents[i] = map.extents[i];
    encoded.box[i] = uint16_t(map.box[i]);
    encoded.elementStrides[i] = uint8_t(map.elementStrides[i]);
    if (i < 4)
      encoded.strides[i] = map.strides[i];
  }
  std::array<uint8_t, 128> bytes = {};
  memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

std::optional<TensorMap> tw::warpsim::decode(const uint8_t *bytes) {
  Encoded encoded;
  memcpy(&encoded, bytes, sizeof(encoded));
  if (memcmp(encoded.magic, kMagic, sizeof(kMagic)) != 0)
    return std::nullopt;
  TensorMap map;
  map.element = TensorElement(encoded.element);
  map.rank = encoded.rank;
  map.swizzleBytes = encoded.swizzleBytes;
  map.fillsWithNan = encoded.fillsWithNan;
  map.base = encoded.base;
  for (unsigned i = 0; i < 5; ++i) {
    map.extents[i] = encoded.extents[i];
    map.box[i] = encoded.box[i];
    map.elementStrides[i] = encoded.elementStrides[i];
    if (i < 4)
      map.strides[i] = encoded.strides[i];
  }
  if (!validate(map).empty())
    return std::nullopt;
  return map;
}
