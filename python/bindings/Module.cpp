// The Python module tilewright._native: the public C++ interface for the Python package.
#include "python/bindings/Bindings.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Tilewright's compiler and runtime; use the package `tilewright` instead.";
  tw::python::defineCompiler(module);
  tw::python::defineRuntime(module);
  tw::python::defineArrays(module);
}
