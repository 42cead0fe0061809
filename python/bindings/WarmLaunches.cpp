// `kernel[grid](...)` where an earlier launch was like it: from the arguments to the loaded kernel
// and into it, with no code of Python between. Whatever is new, Python launches.
#include "python/bindings/Bindings.h"
#include "python/bindings/Interpreter.h"
#include "runtime/codes/Codes.h"
#include <algorithm>

namespace py = pybind11;
using namespace tw;
using python::Kernel;

namespace {
/// The parts of a launcher: a tuple, which the garbage collector looks into, as the kernel is
/// reachable from it.
enum Part : Py_ssize_t {
  kFunction, // the kernel of Python, whose `_launch` does all of it
  kLaunch,   // that method as a function: where it is another one, Python launches
  kBody,     // of the signature, as `make_check` takes it; None: Python launches
  kReader,
  kNames,    // of the parameters
  kDefaults, // of the parameters, or the launcher's part kMissing
  kMissing,
  kNumPositional,
  kLaunched,  // the list of entries
  kHooks,     // a tuple of lists: where one has an entry, Python launches
  kOptions,   // of launches that give none
  kChosen,    // the variable of the device that was chosen
  kVariables, // of the module that has the settings, which decide where nothing was chosen
  kResolve,   // (grid, values, options): the grid of a function
  kMark,      // as of `mark_written`
  kRaise,     // of a report
  kNumParts,
};

/// An entry of the list: a kernel and what it was launched for.
enum Member : Py_ssize_t {
  mFacts,
  mOptions, // of the launcher then
  mGiven,   // the options of the launch, by name; None: it gave none
  mChoice,
  mCompiled,
  mIsCurrent,
  mReadStream, // () -> the stream of a launch; None: 0
  mNative,     // the kernel of the native module, and in a capsule its address
  mKernel,
  mInstead, // the entry of the kernel for arrays that no tensor map of this one describes, or None
};

/// One call.
struct Call {
  PyObject *const *launcher;
  PyObject *grid;
  PyObject *programs = nullptr; // what a function gave for `grid`
  std::pmr::vector<PyObject *> values;
  std::pmr::vector<std::pair<PyObject *, PyObject *>> options; // names and values
  python::PassedArguments passed;
  LaunchGrid extents = {};

  Call(PyObject *state, PyObject *grid, std::pmr::memory_resource *memory)
      : launcher(reinterpret_cast<PyTupleObject *>(state)->ob_item), grid(grid), values(memory),
        options(memory), passed(memory) {}
  Call(const Call &) = delete;
  ~Call() { Py_XDECREF(programs); }

  PyObject *launch(std::span<PyObject *const> given, PyObject *names);

private:
  bool hasHooks() const;
  bool mayLaunch() const;
  bool bind(std::span<PyObject *const> given, PyObject *names);
  bool areGiven(PyObject *known) const;
  py::object find(PyObject *facts) const;
  bool resolve();
  bool run(Kernel &kernel);
  PyObject *run(py::object entry);
};
} // namespace

static PyObject *member(const py::object &entry, Member index) {
  return PyTuple_GET_ITEM(entry.ptr(), index);
}

bool Call::hasHooks() const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(launcher[kHooks]); ++i)
    if (PyList_GET_SIZE(PyTuple_GET_ITEM(launcher[kHooks], i)) != 0)
      return true;
  return false;
}

/// `kernel._launch`, which programs may replace: in its class, a derived one or itself.
static py::object methodOf(PyObject *kernel) {
  static PyObject *name = PyUnicode_InternFromString("_launch");
  return py::reinterpret_steal<py::object>(PyObject_GetAttr(kernel, name));
}

/// Nothing is to be told of this launch, and the method and the parameters are those that the
/// launcher has.
bool Call::mayLaunch() const {
  static PyObject *ownHooks = PyUnicode_InternFromString("pre_run_hooks");
  if (hasHooks() || python::isTraced() || python::isProfiled())
    return false;
  py::object method = methodOf(launcher[kFunction]);
  if (!method || !PyMethod_Check(method.ptr()) ||
      PyMethod_GET_FUNCTION(method.ptr()) != launcher[kLaunch])
    return false;
  auto hooks = py::reinterpret_steal<py::object>(PyObject_GetAttr(launcher[kFunction], ownHooks));
  return hooks && PyList_CheckExact(hooks.ptr()) && PyList_GET_SIZE(hooks.ptr()) == 0 &&
         python::isSameBody(launcher[kBody]);
}

/// The value of each parameter, and what else has a name; false where a parameter lacks its value.
bool Call::bind(std::span<PyObject *const> given, PyObject *names) {
  PyObject *parameters = launcher[kNames];
  const size_t count = size_t(PyTuple_GET_SIZE(parameters));
  const size_t numNamed = names ? size_t(PyTuple_GET_SIZE(names)) : 0;
  const size_t numPlain = given.size() - numNamed;
  if (numPlain > PyLong_AsSize_t(launcher[kNumPositional]))
    return false;
  values.reserve(count);
  values.assign(given.begin(), given.begin() + numPlain);
  PyObject *const *defaults = reinterpret_cast<PyTupleObject *>(launcher[kDefaults])->ob_item;
  values.insert(values.end(), defaults + numPlain, defaults + count);
  for (size_t i = 0; i < numNamed; ++i) {
    PyObject *name = PyTuple_GET_ITEM(names, i);
    size_t at = numPlain;
    while (at < count && PyTuple_GET_ITEM(parameters, at) != name) // both are interned
      ++at;
    if (at == count)
      options.emplace_back(name, given[numPlain + i]);
    else
      values[at] = given[numPlain + i];
  }
  for (size_t i = numPlain; i < count; ++i)
    if (values[i] == launcher[kMissing])
      return false;
  return true;
}

/// Equal texts or integers, or the same object.
static bool isSame(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  bool areNumbers = PyLong_CheckExact(a) && PyLong_CheckExact(b);
  bool areTexts = PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b);
  return (areNumbers || areTexts) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/// Returns true if the call gives the options of an entry and no others.
bool Call::areGiven(PyObject *known) const {
  if (known == Py_None || size_t(PyDict_GET_SIZE(known)) != options.size())
    return known == Py_None && options.empty();
  return std::ranges::all_of(options, [&](const auto &option) {
    PyObject *value = PyDict_GetItemWithError(known, option.first);
    return value && isSame(value, option.second);
  });
}

/// The entry of these facts and options, for the device that is chosen now.
py::object Call::find(PyObject *facts) const {
  static PyObject *settings = PyUnicode_InternFromString("_settings");
  PyObject *chosen = nullptr;
  if (PyContextVar_Get(launcher[kChosen], nullptr, &chosen) != 0)
    throw py::error_already_set();
  auto choice = py::reinterpret_steal<py::object>(chosen);
  if (choice.is_none())
    choice =
        py::reinterpret_borrow<py::object>(PyDict_GetItemWithError(launcher[kVariables], settings));
  for (Py_ssize_t i = 0; choice && i < PyList_GET_SIZE(launcher[kLaunched]); ++i) {
    auto entry = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(launcher[kLaunched], i));
    if (member(entry, mFacts) == facts && member(entry, mOptions) == launcher[kOptions] &&
        areGiven(member(entry, mGiven)) && isSame(member(entry, mChoice), choice.ptr()))
      return entry;
  }
  return {};
}

/// Reads numbers of programs that are plain integers in range.
static bool readExtents(PyObject *grid, LaunchGrid &extents) {
  extents.programs = {1, 1, 1};
  bool isSequence = PyTuple_CheckExact(grid) || PyList_CheckExact(grid);
  Py_ssize_t count = isSequence ? PySequence_Fast_GET_SIZE(grid) : 1;
  if (count < 1 || count > Py_ssize_t(extents.programs.size()))
    return false;
  for (Py_ssize_t axis = 0; axis < count; ++axis) {
    PyObject *extent = isSequence ? PySequence_Fast_GET_ITEM(grid, axis) : grid;
    if (!PyLong_CheckExact(extent))
      return false;
    int overflow = 0;
    long number = PyLong_AsLongAndOverflow(extent, &overflow);
    if (overflow || number < 0 || number > INT32_MAX)
      return false;
    extents.programs[size_t(axis)] = int32_t(number);
  }
  return true;
}

/// The grid as numbers; false where Python has to say what is wrong with it.
bool Call::resolve() {
  if (readExtents(grid, extents))
    return true;
  if (!PyCallable_Check(grid))
    return false;
  py::tuple arguments(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    arguments[i] = py::handle(values[i]);
  py::dict given;
  for (auto [name, value] : options)
    given[py::handle(name)] = py::handle(value);
  programs =
      PyObject_CallFunctionObjArgs(launcher[kResolve], grid, arguments.ptr(), given.ptr(), nullptr);
  if (!programs)
    throw py::error_already_set();
  return readExtents(programs, extents);
}

/// The stream that a kernel's device has as its current one; 0 where devices have none.
static uint64_t currentStream(PyObject *read) {
  if (read == Py_None)
    return 0;
  auto stream = py::reinterpret_steal<py::object>(
      python::takeLockOrSleep([&] { return PyObject_CallNoArgs(read); }));
  uint64_t handle = stream ? PyLong_AsUnsignedLongLong(stream.ptr()) : 0;
  if (PyErr_Occurred())
    throw py::error_already_set();
  return handle;
}

/// Returns false where Python has to launch another kernel, as no tensor map describes an array, or
/// to say what is wrong.
bool Call::run(Kernel &kernel) {
  if (python::mayWriteLeaf(kernel, values))
    return false;
  std::pmr::vector<LaunchArgument> arguments(kernel.positions.size(), values.get_allocator());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const python::PassedArgument &argument = passed[kernel.positions[i]];
    arguments[i].bits = argument.value ? python::bitsOf(argument.value.ptr(), kernel.encodings[i])
                                       : argument.address;
  }
  python::markWritten(kernel, values, launcher[kMark]);
  py::object report = python::runGrid(kernel, extents, arguments);
  if (report.is_none())
    return true;
  if (py::cast<std::string>(report["code"]) == codeName(Code::TensorMapRefused))
    return false;
  py::handle raise = launcher[kRaise];
  raise(report);
  return true;
}

/// The kernel that was launched, or None for a grid of no programs; null where Python has to
/// launch.
PyObject *Call::launch(std::span<PyObject *const> given, PyObject *names) {
  if (PyList_GET_SIZE(launcher[kLaunched]) == 0 || !mayLaunch() || !bind(given, names))
    return nullptr;
  py::object facts = python::readArguments(PyCFunction_GET_SELF(launcher[kReader]), values, passed);
  if (!facts || !resolve())
    return nullptr;
  for (int32_t extent : extents.programs)
    if (extent == 0)
      return Py_NewRef(Py_None);
  // The grid's function may have chosen another device, or added hooks.
  py::object entry = hasHooks() ? py::object() : find(facts.ptr());
  return entry ? run(entry) : nullptr;
}

/// The kernel of an entry that was launched; null where Python has to launch.
PyObject *Call::run(py::object entry) {
  while (!entry.is_none()) {
    auto isCurrent =
        py::reinterpret_steal<py::object>(PyObject_CallNoArgs(member(entry, mIsCurrent)));
    if (!isCurrent)
      throw py::error_already_set();
    if (isCurrent.ptr() != Py_True)
      return nullptr;
    extents.stream = currentStream(member(entry, mReadStream));
    if (run(*static_cast<Kernel *>(PyCapsule_GetPointer(member(entry, mKernel), nullptr))))
      return Py_NewRef(member(entry, mCompiled));
    entry = py::reinterpret_borrow<py::object>(member(entry, mInstead));
  }
  return nullptr;
}

/// `kernel._launch(grid, ...)`.
static PyObject *launchByPython(PyObject *function, PyObject *grid, PyObject *const *given,
                                Py_ssize_t count, PyObject *names) {
  py::object launch = methodOf(function);
  if (!launch)
    return nullptr;
  std::vector<PyObject *> arguments(given, given + count + (names ? PyTuple_GET_SIZE(names) : 0));
  arguments[0] = grid;
  // What this frame and its caller hold must not be let go without the lock.
  return python::takeLockOrSleep(
      [&] { return PyObject_Vectorcall(launch.ptr(), arguments.data(), size_t(count), names); });
}

/// (grid, *arguments, **named)
static PyObject *launchWarm(PyObject *state, PyObject *const *given, Py_ssize_t count,
                            PyObject *names) {
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "a launch needs a grid");
    return nullptr;
  }
  std::byte memory[python::kPassedBytes];
  std::pmr::monotonic_buffer_resource pool(memory, sizeof(memory));
  Call call(state, given[0], &pool);
  try {
    size_t numGiven = size_t(count) - 1 + (names ? size_t(PyTuple_GET_SIZE(names)) : 0);
    PyObject *kernel =
        call.launcher[kBody] == Py_None ? nullptr : call.launch({given + 1, numGiven}, names);
    if (kernel)
      return kernel;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
      return nullptr; // an interrupt, which does not come again
    PyErr_Clear();
  } catch (...) {
    return python::raised();
  }
  PyObject *grid = call.programs ? call.programs : given[0];
  return launchByPython(call.launcher[kFunction], grid, given, count, names);
}

/// A function that launches a kernel: of the grid and what follows.
static py::object makeLauncher(const py::args &parts) {
  static PyMethodDef method = {"launch",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(&launchWarm)),
                               METH_FASTCALL | METH_KEYWORDS, nullptr};
  if (parts.size() != kNumParts)
    throw py::type_error("a launcher has other parts");
  return py::reinterpret_steal<py::object>(PyCFunction_New(&method, parts.ptr()));
}

namespace {
/// The parts of an operator of torch that launches a kernel.
enum OperatorPart : Py_ssize_t {
  pKernel,    // of Python
  pConstants, // a tuple: what follows the operator's arguments in a launch
  pChecked,   // a list of one: the compiled kernel that `pCheck` has seen last
  pCheck,     // (compiled kernel)
  pRun,       // (grid, *arguments), while torch follows this thread
  kNumOperatorParts,
};
} // namespace

/// (grid, *arguments): a launch with the operator's constants.
static PyObject *launchOperator(PyObject *state, PyObject *const *given, Py_ssize_t count) {
  static PyObject *name = PyUnicode_InternFromString("_launch_again");
  PyObject *const *parts = reinterpret_cast<PyTupleObject *>(state)->ob_item;
  if (python::isTraced())
    return PyObject_Vectorcall(parts[pRun], given, size_t(count), nullptr);
  auto launch = py::reinterpret_steal<py::object>(PyObject_GetAttr(parts[pKernel], name));
  if (!launch)
    return nullptr;
  PyObject *const *constants = reinterpret_cast<PyTupleObject *>(parts[pConstants])->ob_item;
  std::byte memory[python::kPassedBytes];
  std::pmr::monotonic_buffer_resource pool(memory, sizeof(memory));
  std::pmr::vector<PyObject *> arguments(&pool);
  arguments.reserve(size_t(count + PyTuple_GET_SIZE(parts[pConstants])));
  arguments.assign(given, given + count);
  arguments.insert(arguments.end(), constants, constants + PyTuple_GET_SIZE(parts[pConstants]));
  auto ran = py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(launch.ptr(), arguments.data(), arguments.size(), nullptr));
  if (!ran)
    return nullptr;
  if (ran.ptr() == PyList_GET_ITEM(parts[pChecked], 0))
    Py_RETURN_NONE;
  return PyObject_CallOneArg(parts[pCheck], ran.ptr());
}

/// The function of an operator that launches a kernel: of the grid and the operator's arguments.
static py::object makeOperator(const py::args &parts) {
  static PyMethodDef method = {
      "launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(&launchOperator)),
      METH_FASTCALL, nullptr};
  if (parts.size() != kNumOperatorParts ||
      !PyTuple_CheckExact(PyTuple_GET_ITEM(parts.ptr(), pConstants)) ||
      !PyList_CheckExact(PyTuple_GET_ITEM(parts.ptr(), pChecked)))
    throw py::type_error("an operator has other parts");
  return py::reinterpret_steal<py::object>(PyCFunction_New(&method, parts.ptr()));
}

/// An entry of a launcher's list. `readStream` gives the stream of a launch; None: 0.
static py::tuple makeEntry(const py::tuple &facts, const py::object &options,
                           const py::object &given, const py::object &choice,
                           const py::object &compiled, const py::object &isCurrent,
                           const py::object &readStream, const py::object &native,
                           const py::object &instead) {
  auto &kernel = py::cast<Kernel &>(native);
  if (kernel.numArguments > facts.size())
    throw py::value_error("facts of every parameter are needed");
  auto found = py::reinterpret_steal<py::object>(PyCapsule_New(&kernel, nullptr, nullptr));
  return py::make_tuple(facts, options, given, choice, compiled, isCurrent, readStream, native,
                        found, instead);
}

void python::defineWarmLaunches(py::module_ &module) {
  module.def("make_launcher", &makeLauncher);
  module.def("make_operator", &makeOperator);
  module.def("make_entry", &makeEntry, py::arg("facts"), py::arg("options"), py::arg("given"),
             py::arg("choice"), py::arg("compiled"), py::arg("is_current"), py::arg("read_stream"),
             py::arg("native"), py::arg("instead"));
}
