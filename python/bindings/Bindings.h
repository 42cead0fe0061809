// What the files of the Python module share: conversions of reports and the parts of the module.
#ifndef PYTHON_BINDINGS_BINDINGS_H
#define PYTHON_BINDINGS_BINDINGS_H
#include "backend/api/Compile.h"
#include <pybind11/pybind11.h>

namespace tw::python {

/// A compiled kernel as Python holds it, with what a warm launch needs worked out once.
struct Kernel {
  explicit Kernel(std::shared_ptr<api::CompiledKernel> compiled);

  /// How a parameter's bits are made from a Python object.
  enum class Encoding : char { Integer, Float32, Float64 };

  std::shared_ptr<api::CompiledKernel> compiled;
  std::vector<Encoding> encodings;
};

/// A report as a dictionary with the field names of api::Report.
pybind11::dict toDict(const api::Report &report);
pybind11::dict toDict(const RuntimeError &error);

/// Leaves the exception that is being handled to Python; null, which says so.
PyObject *raised();
/// Tells the libraries of arrays that those at the positions `stored` are written: torch of all its
/// tensors at once, `mark` of the others.
void markWritten(PyObject *values, PyObject *stored, PyObject *mark);

void defineCompiler(pybind11::module_ &module);
void defineRuntime(pybind11::module_ &module);
void defineArrays(pybind11::module_ &module);
void defineArguments(pybind11::module_ &module);
void defineFacts(pybind11::module_ &module);
void defineChanges(pybind11::module_ &module);

/// Python's facts of an integer that is passed, new; null where it has more than 64 bits, or with
/// an error.
PyObject *factsOfInteger(PyObject *value);

} // namespace tw::python
#endif
