// Reads the memory behind objects that only offer the buffer protocol or DLPack.
#include "python/bindings/Bindings.h"
#include <algorithm>

namespace py = pybind11;

// The part of DLPack's C interface (dlpack.h, versions 0.8 and 1.0) that describes memory.
namespace {

struct DlDevice {
  int32_t type;
  int32_t id;
};
struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void *data;
  DlDevice device;
  int32_t rank;
  DlDataType dtype;
  int64_t *shape;
  int64_t *strides; // in elements; null: row-major
  uint64_t byteOffset;
};
struct DlManagedTensorVersioned {
  uint32_t major, minor;
  void *owner;
  void (*deleter)(DlManagedTensorVersioned *);
  uint64_t flags;
  DlTensor tensor;
};
constexpr uint64_t dlReadOnly = 1;

/// The bytes from the lowest to the highest element, relative to the element [0, ..., 0].
struct Extent {
  int64_t low = 0, high = 0;
};

} // namespace

template <typename Size>
static Extent extentOf(int rank, const Size *shape, const Size *byteStrides, int64_t itemBytes) {
  Extent extent{0, itemBytes};
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0)
      return {0, 0};
    int64_t reach = (int64_t(shape[i]) - 1) * int64_t(byteStrides[i]);
    extent.low += std::min<int64_t>(reach, 0);
    extent.high += std::max<int64_t>(reach, 0);
  }
  return extent;
}

static py::tuple describe(uint64_t address, Extent extent, py::object type, bool isReadOnly) {
  return py::make_tuple(address, address + extent.low, extent.high - extent.low, std::move(type),
                        isReadOnly);
}

/// (address, allocation base, bytes, format character as in `struct`, is read-only).
static py::tuple describeBuffer(const py::object &object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0)
    throw py::error_already_set();
  Extent extent = extentOf(view.ndim, view.shape, view.strides, view.itemsize);
  std::string format = view.format ? view.format : "B";
  py::tuple result =
      describe(reinterpret_cast<uint64_t>(view.buf), extent, py::str(format), view.readonly != 0);
  PyBuffer_Release(&view);
  return result;
}

static py::tuple describeTensor(const DlTensor &tensor, bool isReadOnly) {
  int64_t itemBytes = (int64_t(tensor.dtype.bits) * tensor.dtype.lanes + 7) / 8;
  std::vector<int64_t> strides(tensor.rank, itemBytes);
  for (int i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.strides)
      strides[i] = tensor.strides[i] * itemBytes;
    else if (i + 1 < tensor.rank)
      strides[i] = strides[i + 1] * tensor.shape[i + 1];
  }
  Extent extent = extentOf(tensor.rank, tensor.shape, strides.data(), itemBytes);
  py::tuple type = py::make_tuple(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes,
                                  tensor.device.type, tensor.device.id);
  return describe(reinterpret_cast<uint64_t>(tensor.data) + tensor.byteOffset, extent, type,
                  isReadOnly);
}

/// (address, allocation base, bytes, type, is read-only) with the type as (type code, bits, lanes,
/// device type, device id).
/// The capsule stays unconsumed: whoever holds it keeps the memory alive.
static py::tuple describeCapsule(const py::object &capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto *managed = static_cast<DlManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1)
      throw py::value_error("DLPack major version " + std::to_string(managed->major) +
                            " is not known");
    return describeTensor(managed->tensor, managed->flags & dlReadOnly);
  }
  auto *tensor = static_cast<DlTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!tensor)
    throw py::error_already_set();
  return describeTensor(*tensor, false);
}

void tw::python::defineArrays(py::module_ &module) {
  module.def("describe_buffer", &describeBuffer, py::arg("object"));
  module.def("describe_dlpack", &describeCapsule, py::arg("capsule"));
}
