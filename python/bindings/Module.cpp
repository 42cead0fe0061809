// The Python module tilewright._native: the public C++ interface for the Python package.
#include "python/bindings/Bindings.h"

namespace py = pybind11;

/// Called `_native` in Python, after what the function below is called.
PYBIND11_MODULE(_bindings, module) {
  module.doc() = "Tilewright's compiler and runtime; use the package `tilewright` instead.";
  tw::python::defineCompiler(module);
  tw::python::defineRuntime(module);
  tw::python::defineArrays(module);
  tw::python::defineArguments(module);
  tw::python::defineFacts(module);
  tw::python::defineTracing(module);
  tw::python::defineChanges(module);
  tw::python::defineWarmLaunches(module);
  tw::python::defineXlaCalls(module);
}

/// pybind11 takes the lock of the main interpreter before anything of the module runs, for which a
/// subinterpreter would wait for ever.
extern "C" PYBIND11_EXPORT PyObject *PyInit__native() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    return PyInit__bindings();
  PyErr_SetString(PyExc_ImportError,
                  "Tilewright's compiler and runtime serve the main interpreter of a process, and "
                  "this is a subinterpreter: launch from the main one, or from another process");
  return nullptr;
}
