// What torch does with a launch beside running it: whether it follows this thread's operators, and
// whether it keeps gradients of a tensor that the kernel writes.
#include "python/bindings/Bindings.h"
#include <algorithm>
#include <dlfcn.h>

namespace py = pybind11;
using namespace tw;
using python::Kernel;

namespace {
/// The word of c10 that has a thread's dispatch keys: those that it includes and those that it
/// leaves out (`PODLocalDispatchKeySet`). Default keys are inverted in both, and none of those
/// asked for is one.
struct DispatchKeys {
  uint64_t included, excluded;
};

/// A property of a type of C, read without a look-up of its name.
struct Property {
  PyGetSetDef *definition = nullptr;
  PyObject *owner = nullptr; // keeps the definition

  Property() = default;
  Property(PyObject *type, const char *name);
  /// Returns true if the property of an object of the type is `True`.
  bool isTrue(PyObject *object) const;
};

/// The answers about torch that Python has given.
struct Torch {
  uint64_t tracingKeys = 0; // of `DispatchKeys`; 0: torch is not loaded
  py::object isTraced;      // asked in place of the keys where c10 does not have them
  std::vector<PyTypeObject *> types;
  Property requiresGrad, isLeaf;
  py::object isView, isGradEnabled;
  py::object profiler; // the variables of the module that says whether one is active
};
} // namespace

static Torch &torch() {
  static Torch *torch = new Torch; // holds objects beyond the interpreter's end
  return *torch;
}

Property::Property(PyObject *type, const char *name) : owner(PyObject_GetAttrString(type, name)) {
  if (!owner)
    throw py::error_already_set();
  if (!Py_IS_TYPE(owner, &PyGetSetDescr_Type))
    throw py::type_error("a property of a type of C is needed");
  definition = reinterpret_cast<PyGetSetDescrObject *>(owner)->d_getset;
}

bool Property::isTrue(PyObject *object) const {
  auto value = py::reinterpret_steal<py::object>(definition->get(object, definition->closure));
  if (!value)
    throw py::error_already_set();
  return value.ptr() == Py_True;
}

/// The calling thread's keys; null where this c10 has none under that name.
static const DispatchKeys *findDispatchKeys() {
  void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return nullptr;
  auto *keys = static_cast<const DispatchKeys *>(
      dlsym(library, "_ZN3c104impl26raw_local_dispatch_key_setE"));
  dlclose(library); // torch holds it
  return keys;
}

bool python::isTraced() {
  const Torch &known = torch();
  if (!known.tracingKeys)
    return false;
  if (known.isTraced)
    return py::cast<bool>(known.isTraced());
  static thread_local const DispatchKeys *keys = findDispatchKeys();
  return keys && (keys->included & ~keys->excluded & known.tracingKeys) != 0;
}

bool python::isProfiled() {
  static PyObject *name = PyUnicode_InternFromString("_is_profiler_enabled");
  const py::object &variables = torch().profiler;
  return variables && PyDict_GetItemWithError(variables.ptr(), name) == Py_True;
}

bool python::mayWriteLeaf(const Kernel &kernel, std::span<PyObject *const> values) {
  const Torch &known = torch();
  for (size_t position : kernel.stored) {
    PyObject *value = values[position];
    if (std::ranges::count(known.types, Py_TYPE(value)) == 0 || !known.requiresGrad.isTrue(value))
      continue;
    if (!py::cast<bool>(known.isGradEnabled()))
      return false;
    if (known.isLeaf.isTrue(value) || py::cast<bool>(known.isView(py::handle(value))))
      return true;
  }
  return false;
}

/// `types` are as of `set_tensor_reading`; `keys` the bits of the dispatch keys that trace;
/// `isTraced` is asked instead where it is not None; `profiler` has torch.autograd.profiler's
/// variables.
static void setTracing(const py::tuple &types, uint64_t keys, const py::object &isTraced,
                       py::object isView, py::object isGradEnabled, py::dict profiler) {
  Torch &known = torch();
  known.types.clear();
  for (py::handle type : types)
    known.types.push_back(reinterpret_cast<PyTypeObject *>(Py_NewRef(type.ptr())));
  known.requiresGrad = Property(types[0].ptr(), "requires_grad");
  known.isLeaf = Property(types[0].ptr(), "is_leaf");
  known.isView = std::move(isView);
  known.isGradEnabled = std::move(isGradEnabled);
  known.isTraced = isTraced.is_none() ? py::object() : isTraced;
  known.tracingKeys = keys;
  known.profiler = std::move(profiler);
}

static PyObject *askWhetherTraced(PyObject *, PyObject *) {
  try {
    return PyBool_FromLong(python::isTraced());
  } catch (...) {
    return python::raised();
  }
}

void python::defineTracing(py::module_ &module) {
  // Each operator of a graph asks it: a call through pybind11 takes three times as long.
  static PyMethodDef isTraced = {"is_traced", &askWhetherTraced, METH_NOARGS, nullptr};
  module.attr("is_traced") =
      py::reinterpret_steal<py::object>(PyCFunction_New(&isTraced, nullptr));
  module.def("set_tracing", &setTracing, py::arg("types"), py::arg("keys"), py::arg("is_traced"),
             py::arg("is_view"), py::arg("is_grad_enabled"), py::arg("profiler"));
}
