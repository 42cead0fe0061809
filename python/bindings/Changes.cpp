// Whether what a kernel was made of is still what it was: every launch asks.
#include "python/bindings/Bindings.h"

namespace py = pybind11;

bool tw::python::isSameBody(PyObject *body) {
  static PyObject *attribute = PyUnicode_InternFromString("fn");
  if (!PyTuple_Check(body) || PyTuple_GET_SIZE(body) != 5)
    return false;
  PyObject *kernel = PyTuple_GET_ITEM(body, 0), *function = PyTuple_GET_ITEM(body, 1);
  if (!PyFunction_Check(function) || PyTuple_GET_ITEM(body, 4) != Py_None)
    return false;
  PyObject *defaults = PyFunction_GET_DEFAULTS(function);
  if (PyFunction_GET_CODE(function) != PyTuple_GET_ITEM(body, 2) ||
      (defaults ? defaults : Py_None) != PyTuple_GET_ITEM(body, 3) ||
      PyFunction_GET_KW_DEFAULTS(function))
    return false;
  if (kernel == Py_None)
    return true;
  PyObject *wrapped = PyObject_GetAttr(kernel, attribute);
  Py_XDECREF(wrapped); // `function` lives, so that the comparison holds
  return wrapped == function;
}

/// Returns true if a tuple (names, name, value, fingerprint) tells what is there now, `missing` for
/// a name that is not; false where only Python can tell: other namespaces than dictionaries and
/// classes, and values that can change within.
static bool isSameName(PyObject *dependency, PyObject *missing) {
  if (!PyTuple_Check(dependency) || PyTuple_GET_SIZE(dependency) != 4)
    return false;
  PyObject *names = PyTuple_GET_ITEM(dependency, 0), *name = PyTuple_GET_ITEM(dependency, 1);
  if (PyTuple_GET_ITEM(dependency, 3) != Py_None)
    return false;
  if (PyType_Check(names)) {
    PyObject *found = PyObject_GetAttr(names, name);
    Py_XDECREF(found); // the dependency holds what it is compared with
    return found && found == PyTuple_GET_ITEM(dependency, 2);
  }
  if (!PyDict_CheckExact(names))
    return false;
  PyObject *value = PyDict_GetItemWithError(names, name);
  if (!value && PyErr_Occurred())
    return false;
  return (value ? value : missing) == PyTuple_GET_ITEM(dependency, 2);
}

/// Returns true if all entries of a list pass, each kept alive meanwhile: comparing keys may run
/// code.
template <typename Test> static bool isEach(PyObject *list, Test passes) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    auto entry = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(list, i));
    if (!passes(entry.ptr()))
      return false;
  }
  return true;
}

/// `state` is (bodies, dependencies, otherwise, missing).
static PyObject *isCurrent(PyObject *state, PyObject *) {
  PyObject *missing = PyTuple_GET_ITEM(state, 3);
  auto isSame = [&](PyObject *dependency) { return isSameName(dependency, missing); };
  if (isEach(PyTuple_GET_ITEM(state, 0), tw::python::isSameBody) &&
      isEach(PyTuple_GET_ITEM(state, 1), isSame))
    return Py_NewRef(Py_True);
  PyErr_Clear();
  return PyObject_CallNoArgs(PyTuple_GET_ITEM(state, 2));
}

/// A function that gives whether the bodies and dependencies that two lists have by then are as
/// they were captured, and asks `otherwise` where they are not, or where that needs Python.
/// `missing` is the value of dependencies that were not there.
static py::object makeCheck(const py::list &bodies, const py::list &dependencies,
                            const py::function &otherwise, const py::object &missing) {
  static PyMethodDef method = {"is_current", &isCurrent, METH_NOARGS, nullptr};
  // A tuple, which the garbage collector looks into: the kernel is reachable from its capture.
  py::tuple state = py::make_tuple(bodies, dependencies, otherwise, missing);
  return py::reinterpret_steal<py::object>(PyCFunction_New(&method, state.ptr()));
}

void tw::python::defineChanges(py::module_ &module) {
  module.def("make_check", &makeCheck, py::arg("bodies"), py::arg("dependencies"),
             py::arg("otherwise"), py::arg("missing") = py::none());
}
