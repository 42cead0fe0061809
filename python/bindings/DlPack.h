// The part of DLPack's C interface that lends a tensor's description
// (https://dmlc.github.io/dlpack, version 1.3: `DLTensor` and `DLPackExchangeAPI`), found as
// `__dlpack_c_exchange_api__` of a type.
#ifndef PYTHON_BINDINGS_DLPACK_H
#define PYTHON_BINDINGS_DLPACK_H
#include <cstdint>

namespace dlpack {
/// A device, as DLDeviceType numbers its kind.
struct Device {
  int32_t type = kHost, index = 0;
  static constexpr int32_t kHost = 1;
  bool operator==(const Device &) const = default;
};
struct Tensor {
  void *data;
  Device device;
  int32_t numDims;
  struct Element {
    uint8_t code, bits;
    uint16_t lanes;
  } element;
  const int64_t *shape, *strides;
  uint64_t byteOffset;
};
struct Exchange {
  uint32_t major, minor;
  const Exchange *previous;
  void *allocate, *fromPython, *toPython;
  int (*lend)(void *object, Tensor *description);
};
} // namespace dlpack
#endif
