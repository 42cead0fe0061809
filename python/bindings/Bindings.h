// What the files of the Python module share: conversions of reports and the parts of the module.
#ifndef PYTHON_BINDINGS_BINDINGS_H
#define PYTHON_BINDINGS_BINDINGS_H
#include "backend/api/Compile.h"
#include "runtime/arguments/ArgumentSpec.h"
#include <memory_resource>
#include <pybind11/pybind11.h>
#include <span>
#include <vector>

namespace tw::python {

/// A compiled kernel as Python holds it, with what a warm launch needs worked out once.
struct Kernel {
  explicit Kernel(std::shared_ptr<api::CompiledKernel> compiled);

  /// How a parameter's bits are made from a Python object.
  enum class Encoding : char { Integer, Float32, Float64 };

  std::shared_ptr<api::CompiledKernel> compiled;
  std::vector<Encoding> encodings;
  /// Positions in the Python signature: of each parameter, and of those that the kernel writes.
  std::vector<size_t> positions, stored;
  /// The least number of arguments of a launch: the greatest position plus one.
  size_t numArguments = 0;
};

/// A report as a dictionary with the field names of api::Report.
pybind11::dict toDict(const api::Report &report);
pybind11::dict toDict(const RuntimeError &error);

/// Leaves the exception that is being handled to Python; null, which says so.
PyObject *raised();
/// Tells the libraries of arrays which of the values a kernel writes: torch of all its tensors at
/// once, `mark` of the others.
void markWritten(const Kernel &kernel, std::span<PyObject *const> values, PyObject *mark);
/// Returns true if a kernel would write a tensor whose gradients torch keeps there, or a view that
/// may be one of such a tensor: Python looks closer.
bool mayWriteLeaf(const Kernel &kernel, std::span<PyObject *const> values);
/// Returns true while torch follows this thread's operators: in a dispatch mode, a transform of
/// torch.func, a functionalization or torch.jit.trace.
bool isTraced();
/// Returns true while a profiler of torch is active.
bool isProfiled();

/// An argument as it was read: the address of a tensor, else the number or constant.
struct PassedArgument {
  pybind11::object value;
  uint64_t address = 0;
};
using PassedArguments = std::pmr::vector<PassedArgument>;
/// The size of memory on the stack that the arguments of most launches fit into.
constexpr size_t kPassedBytes = 3072;
/// Reads arguments by the object behind the function that `make_reader` made: their facts, which
/// are the same object when they came lately; null where Python has to read.
pybind11::object readArguments(PyObject *reader, std::span<PyObject *const> values,
                               PassedArguments &passed);
/// Returns true if a tuple (kernel or None, function, code, defaults, named defaults) tells what is
/// there now. False where only Python can tell: functions with defaults of named parameters.
bool isSameBody(PyObject *body);

/// The bits of one argument. Integers are taken modulo 2^64: the kernel reads the low bytes that
/// its parameter's type has. `value` must be an int (or have __index__) or a number, or Python
/// raises.
uint64_t bitsOf(PyObject *value, Kernel::Encoding encoding);
/// Runs the grid; the report of a failure, or None.
pybind11::object runGrid(Kernel &kernel, const LaunchGrid &grid,
                         std::span<const LaunchArgument> arguments);

void defineCompiler(pybind11::module_ &module);
void defineRuntime(pybind11::module_ &module);
void defineArrays(pybind11::module_ &module);
void defineArguments(pybind11::module_ &module);
void defineFacts(pybind11::module_ &module);
void defineTracing(pybind11::module_ &module);
void defineChanges(pybind11::module_ &module);
void defineWarmLaunches(pybind11::module_ &module);
void defineXlaCalls(pybind11::module_ &module);

/// Finds the facts that are not as usual for an argument of this kind: a set of rows of
/// `kArgumentFacts`.
unsigned unusualFacts(const ArgumentFacts &facts, ArgumentSpec::Kind kind);
/// Gives such a set to Python, borrowed: ((name, value), ...), the same object for equal sets.
PyObject *changesOf(unsigned set);
/// The number of sets.
constexpr size_t kNumFactSets = size_t(1) << std::size(kArgumentFacts);

/// Python's facts of an integer that is passed, new; null where it has more than 64 bits, or with
/// an error.
PyObject *factsOfInteger(PyObject *value);

} // namespace tw::python
#endif
