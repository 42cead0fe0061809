// Reads the arguments of a warm launch: numbers, constants and torch tensors, whose facts are
// objects that Python has made before. Whatever else there is, Python reads.
#include "python/bindings/Bindings.h"
#include "python/bindings/DlPack.h"
#include "python/bindings/Interpreter.h"
#include "runtime/Specialization.h"
#include <algorithm>
#include <memory_resource>
#include <vector>

namespace py = pybind11;
using namespace tw;
using python::Kernel;

namespace {
/// How a parameter's argument is read: by its type; as a constant; or by a function of Python,
/// which may convert a number.
enum class Mode : int { Plain, Constant, Converted };

/// A method of a type without arguments, found once: by its function, where the interpreter tells.
struct Method {
  PyObject *name = nullptr, *owner = nullptr;
  PyCFunction function = nullptr;

  Method() = default;
  Method(PyTypeObject *type, const char *method);
  /// Calls the method of an object of the type or of one that inherits it.
  py::object operator()(PyObject *object) const;
};

/// The answers of Python about torch, asked for once: how a tensor's facts are found, and the
/// memory of a view.
struct TensorReading {
  std::vector<PyTypeObject *> types; // torch.Tensor, and subclasses that are read and marked as it is
  Method isNeg, storageOffset;
  py::object findFacts, findSpan, markWritten;
  const dlpack::Exchange *exchange = nullptr; // where this torch has it
  struct Known {
    PyObject *elementType;
    int64_t divisibility;
    unsigned changes; // a set of facts, as of `unusualFacts`
    dlpack::Device device;
    PyObject *facts;
  };
  std::vector<Known> known; // element types live as long as torch does
  std::vector<std::pair<uint16_t, PyObject *>> elementTypes; // by DLPack's code and bits

  bool reads(PyTypeObject *type) const { return std::ranges::count(types, type) != 0; }
};

/// The facts about a tensor that a launch needs.
struct TensorView {
  PyObject *elementType = nullptr;
  dlpack::Device device;
  uint64_t begin = 0, bytes = 0;
  bool isContiguous = false, isZeroDim = false;
};

/// Facts of truth values and floats.
struct NumberFacts {
  py::object boolean, real;
};

struct Span {
  uint64_t begin, end;
};

/// The memory spans of one reading: Python that it calls may let another thread launch the same
/// kernel.
using Spans = std::pmr::vector<Span>;

/// Reads the arguments of one kernel.
struct ArgumentReader {
  std::vector<Mode> modes;
  py::tuple converters;
  NumberFacts numbers;

  /// The facts, or null without an error where Python has to read.
  py::object read(std::span<PyObject *const> values, python::PassedArguments &passed);

private:
  py::object remembered(py::object facts);

  /// The facts of the last launches: the same ones are the same object, by which Python finds what
  /// it has loaded for them.
  static constexpr size_t kRemembered = 8;
  std::vector<py::object> known;
  size_t oldest = 0;

  bool readOne(size_t index, PyObject *value, PyObject *&fact, python::PassedArgument &passed,
               Spans &spans);
  bool readNumber(PyObject *value, PyObject *&fact);
};

/// Names of attributes, made once.
struct Names {
  PyObject *dataPtr = PyUnicode_InternFromString("data_ptr");
  PyObject *dtype = PyUnicode_InternFromString("dtype");
  PyObject *nbytes = PyUnicode_InternFromString("nbytes");
  PyObject *isCpu = PyUnicode_InternFromString("is_cpu");
  PyObject *isNested = PyUnicode_InternFromString("is_nested");
  PyObject *isContiguous = PyUnicode_InternFromString("is_contiguous");
  PyObject *numDims = PyUnicode_InternFromString("ndim");
};
} // namespace

static TensorReading &tensors() {
  static TensorReading *reading = new TensorReading; // holds objects beyond the interpreter's end
  return *reading;
}

static const Names &names() {
  static const Names *names = new Names;
  return *names;
}

static py::object call(PyObject *object, PyObject *method) {
  return py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(object, method));
}

static py::object get(PyObject *object, PyObject *name) {
  return py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name));
}

Method::Method(PyTypeObject *type, const char *method)
    : name(PyUnicode_InternFromString(method)),
      owner(PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name)) {
  if (!owner)
    throw py::error_already_set();
  if (!Py_IS_TYPE(owner, &PyMethodDescr_Type))
    return;
  auto *descriptor = reinterpret_cast<PyMethodDescrObject *>(owner); // as long as `owner` lives
  if (descriptor->d_method->ml_flags == METH_NOARGS)
    function = descriptor->d_method->ml_meth;
}

py::object Method::operator()(PyObject *object) const {
  PyObject *result = function ? function(object, nullptr) : PyObject_CallMethodNoArgs(object, name);
  return py::reinterpret_steal<py::object>(result);
}

bool ArgumentReader::readNumber(PyObject *value, PyObject *&fact) {
  if (PyBool_Check(value)) {
    fact = numbers.boolean.ptr();
  } else if (PyFloat_CheckExact(value)) {
    fact = numbers.real.ptr();
  } else if (PyLong_CheckExact(value)) {
    fact = python::factsOfInteger(value);
    return fact != nullptr;
  } else {
    return false;
  }
  Py_INCREF(fact);
  return true;
}

/// The facts of a tensor, new or known.
static PyObject *factsOfTensor(const TensorView &view) {
  TensorReading &reading = tensors();
  PyObject *elementType = view.elementType;
  // The size of a GPU's last-level cache does not matter to a kernel's code.
  uint64_t bytes = view.device.type == dlpack::Device::kHost ? view.bytes : 0;
  ArgumentFacts found = pointerFacts(view.begin, bytes, streamingBytes());
  found.isZeroDim = view.isZeroDim;
  unsigned changes = python::unusualFacts(found, ArgumentSpec::Kind::Pointer);
  for (const TensorReading::Known &known : reading.known)
    if (known.elementType == elementType && known.divisibility == found.divisibility &&
        known.changes == changes && known.device == view.device)
      return Py_NewRef(known.facts);
  py::object facts = reading.findFacts(py::handle(elementType), found.divisibility,
                                       py::handle(python::changesOf(changes)), view.device.type,
                                       view.device.index);
  reading.known.push_back(
      {Py_NewRef(elementType), found.divisibility, changes, view.device, Py_NewRef(facts.ptr())});
  return facts.release().ptr();
}

/// The dtype of tensors with these elements, by one of them; null where it cannot be told.
static PyObject *elementTypeOf(const dlpack::Tensor::Element &element, PyObject *tensor) {
  uint16_t word = uint16_t(element.code << 8 | element.bits);
  for (const auto &[known, type] : tensors().elementTypes)
    if (known == word)
      return type;
  PyObject *type = PyObject_GetAttr(tensor, names().dtype);
  if (type)
    tensors().elementTypes.push_back({word, type});
  return type;
}

/// Row-major without gaps: torch's is_contiguous.
static bool isContiguous(const dlpack::Tensor &lent) {
  int64_t expected = 1;
  for (int32_t dim = lent.numDims - 1; dim >= 0 && lent.strides; --dim) {
    if (lent.shape[dim] != 1 && lent.strides[dim] != expected)
      return false;
    expected *= lent.shape[dim];
  }
  return true;
}

/// Reads the view that the tensor's library lends; false without an error where that does not tell
/// all.
static bool viewLent(PyObject *tensor, TensorView &view) {
  dlpack::Tensor lent = {};
  if (tensors().exchange->lend(tensor, &lent) != 0) {
    PyErr_Clear();
    return false;
  }
  if (lent.element.lanes != 1 || lent.element.bits % 8 != 0)
    return false;
  view.device = lent.device;
  view.begin = reinterpret_cast<uint64_t>(lent.data) + lent.byteOffset;
  view.bytes = lent.element.bits / 8;
  for (int32_t dim = 0; dim < lent.numDims; ++dim)
    view.bytes *= uint64_t(lent.shape[dim]);
  view.isContiguous = isContiguous(lent);
  view.isZeroDim = lent.numDims == 0;
  view.elementType = elementTypeOf(lent.element, tensor);
  return view.elementType != nullptr;
}

/// The same of a tensor on the host, by its attributes.
static bool viewByAttributes(PyObject *tensor, TensorView &view) {
  const Names &name = names();
  if (get(tensor, name.isCpu).ptr() != Py_True || get(tensor, name.isNested).ptr() != Py_False)
    return false;
  py::object pointer = call(tensor, name.dataPtr), type = get(tensor, name.dtype);
  py::object size = get(tensor, name.nbytes), numDims = get(tensor, name.numDims);
  if (!pointer || !type || !size || !numDims)
    return false;
  view.begin = PyLong_AsUnsignedLongLong(pointer.ptr());
  view.bytes = PyLong_AsUnsignedLongLong(size.ptr());
  view.isContiguous = call(tensor, name.isContiguous).ptr() == Py_True;
  view.isZeroDim = PyLong_AsLong(numDims.ptr()) == 0;
  view.elementType = type.ptr(); // torch keeps it
  return true;
}

static bool readTensor(PyObject *tensor, PyObject *&fact, uint64_t &address, Spans &spans) {
  TensorView view;
  if (tensors().isNeg(tensor).ptr() != Py_False)
    return false;
  if (!(tensors().exchange && viewLent(tensor, view)) && !viewByAttributes(tensor, view))
    return false;
  if (!view.begin || !view.bytes || view.bytes > kReachableBytes)
    return false;
  py::object offset = tensors().storageOffset(tensor);
  if (!offset)
    return false;
  Span span = {view.begin, view.begin + view.bytes};
  if (!view.isContiguous || PyLong_AsLongLong(offset.ptr()) != 0) {
    // A part of its storage: only all of it meets every other part.
    py::object whole = tensors().findSpan(py::handle(tensor), view.begin);
    span = {py::cast<uint64_t>(whole[py::int_(0)]), py::cast<uint64_t>(whole[py::int_(1)])};
    if (span.end <= span.begin || span.end - span.begin > kReachableBytes)
      return false;
  }
  spans.push_back(span);
  fact = factsOfTensor(view);
  address = view.begin;
  return fact != nullptr;
}

bool ArgumentReader::readOne(size_t index, PyObject *value, PyObject *&fact,
                             python::PassedArgument &passed, Spans &spans) {
  PyTypeObject *type = Py_TYPE(value);
  bool isConstant = value == Py_None || PyUnicode_CheckExact(value);
  if (modes[index] == Mode::Constant)
    isConstant |= PyLong_CheckExact(value) || PyBool_Check(value);
  if (isConstant) { // as `constexpr_key` of Python
    fact = PyTuple_Pack(2, type, value);
    passed.value = py::reinterpret_borrow<py::object>(value);
    return fact != nullptr;
  }
  if (modes[index] == Mode::Constant)
    return false;
  if (modes[index] == Mode::Plain && tensors().reads(type))
    return readTensor(value, fact, passed.address, spans);
  if (!readNumber(value, fact))
    return false;
  if (modes[index] == Mode::Plain) {
    passed.value = py::reinterpret_borrow<py::object>(value);
    return true;
  }
  Py_DECREF(fact);
  fact = nullptr;
  py::tuple pair = py::reinterpret_borrow<py::object>(converters[index])(py::handle(value));
  fact = Py_NewRef(PyTuple_GET_ITEM(pair.ptr(), 0));
  passed.value = pair[1];
  return true;
}

static bool overlap(Spans &spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span &a, const Span &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < spans.size(); ++i)
    if (spans[i].begin < spans[i - 1].end)
      return true;
  return false;
}

/// A constant's fact is (type, value).
static bool isSameFact(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  return PyTuple_CheckExact(a) && PyTuple_CheckExact(b) && PyTuple_GET_SIZE(a) == 2 &&
         PyTuple_GET_SIZE(b) == 2 && PyTuple_GET_ITEM(a, 0) == PyTuple_GET_ITEM(b, 0) &&
         PyTuple_GET_ITEM(a, 1) == PyTuple_GET_ITEM(b, 1);
}

static bool areSameFacts(PyObject *a, PyObject *b) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (!isSameFact(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
      return false;
  return true;
}

py::object ArgumentReader::remembered(py::object facts) {
  for (const py::object &other : known)
    if (areSameFacts(facts.ptr(), other.ptr()))
      return other;
  if (known.size() < kRemembered) {
    known.push_back(facts);
    return facts;
  }
  // What is let go may run code of Python: when all is in place.
  py::object forgotten = std::exchange(known[oldest], facts);
  oldest = (oldest + 1) % kRemembered;
  return facts;
}

py::object ArgumentReader::read(std::span<PyObject *const> values,
                                python::PassedArguments &passed) {
  size_t count = modes.size();
  if (values.size() != count)
    return {};
  Spans spans(passed.get_allocator());
  spans.reserve(count);
  passed.resize(count);
  py::object facts = py::reinterpret_steal<py::object>(PyTuple_New(Py_ssize_t(count)));
  if (!facts)
    return {};
  for (size_t i = 0; i < count; ++i) {
    PyObject *fact = nullptr;
    if (!readOne(i, values[i], fact, passed[i], spans)) {
      Py_XDECREF(fact);
      return {};
    }
    PyTuple_SET_ITEM(facts.ptr(), Py_ssize_t(i), fact);
  }
  if (overlap(spans))
    return {};
  return remembered(std::move(facts));
}

py::object python::readArguments(PyObject *reader, std::span<PyObject *const> values,
                                 PassedArguments &passed) {
  void *found = PyCapsule_GetPointer(reader, nullptr);
  py::object facts;
  try {
    facts = static_cast<ArgumentReader *>(found)->read(values, passed);
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const py::builtin_exception &error) {
    error.set_error();
  }
  if (facts || !PyErr_Occurred())
    return facts;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) // an interrupt, which does not come again
    throw py::error_already_set();
  PyErr_Clear(); // Python meets the error again
  return {};
}

/// (facts, bits, values) of the tuple `values`.
static PyObject *readTuple(PyObject *reader, PyObject *values) {
  std::byte memory[python::kPassedBytes];
  std::pmr::monotonic_buffer_resource pool(memory, sizeof(memory));
  python::PassedArguments passed(&pool);
  size_t count = size_t(PyTuple_GET_SIZE(values));
  PyObject *const *first = reinterpret_cast<PyTupleObject *>(values)->ob_item;
  py::object facts = python::readArguments(reader, {first, count}, passed);
  if (!facts)
    return nullptr;
  py::list bits(count);
  for (size_t i = 0; i < count; ++i)
    bits[i] = passed[i].value ? passed[i].value : py::int_(passed[i].address);
  return PyTuple_Pack(3, facts.ptr(), bits.ptr(), values);
}

/// None where Python has to read: with the same arguments it also says what is wrong with them.
static PyObject *readWarm(PyObject *reader, PyObject *values) {
  try {
    PyObject *result = PyTuple_CheckExact(values) ? readTuple(reader, values) : nullptr;
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_None);
  } catch (...) {
    return python::raised();
  }
}

/// A function of the tuple of a kernel's arguments. `modes` are as Mode; `numbers` the facts in the
/// order of NumberFacts.
static py::object makeReader(const py::list &modes, const py::tuple &converters,
                             const py::tuple &numbers) {
  static PyMethodDef method = {"read_arguments", &readWarm, METH_O, nullptr};
  auto reader = std::make_unique<ArgumentReader>();
  for (py::handle mode : modes)
    reader->modes.push_back(Mode(py::cast<int>(mode)));
  reader->converters = converters;
  reader->numbers = {numbers[0], numbers[1]};
  auto destroy = [](PyObject *capsule) {
    delete static_cast<ArgumentReader *>(PyCapsule_GetPointer(capsule, nullptr));
  };
  py::object capsule =
      py::reinterpret_steal<py::object>(PyCapsule_New(reader.release(), nullptr, destroy));
  return py::reinterpret_steal<py::object>(PyCFunction_New(&method, capsule.ptr()));
}

/// Null where the type has none, or one of another layout.
static const dlpack::Exchange *exchangeOf(PyObject *type) {
  py::object capsule =
      py::reinterpret_steal<py::object>(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  const void *found =
      capsule ? PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api") : nullptr;
  PyErr_Clear();
  auto *exchange = static_cast<const dlpack::Exchange *>(found);
  return exchange && exchange->major == 1 && exchange->lend ? exchange : nullptr;
}

/// `types` are torch.Tensor, which has the methods, and subclasses that are read and marked as it is.
static void setTensorReading(const py::tuple &types, py::object findFacts, py::object findSpan,
                             py::object markWritten) {
  TensorReading &reading = tensors();
  reading.types.clear();
  for (py::handle type : types)
    reading.types.push_back(reinterpret_cast<PyTypeObject *>(Py_NewRef(type.ptr())));
  reading.isNeg = Method(reading.types.at(0), "is_neg");
  reading.storageOffset = Method(reading.types.at(0), "storage_offset");
  reading.findFacts = std::move(findFacts);
  reading.findSpan = std::move(findSpan);
  reading.markWritten = std::move(markWritten);
  reading.exchange = exchangeOf(types[0].ptr());
}

/// Calls a function of Python. Where the interpreter stops this thread meanwhile, it sleeps: what
/// the frames around hold must not be let go without the lock.
static void callOrThrow(PyObject *function, PyObject *argument) {
  PyObject *result =
      python::takeLockOrSleep([&] { return PyObject_CallOneArg(function, argument); });
  if (!result)
    throw py::error_already_set();
  Py_DECREF(result);
}

void python::markWritten(const Kernel &kernel, std::span<PyObject *const> values, PyObject *mark) {
  const TensorReading &reading = tensors();
  py::list written;
  for (size_t position : kernel.stored) {
    PyObject *value = values[position];
    if (reading.markWritten && reading.reads(Py_TYPE(value)))
      written.append(py::handle(value));
    else
      callOrThrow(mark, value);
  }
  if (written.empty() || reading.markWritten.is_none())
    return;
  callOrThrow(reading.markWritten.ptr(), written.ptr());
}

void python::defineArguments(py::module_ &module) {
  module.def("make_reader", &makeReader, py::arg("modes"), py::arg("converters"),
             py::arg("numbers"));
  module.def("set_tensor_reading", &setTensorReading, py::arg("types"), py::arg("find_facts"),
             py::arg("find_span"), py::arg("mark_written"));
}
