// Python's view of running kernels: launches, the cache's counters, targets and threads.
#include "backend/api/Devices.h"
#include "backend/api/Pages.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/Interpreter.h"
#include "runtime/Interrupts.h"
#include <algorithm>
#include <bit>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace tw;
using python::Kernel;

Kernel::Kernel(std::shared_ptr<api::CompiledKernel> kernel) : compiled(std::move(kernel)) {
  for (const ArtifactParameter &parameter : compiled->artifact.parameters) {
    encodings.push_back(parameter.type == "fp32"   ? Encoding::Float32
                        : parameter.type == "fp64" ? Encoding::Float64
                                                   : Encoding::Integer);
    positions.push_back(size_t(parameter.sourceIndex));
    numArguments = std::max(numArguments, positions.back() + 1);
    if (parameter.isStored)
      stored.push_back(size_t(parameter.sourceIndex));
  }
}

py::dict python::toDict(const api::Report &report) {
  py::dict dict;
  dict["kind"] = report.kind;
  dict["severity"] = report.severity;
  dict["code"] = report.code;
  dict["message"] = report.message;
  dict["hint"] = report.hint;
  dict["rendered"] = report.rendered;
  dict["json"] = report.json;
  return dict;
}

py::dict python::toDict(const RuntimeError &error) {
  py::dict dict;
  dict["kind"] = kindName(error.kind);
  dict["severity"] = "error";
  dict["code"] = codeName(error.code);
  dict["message"] = error.message;
  dict["hint"] = error.hint;
  return dict;
}

uint64_t python::bitsOf(PyObject *value, Kernel::Encoding encoding) {
  if (encoding == Kernel::Encoding::Integer) {
    uint64_t bits = PyLong_AsUnsignedLongLongMask(value);
    if (bits == ~uint64_t(0) && PyErr_Occurred())
      throw py::error_already_set();
    return bits;
  }
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred())
    throw py::error_already_set();
  if (encoding == Kernel::Encoding::Float32)
    return std::bit_cast<uint32_t>(static_cast<float>(number));
  return std::bit_cast<uint64_t>(number);
}

/// The argument at a position; `bits` and `memory` are as of `launch`.
static LaunchArgument readArgument(PyObject *bits, PyObject *memory, size_t position,
                                   Kernel::Encoding encoding) {
  LaunchArgument argument;
  argument.bits = python::bitsOf(PyList_GET_ITEM(bits, Py_ssize_t(position)), encoding);
  if (memory == Py_None)
    return argument;
  py::sequence span = py::reinterpret_borrow<py::sequence>(memory)[position];
  argument.allocationBase = py::cast<uint64_t>(span[0]);
  argument.bytes = py::cast<uint64_t>(span[1]);
  argument.isReadOnly = py::cast<bool>(span[2]);
  argument.skippedBytes = uint8_t(py::cast<uint64_t>(span[3]));
  return argument;
}

py::object python::runGrid(Kernel &kernel, const LaunchGrid &grid,
                           std::span<const LaunchArgument> arguments) {
  std::optional<RuntimeError> error;
  python::withoutLock([&] { error = api::launch(*kernel.compiled, grid, arguments); });
  if (PyErr_Occurred()) // what `raisesSignal` has left
    throw py::error_already_set();
  if (error)
    return python::toDict(*error);
  return py::none();
}

PyObject *python::raised() {
  try {
    throw;
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const py::builtin_exception &error) {
    error.set_error();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// launch(kernel, (x, y, z), bits, values, mark, memory, stream, flags, simulation): by
/// Python's own protocol, since finding the overload of a bound function takes as long as a small
/// launch. `bits` and `values` have one entry for each parameter of the function, of which the
/// kernel takes some. `memory` is None, or has for each (base address, bytes, is read-only, bytes
/// of the allocation before that).
static PyObject *launch(PyObject *, PyObject *const *given, Py_ssize_t count) {
  try {
    if (count != 9 || !PyTuple_CheckExact(given[1]) || PyTuple_GET_SIZE(given[1]) != 3 ||
        !PyList_CheckExact(given[2]) || !PyTuple_CheckExact(given[3]) ||
        !PyTuple_CheckExact(given[7]) ||
        PyTuple_GET_SIZE(given[7]) > Py_ssize_t(std::size(kLaunchFlags)))
      throw py::type_error("launch takes a kernel, its grid, bits, values, a function, memory, a "
                           "stream, flags, and options of simulators");
    auto &kernel = py::cast<Kernel &>(py::handle(given[0]));
    PyObject *bits = given[2], *values = given[3], *memory = given[5];
    const size_t numValues = size_t(PyTuple_GET_SIZE(values));
    const bool hasMemory = memory != Py_None;
    if (size_t(PyList_GET_SIZE(bits)) != numValues || kernel.numArguments > numValues ||
        (hasMemory && size_t(PyObject_Size(memory)) != numValues))
      throw py::value_error("bits, values and memory of every parameter are needed");
    LaunchGrid grid = {};
    for (size_t axis = 0; axis < grid.programs.size(); ++axis)
      grid.programs[axis] = py::cast<int32_t>(py::handle(PyTuple_GET_ITEM(given[1], axis)));
    grid.stream = py::cast<uint64_t>(py::handle(given[6]));
    for (Py_ssize_t flag = 0; flag < PyTuple_GET_SIZE(given[7]); ++flag)
      grid.*kLaunchFlags[flag] = PyTuple_GET_ITEM(given[7], flag) == Py_True;
    grid.simulation = py::cast<const SimulationOptions *>(py::handle(given[8])); // null: None
    std::vector<LaunchArgument> arguments;
    arguments.reserve(kernel.positions.size());
    for (size_t i = 0; i < kernel.positions.size(); ++i)
      arguments.push_back(readArgument(bits, memory, kernel.positions[i], kernel.encodings[i]));
    python::markWritten(kernel, {reinterpret_cast<PyTupleObject *>(values)->ob_item, numValues},
                        given[4]);
    return python::runGrid(kernel, grid, arguments).release().ptr();
  } catch (...) {
    return python::raised();
  }
}

/// Runs Python's handlers of signals that have arrived; true when one raises, Ctrl-C's for example.
/// The exception stays until the launch returns. Only the main thread has signals.
static bool raisesSignal() {
  python::InterpreterLock lock;
  return PyErr_CheckSignals() != 0;
}

static py::dict cacheStatistics() {
  api::CacheStatistics statistics = api::cacheStatistics();
  py::dict dict;
  dict["hits"] = statistics.hits;
  dict["misses"] = statistics.misses;
  dict["corrupt"] = statistics.corrupt;
  dict["writes"] = statistics.writes;
  dict["write_failures"] = statistics.writeFailures;
  return dict;
}

/// The report that says why there is no such device, or None.
static py::object checkTarget(const std::string &name) {
  if (std::optional<RuntimeError> error = api::checkTarget(name))
    return python::toDict(*error);
  return py::none();
}

static const char *nameOf(AccessChecks checks) {
  switch (checks) {
  case AccessChecks::Never:
    return "never";
  case AccessChecks::DebugBuilds:
    return "debug";
  case AccessChecks::Always:
    return "always";
  }
  return "never";
}

/// The fields of tilewright.targets.Device by name, or None where there is no such kind.
static py::object targetFacts(const std::string &name) {
  std::optional<TargetFacts> facts = api::targetFacts(name);
  if (!facts)
    return py::none();
  py::dict dict;
  dict["kind"] = facts->kind;
  dict["index"] = facts->index;
  dict["is_simulated"] = facts->isSimulated;
  dict["warp_size"] = facts->warpSize;
  dict["checks"] = nameOf(facts->checksAccesses);
  dict["has_memory"] = facts->hasMemory;
  dict["counts_bytes"] = facts->countsBytes;
  dict["torch_type"] = facts->memory.torchType;
  dict["torch_build"] = facts->memory.torchBuild;
  dict["dlpack_types"] = py::tuple(py::cast(facts->memory.dlpackTypes));
  dict["backend"] = facts->backend;
  dict["arch"] = facts->arch;
  dict["shared_bytes"] = facts->sharedBytes;
  dict["scaled_products"] = py::tuple(py::cast(facts->scaledProducts));
  dict["processor_registers"] = facts->processorRegisters;
  dict["options"] = py::tuple(py::cast(facts->options));
  return dict;
}

static std::string assemblerOf(const std::string &target) {
  std::string assembler;
  python::withoutLock([&] { assembler = api::assemblerOf(target); });
  return assembler;
}

/// (name, "text", "binary" or "assembled") of each stage: see api::StageForm.
static py::list stagesOf(const std::string &target) {
  std::vector<api::StageName> stages;
  python::withoutLock([&] { stages = api::stagesOf(target); });
  constexpr const char *forms[] = {"text", "binary", "assembled"};
  py::list list;
  for (const api::StageName &stage : stages)
    list.append(py::make_tuple(stage.name, forms[unsigned(stage.form)]));
  return list;
}

/// (name, whether kernels compute the same without it) of each pass before LLVM's.
static py::list passesOf(const std::string &target, const Specialization &specialization) {
  std::vector<api::PassName> passes;
  python::withoutLock([&] { passes = api::passesOf(target, specialization.options); });
  py::list list;
  for (const api::PassName &pass : passes)
    list.append(py::make_tuple(pass.name, pass.isOptional));
  return list;
}

/// (target, None) or (None, report).
static py::tuple targetOfDevice(const std::string &device) {
  RuntimeError error;
  std::string target;
  python::withoutLock([&] { target = api::targetOfDevice(device, error); });
  if (target.empty())
    return py::make_tuple(py::none(), python::toDict(error));
  return py::make_tuple(target, py::none());
}

/// The report of what failed on a device since it was last waited for, or None.
static py::object synchronize(const std::string &device) {
  std::optional<RuntimeError> error;
  python::withoutLock([&] { error = api::synchronize(device); });
  return error ? py::object(python::toDict(*error)) : py::none();
}

/// (memory, None) or (None, report).
static py::tuple allocate(const std::string &device, uint64_t bytes) {
  RuntimeError error;
  std::shared_ptr<DeviceMemory> memory = api::allocate(device, bytes, error);
  if (!memory)
    return py::make_tuple(py::none(), python::toDict(error));
  return py::make_tuple(memory, py::none());
}

/// Returns true if a buffer is row-major without gaps.
static bool isContiguous(const py::buffer_info &view) {
  py::ssize_t bytes = view.itemsize;
  for (py::ssize_t axis = view.ndim - 1; axis >= 0; --axis) {
    if (view.shape[axis] != 1 && view.strides[axis] != bytes)
      return false;
    bytes *= view.shape[axis];
  }
  return true;
}

/// Copies between a device and a contiguous buffer of the host of the same size; the report of a
/// failure, or None.
static py::object copyMemory(DeviceMemory &memory, const py::buffer &host, bool isToHost) {
  py::buffer_info view = host.request(/*writable=*/isToHost);
  if (uint64_t(view.size * view.itemsize) != memory.bytes() || !isContiguous(view))
    throw py::value_error("a contiguous buffer of " + std::to_string(memory.bytes()) +
                          " bytes is needed");
  std::optional<RuntimeError> error;
  python::withoutLock(
      [&] { error = isToHost ? memory.copyTo(view.ptr) : memory.copyFrom(view.ptr); });
  return error ? py::object(python::toDict(*error)) : py::none();
}

void python::sleepIfClosed() {
  while (isClosed())
    ::pause();
}

/// At the interpreter's end: threads that still launch or compile stop where they are.
static void closeRuntime() {
  python::withoutLock([] { closeLaunches(); });
}

/// Waits for a running grid, whose thread may need the interpreter.
static void setNumThreads(int count) {
  bool isSet = false;
  python::withoutLock([&] { isSet = api::setNumThreads(count); });
  if (PyErr_Occurred())
    throw py::error_already_set();
  if (!isSet)
    throw std::runtime_error("the number of threads cannot change while this thread launches");
}

static void defineMemory(py::module_ &module) {
  py::class_<DeviceMemory, std::shared_ptr<DeviceMemory>>(module, "DeviceMemory")
      .def_property_readonly("address", &DeviceMemory::address)
      .def_property_readonly("bytes", &DeviceMemory::bytes)
      .def("copy", &copyMemory, py::arg("host"), py::arg("is_to_host"));
  module.def("allocate", &allocate, py::arg("device"), py::arg("bytes"));
}

/// Name, address, bytes, whether it is read-only.
using MemoryOfArray = std::tuple<std::string, uint64_t, uint64_t, bool>;

static SimulationOptions
makeSimulationOptions(const std::string &schedule, uint64_t seed, std::vector<uint64_t> programs,
                      const std::string &completion, const std::string &arithmetic,
                      uint64_t maxSteps, uint64_t maxStepsPerCta, uint64_t maxStepsPerLaunch,
                      const std::vector<MemoryOfArray> &arrays, unsigned numTimelines) {
  SimulationOptions options = {schedule,     seed,     std::move(programs), completion,
                               arithmetic,   maxSteps, maxStepsPerCta,      maxStepsPerLaunch,
                               numTimelines, {}};
  for (const auto &[name, base, bytes, isReadOnly] : arrays)
    options.reachable.push_back({name, base, bytes, isReadOnly});
  return options;
}

/// (code, title, meaning, example, fix) of every code, by their numbers.
static py::list reportPages() {
  py::list pages;
  for (const api::ReportPage &page : api::reportPages())
    pages.append(py::make_tuple(page.code, page.title, page.meaning, page.example, page.fix));
  return pages;
}

void python::defineRuntime(py::module_ &module) {
  defineMemory(module);
  setInterruptCheck(&raisesSignal);
  static PyMethodDef method = {"launch",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(&launch)),
                               METH_FASTCALL, nullptr};
  module.attr(method.ml_name) =
      py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
  module.def("cache_statistics", &cacheStatistics);
  module.def("targets", &api::targets);
  module.def("check_target", &checkTarget, py::arg("name"));
  module.def("synchronize", &synchronize, py::arg("device"));
  module.def("gpus", &api::gpus, py::arg("opens"));
  module.def("first_gpus", &api::firstGpus);
  module.def("target_facts", &targetFacts, py::arg("name"));
  module.def("target_of_device", &targetOfDevice, py::arg("device"));
  module.def("assembler_of", &assemblerOf, py::arg("target"));
  module.def("stages_of", &stagesOf, py::arg("target"));
  module.def("passes_of", &passesOf, py::arg("target"), py::arg("specialization"));
  module.def("set_target_setting", &api::setTargetSetting, py::arg("name"), py::arg("values"));
  module.def("simulation_report", &api::simulationReport, py::arg("device"));
  py::class_<SimulationOptions>(module, "SimulationOptions")
      .def(py::init(&makeSimulationOptions), py::arg("schedule"), py::arg("seed"),
           py::arg("programs"), py::arg("completion"), py::arg("arithmetic"), py::arg("max_steps"),
           py::arg("max_steps_per_program"), py::arg("max_steps_per_launch"), py::arg("arrays"),
           py::arg("num_timelines") = 0);
  module.def("report_pages", &reportPages);
  module.def("close", &closeRuntime);
  module.def("build_id", &api::buildId);
  module.def("set_num_threads", &setNumThreads, py::arg("count"));
  module.def("num_threads", &api::numThreads);
  module.def("kernel_nanoseconds", &api::kernelNanoseconds);
}
