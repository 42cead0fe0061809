// The rules of what is assumed of arguments (runtime/Specialization.h), for Python.
#include "python/bindings/Bindings.h"
#include "runtime/Specialization.h"
#include <algorithm>
#include <array>
#include <vector>

namespace py = pybind11;
using namespace tw;

namespace {
/// The type that an integer of Python is passed as, by its value.
enum class Passed { I32, I64, U64 };
/// Python's objects for the facts of integers: the same object for equal facts.
struct KnownIntegers {
  PyObject *make = nullptr; // (type, divisibility, changes) -> the object
  std::array<PyObject *, 3 * 2 * python::kNumFactSets> known = {};
};
} // namespace

unsigned python::unusualFacts(const ArgumentFacts &facts, ArgumentSpec::Kind kind) {
  unsigned set = 0;
  for (size_t i = 0; i < std::size(kArgumentFacts); ++i)
    if (const ArgumentFact &fact = kArgumentFacts[i];
        fact.kind == kind && facts.*fact.value != fact.usual)
      set |= 1u << i;
  return set;
}

/// Made when the module is loaded.
static std::array<PyObject *, python::kNumFactSets> changesOfSets;

PyObject *python::changesOf(unsigned set) { return changesOfSets[set]; }

static void makeChanges() {
  for (unsigned set = 0; set < python::kNumFactSets; ++set) {
    py::list changes;
    for (size_t i = 0; i < std::size(kArgumentFacts); ++i)
      if (set >> i & 1)
        changes.append(py::make_tuple(kArgumentFacts[i].name, !kArgumentFacts[i].usual));
    changesOfSets[set] = py::tuple(changes).release().ptr();
  }
}

static KnownIntegers &integers() {
  static KnownIntegers *integers = new KnownIntegers; // holds objects beyond the interpreter's end
  return *integers;
}

static PyObject *objectOf(Passed type, const ArgumentFacts &facts) {
  static constexpr const char *kNames[] = {"i32", "i64", "u64"};
  unsigned set = python::unusualFacts(facts, ArgumentSpec::Kind::Scalar);
  size_t index = (size_t(type) * 2 + (facts.divisibility > 1)) * python::kNumFactSets + set;
  PyObject *&known = integers().known[index];
  if (!known)
    known =
        PyObject_CallFunction(integers().make, "sLO", kNames[size_t(type)],
                              static_cast<long long>(facts.divisibility), python::changesOf(set));
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

/// (divisibility, changes) of an integer of a type of so many bits.
static py::tuple factsOfBits(const py::int_ &value, unsigned width) {
  uint64_t bits = PyLong_AsUnsignedLongLongMask(value.ptr());
  if (PyErr_Occurred())
    throw py::error_already_set();
  ArgumentFacts facts = integerFacts(bits, width);
  unsigned set = python::unusualFacts(facts, ArgumentSpec::Kind::Scalar);
  return py::make_tuple(facts.divisibility, py::handle(python::changesOf(set)));
}

/// (address, bytes): (divisibility, changes) of such a pointer, the same object for equal facts.
static PyObject *factsOfAddress(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  static std::array<PyObject *, 2 * python::kNumFactSets> known = {};
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "pointer_facts takes an address and a size");
    return nullptr;
  }
  uint64_t address = PyLong_AsUnsignedLongLong(arguments[0]);
  uint64_t bytes = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(arguments[1]);
  if (PyErr_Occurred())
    return nullptr;
  ArgumentFacts facts = pointerFacts(address, bytes, streamingBytes());
  unsigned set = python::unusualFacts(facts, ArgumentSpec::Kind::Pointer);
  PyObject *&pair = known[(facts.divisibility > 1) * python::kNumFactSets + set];
  if (!pair)
    pair = Py_BuildValue("LO", static_cast<long long>(facts.divisibility), python::changesOf(set));
  return Py_XNewRef(pair);
}

/// Reads a pointer and its memory from (pointee, begin, end, whether offsets count bytes); false
/// with an error.
static bool readPointer(PyObject *entry, ArgumentSpec &spec, MemorySpan &memory) {
  if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 4) {
    PyErr_SetString(PyExc_TypeError, "a pointer is (pointee, begin, end, counts bytes)");
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
  memory.countsBytes = PyTuple_GET_ITEM(entry, 3) == Py_True;
  return !PyErr_Occurred();
}

/// The changes of each pointer of a launch; None where no pointer meets another and all are within
/// reach.
static PyObject *findOverlaps(PyObject *, PyObject *pointers) {
  if (!PyList_CheckExact(pointers)) {
    PyErr_SetString(PyExc_TypeError, "find_overlaps takes a list of pointers");
    return nullptr;
  }
  size_t size = size_t(PyList_GET_SIZE(pointers));
  std::vector<ArgumentSpec> specs(size);
  std::vector<MemorySpan> memory(size);
  for (size_t i = 0; i < size; ++i)
    if (!readPointer(PyList_GET_ITEM(pointers, i), specs[i], memory[i]))
      return nullptr;
  assumeDisjoint(specs, memory);
  std::vector<unsigned> sets(size);
  for (size_t i = 0; i < size; ++i)
    sets[i] = python::unusualFacts(specs[i], ArgumentSpec::Kind::Pointer);
  if (std::ranges::count(sets, 0u) == std::ssize(sets))
    return Py_NewRef(Py_None);
  PyObject *found = PyList_New(Py_ssize_t(size));
  for (size_t i = 0; found && i < size; ++i)
    PyList_SET_ITEM(found, i, Py_NewRef(python::changesOf(sets[i])));
  return found;
}

/// Lists the columns of ArgumentFacts.def: (whether of pointers, name, attribute in Tile IR, usual
/// value, text, use, part, needs, rule).
static py::list argumentFacts() {
  static constexpr const char *kUses[] = {"assumed", "provided", "noted", "advice"};
  py::list facts;
  for (const ArgumentFact &fact : kArgumentFacts)
    facts.append(py::make_tuple(fact.kind == ArgumentSpec::Kind::Pointer, fact.name, fact.attribute,
                                fact.usual, fact.text, kUses[size_t(fact.use)], fact.part,
                                fact.needs, fact.rule));
  return facts;
}

static void define(py::module_ &module, PyMethodDef &method) {
  module.attr(method.ml_name) =
      py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
}

/// Functions of a warm launch take their arguments as they come.
using FastCall = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t);
static PyCFunction fast(FastCall function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(function));
}

void python::defineFacts(py::module_ &module) {
  makeChanges();
  static PyMethodDef methods[] = {
      {"read_integer", &readInteger, METH_O, nullptr},
      {"pointer_facts", fast(&factsOfAddress), METH_FASTCALL, nullptr},
      {"find_overlaps", &findOverlaps, METH_O, nullptr},
  };
  for (PyMethodDef &method : methods)
    define(module, method);
  module.def(
      "set_integer_facts", [](const py::object &make) { integers().make = Py_NewRef(make.ptr()); },
      py::arg("make"));
  module.def("integer_facts", &factsOfBits, py::arg("value"), py::arg("width"));
  module.def("streaming_bytes", &streamingBytes);
  module.def("argument_facts", &argumentFacts);
}
