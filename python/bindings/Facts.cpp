// The rules of what is assumed of arguments (runtime/Specialization.h), for Python.
#include "python/bindings/Bindings.h"
#include "runtime/Specialization.h"
#include <algorithm>
#include <array>
#include <vector>

namespace py = pybind11;
using namespace tw;

namespace {
/// Python's objects for the facts of integers: the same object for equal facts.
struct KnownIntegers {
  PyObject *make = nullptr; // (type, divisibility, is one, is not negative) -> the object
  std::array<PyObject *, 3 * 8> known = {};
};
/// The type that an integer of Python is passed as, by its value.
enum class Passed { I32, I64, U64 };
} // namespace

static KnownIntegers &integers() {
  static KnownIntegers *integers = new KnownIntegers; // holds objects beyond the interpreter's end
  return *integers;
}

static PyObject *objectOf(Passed type, IntegerFacts facts) {
  static constexpr const char *kNames[] = {"i32", "i64", "u64"};
  size_t index =
      size_t(type) * 8 + (facts.divisibility > 1) * 4 + facts.isOne * 2 + facts.isNonNegative;
  PyObject *&known = integers().known[index];
  if (!known)
    known = PyObject_CallFunction(
        integers().make, "sLOO", kNames[size_t(type)], static_cast<long long>(facts.divisibility),
        facts.isOne ? Py_True : Py_False, facts.isNonNegative ? Py_True : Py_False);
  return Py_XNewRef(known);
}

PyObject *python::factsOfInteger(PyObject *value) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (number == -1 && PyErr_Occurred())
    return nullptr;
  if (!overflow && number == int32_t(number))
    return objectOf(Passed::I32, integerFacts(uint64_t(number), 32));
  if (!overflow)
    return objectOf(Passed::I64, integerFacts(uint64_t(number), 64));
  unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : 0;
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    return nullptr;
  }
  return objectOf(Passed::U64, integerFacts(large, 64));
}

/// (facts, value) of an integer, or None where it has more than 64 bits.
static PyObject *readInteger(PyObject *, PyObject *value) {
  PyObject *facts = python::factsOfInteger(value);
  if (!facts)
    return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
  PyObject *pair = PyTuple_Pack(2, facts, value);
  Py_DECREF(facts);
  return pair;
}

/// (divisibility, is one, is not negative) of an integer of a type of so many bits.
static py::tuple factsOfBits(const py::int_ &value, unsigned width) {
  uint64_t bits = PyLong_AsUnsignedLongLongMask(value.ptr());
  if (PyErr_Occurred())
    throw py::error_already_set();
  IntegerFacts facts = integerFacts(bits, width);
  return py::make_tuple(facts.divisibility, facts.isOne, facts.isNonNegative);
}

/// (address, bytes): (divisibility, is streaming) of such a pointer.
static PyObject *factsOfAddress(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  static PyObject *known[4] = {};
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "pointer_facts takes an address and a size");
    return nullptr;
  }
  uint64_t address = PyLong_AsUnsignedLongLong(arguments[0]);
  uint64_t bytes = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(arguments[1]);
  if (PyErr_Occurred())
    return nullptr;
  PointerFacts facts = pointerFacts(address, bytes, streamingBytes());
  PyObject *&pair = known[(facts.divisibility > 1) * 2 + facts.isStreaming];
  if (!pair)
    pair = Py_BuildValue("LO", static_cast<long long>(facts.divisibility),
                         facts.isStreaming ? Py_True : Py_False);
  return Py_XNewRef(pair);
}

/// Reads the assumptions about a pointer and its memory from (pointee, begin, end); false with an
/// error.
static bool readPointer(PyObject *entry, ArgumentSpec &spec, MemorySpan &memory) {
  if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 3) {
    PyErr_SetString(PyExc_TypeError, "a pointer is (pointee, begin, end)");
    return false;
  }
  const char *pointee = PyUnicode_AsUTF8(PyTuple_GET_ITEM(entry, 0));
  if (!pointee)
    return false;
  spec.kind = ArgumentSpec::Kind::Pointer;
  spec.type = pointee;
  spec.isDisjoint = true;
  memory.begin = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(entry, 1));
  if (!PyErr_Occurred())
    memory.end = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(entry, 2));
  return !PyErr_Occurred();
}

/// (list of (pointee, begin, end), whether offsets count bytes): None where no pointer of a launch
/// meets another and all are within reach, else (is disjoint, is large) of each.
static PyObject *findOverlaps(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2 || !PyList_CheckExact(arguments[0])) {
    PyErr_SetString(PyExc_TypeError, "find_overlaps takes a list of pointers and a truth value");
    return nullptr;
  }
  size_t size = size_t(PyList_GET_SIZE(arguments[0]));
  std::vector<ArgumentSpec> specs(size);
  std::vector<MemorySpan> memory(size);
  for (size_t i = 0; i < size; ++i)
    if (!readPointer(PyList_GET_ITEM(arguments[0], i), specs[i], memory[i]))
      return nullptr;
  assumeDisjoint(specs, memory, arguments[1] == Py_True);
  auto isPlain = [](const ArgumentSpec &spec) { return spec.isDisjoint && !spec.isLarge; };
  if (std::all_of(specs.begin(), specs.end(), isPlain))
    return Py_NewRef(Py_None);
  PyObject *found = PyList_New(Py_ssize_t(size));
  for (size_t i = 0; found && i < size; ++i)
    PyList_SET_ITEM(found, i,
                    Py_BuildValue("OO", specs[i].isDisjoint ? Py_True : Py_False,
                                  specs[i].isLarge ? Py_True : Py_False));
  return found;
}

/// Lists the facts that are true or false: (name, whether of pointers, usual value, text, use).
static py::list argumentFacts() {
  static constexpr const char *kUses[] = {"assumed", "provided", "noted", "advice"};
  py::list facts;
  for (const ArgumentFact &fact : kArgumentFacts)
    facts.append(py::make_tuple(fact.name, fact.kind == ArgumentSpec::Kind::Pointer, fact.usual,
                                fact.text, kUses[size_t(fact.use)]));
  return facts;
}

static void define(py::module_ &module, PyMethodDef &method) {
  module.attr(method.ml_name) = py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
}

/// Functions of a warm launch take their arguments as they come.
using FastCall = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
static PyCFunction fast(FastCall function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}

void python::defineFacts(py::module_ &module) {
  static PyMethodDef methods[] = {
      {"read_integer", &readInteger, METH_O, nullptr},
      {"pointer_facts", fast(&factsOfAddress), METH_FASTCALL, nullptr},
      {"find_overlaps", fast(&findOverlaps), METH_FASTCALL, nullptr},
  };
  for (PyMethodDef &method : methods)
    define(module, method);
  module.def(
      "set_integer_facts",
      [](const py::object &make) { integers().make = Py_NewRef(make.ptr()); }, py::arg("make"));
  module.def("integer_facts", &factsOfBits, py::arg("value"), py::arg("width"));
  module.def("streaming_bytes", &streamingBytes);
  module.def("argument_facts", &argumentFacts);
}
