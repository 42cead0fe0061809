// Kernels that XLA calls: launches on buffers of compiled JAX programs, with no code of Python
// where the addresses are as usual.
#include "python/bindings/Bindings.h"
#include "python/bindings/Interpreter.h"
#include "runtime/aot/XlaFfi.h"
#include <map>
#include <mutex>
#include <pybind11/stl.h>
#include <shared_mutex>

namespace py = pybind11;
using namespace tw;
using python::Kernel;

namespace {
constexpr uint64_t kAlignment = 16; // bytes that kernels are compiled to assume of addresses

/// A parameter of the function of Python: the number of a buffer, arguments before results, or -1
/// with the object of Python.
struct Source {
  int buffer = -1;
  uint64_t bytes = 0;
  bool isStored = false;
  py::object value;
};

/// A loaded kernel with the arguments that do not change. It is kept for ever, as XLA keeps
/// programs that refer to it for as long as it likes.
struct Variant {
  Kernel *kernel;
  std::vector<LaunchArgument> arguments;
  std::vector<int> buffers; // for each argument, or -1
};

/// Where a call runs, and what is true of its buffers.
struct Circumstances {
  int ordinal = -1; // of the GPU; -1: the host
  bool isAligned = true, isApart = true;
  bool hasMaps = true; // false where no tensor map describes an array
  auto operator<=>(const Circumstances &) const = default;
};

/// A launch within a program of XLA.
struct XlaCall {
  std::vector<Source> sources;
  std::vector<const Source *> ofBuffers; // null: no parameter has it
  int64_t numArguments = 0, numResults = 0;
  LaunchGrid grid;
  py::object make; // (circumstances) -> the kernel of the native module

  std::shared_mutex lock; // of `variants`; never held while Python runs
  std::map<Circumstances, std::unique_ptr<Variant>> variants;

  const Variant *find(const Circumstances &circumstances);
  const Variant *add(const Circumstances &circumstances, std::string &error);
};

/// The calls of this process by their keys, which programs have as an attribute.
struct Calls {
  std::shared_mutex lock;
  std::map<std::string, std::unique_ptr<XlaCall>, std::less<>> byKey;
};
} // namespace

/// Never destroyed: threads of XLA may call while the process ends.
static Calls &calls() {
  static auto *all = new Calls;
  return *all;
}

const Variant *XlaCall::find(const Circumstances &circumstances) {
  std::shared_lock guard(lock);
  auto found = variants.find(circumstances);
  return found == variants.end() ? nullptr : found->second.get();
}

/// Lets Python compile or find the kernel; null with the words of its error.
const Variant *XlaCall::add(const Circumstances &circumstances, std::string &error) {
  python::InterpreterLock interpreter;
  try {
    py::object native = make(circumstances.ordinal, circumstances.isAligned, circumstances.isApart,
                             circumstances.hasMaps);
    auto variant = std::make_unique<Variant>();
    variant->kernel = &py::cast<Kernel &>(native);
    if (variant->kernel->numArguments > sources.size())
      throw py::value_error("a source of every parameter is needed");
    for (size_t i = 0; i < variant->kernel->positions.size(); ++i) {
      const Source &source = sources[variant->kernel->positions[i]];
      LaunchArgument argument;
      if (source.buffer < 0)
        argument.bits = python::bitsOf(source.value.ptr(), variant->kernel->encodings[i]);
      argument.bytes = source.bytes;
      argument.isReadOnly = source.buffer >= 0 && !source.isStored;
      variant->arguments.push_back(argument);
      variant->buffers.push_back(source.buffer);
    }
    std::unique_lock guard(lock);
    auto [place, isNew] = variants.try_emplace(circumstances, std::move(variant));
    if (isNew)
      (void)native.release();
    return place->second.get();
  } catch (py::error_already_set &raised) {
    error = py::cast<std::string>(py::str(raised.value()));
  } catch (const std::exception &raised) {
    error = raised.what();
  }
  return nullptr;
}

static XlaCall *findCall(const tw_xla_frame &frame) {
  auto *key = static_cast<const tw_xla_text *>(
      tw_xla_attribute(&frame, TW_XLA_STRING, "key", sizeof("key") - 1));
  if (!key)
    return nullptr;
  std::shared_lock guard(calls().lock);
  auto found = calls().byKey.find(std::string_view(key->data, key->size));
  return found == calls().byKey.end() ? nullptr : found->second.get();
}

/// The address of each buffer, arguments before results.
static void readAddresses(const tw_xla_frame &frame, std::pmr::vector<uint64_t> &addresses) {
  for (const tw_xla_values *values : {&frame.arguments, &frame.results})
    for (int64_t i = 0; i < values->count; ++i)
      addresses.push_back(
          reinterpret_cast<uint64_t>(static_cast<tw_xla_buffer *>(values->values[i])->data));
}

/// Returns true if what the kernel writes meets nothing else that it is given.
static bool isApart(const XlaCall &call, std::span<const uint64_t> addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Source *written = call.ofBuffers[i];
    if (!written || !written->isStored)
      continue;
    for (size_t k = 0; k < addresses.size(); ++k) {
      const Source *other = call.ofBuffers[k];
      if (k != i && other && addresses[k] < addresses[i] + written->bytes &&
          addresses[i] < addresses[k] + other->bytes)
        return false;
    }
  }
  return true;
}

/// After a failed launch: what a handler of signals has raised is raised by Python's main thread
/// later, as XLA tells of errors in its own way.
static void postponeInterrupt() {
  python::InterpreterLock interpreter;
  if (!PyErr_Occurred())
    return;
  bool isInterrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
  PyErr_Clear();
  if (isInterrupt)
    PyErr_SetInterrupt();
}

static std::string textOf(const RuntimeError &error) {
  std::string text = std::string(codeName(error.code)) + ": " + error.message;
  return error.hint.empty() ? text : text + "\nhint: " + error.hint;
}

/// Launches a variant with the buffers at these addresses.
static std::optional<RuntimeError> run(const Variant &variant, const LaunchGrid &grid,
                                       const std::pmr::vector<uint64_t> &addresses) {
  std::pmr::vector<LaunchArgument> arguments(variant.arguments.begin(), variant.arguments.end(),
                                             addresses.get_allocator());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (variant.buffers[i] >= 0)
      arguments[i].bits = arguments[i].allocationBase = addresses[size_t(variant.buffers[i])];
  std::optional<RuntimeError> error = api::launch(*variant.kernel->compiled, grid, arguments);
  python::sleepIfClosed();
  return error;
}

static tw_xla_error *launch(const tw_xla_frame &frame, XlaCall &call, LaunchGrid grid,
                            Circumstances circumstances) {
  std::byte memory[1024];
  std::pmr::monotonic_buffer_resource pool(memory, sizeof(memory));
  std::pmr::vector<uint64_t> addresses(&pool);
  addresses.reserve(call.ofBuffers.size());
  readAddresses(frame, addresses);
  for (uint64_t address : addresses)
    circumstances.isAligned = circumstances.isAligned && address % kAlignment == 0;
  circumstances.isApart = isApart(call, addresses);
  // Kernels without maps are made where a launch was refused: the call's numbers are always the
  // same.
  Circumstances withoutMaps = circumstances;
  withoutMaps.hasMaps = false;
  const Variant *variant = call.find(withoutMaps);
  if (!variant)
    variant = call.find(circumstances);
  std::string problem;
  if (!variant && !(variant = call.add(circumstances, problem)))
    return tw_xla_fail(&frame, TW_XLA_FAILED_PRECONDITION, problem.c_str());
  std::optional<RuntimeError> error = run(*variant, grid, addresses);
  if (error && error->code == Code::TensorMapRefused) {
    if (!(variant = call.add(withoutMaps, problem)))
      return tw_xla_fail(&frame, TW_XLA_FAILED_PRECONDITION, problem.c_str());
    error = run(*variant, grid, addresses);
  }
  if (!error)
    return nullptr;
  postponeInterrupt();
  return tw_xla_fail(&frame, TW_XLA_INTERNAL, textOf(*error).c_str());
}

/// The call of a frame; null with an error where it is not known.
static XlaCall *callOf(const tw_xla_frame &frame, tw_xla_error *&error) {
  XlaCall *call = findCall(frame);
  if (!call)
    error =
        tw_xla_fail(&frame, TW_XLA_FAILED_PRECONDITION,
                    "TW0442: this process has not traced the kernel that the program calls: run "
                    "the function with tw.jax.call in it, or export the kernel by tilewright "
                    "export --form jax");
  else if (frame.arguments.count != call->numArguments || frame.results.count != call->numResults)
    error = tw_xla_fail(&frame, TW_XLA_INVALID_ARGUMENT,
                        "TW0442: the program calls a kernel with another number of arrays than it "
                        "was traced for");
  return error ? nullptr : call;
}

static tw_xla_error *runOnHost(tw_xla_frame *frame) {
  if (tw_xla_answer(frame) || frame->stage != TW_XLA_EXECUTE)
    return nullptr;
  tw_xla_error *error = nullptr;
  XlaCall *call = callOf(*frame, error);
  return call ? launch(*frame, *call, call->grid, {}) : error;
}

static tw_xla_error *runOnGpu(tw_xla_frame *frame) {
  if (tw_xla_answer(frame) || frame->stage != TW_XLA_EXECUTE)
    return nullptr;
  tw_xla_error *error = nullptr;
  XlaCall *call = callOf(*frame, error);
  if (!call)
    return error;
  tw_xla_stream_args stream = {sizeof(stream), nullptr, frame->context, nullptr};
  tw_xla_ordinal_args ordinal = {sizeof(ordinal), nullptr, frame->context, 0};
  if ((error = frame->api->get_stream(&stream)) || (error = frame->api->get_ordinal(&ordinal)))
    return error;
  LaunchGrid grid = call->grid;
  grid.stream = reinterpret_cast<uint64_t>(stream.stream);
  return launch(*frame, *call, grid, {ordinal.ordinal});
}

/// The functions that XLA calls, as capsules: (on the host, on GPUs).
static py::tuple xlaHandlers() {
  return py::make_tuple(py::capsule(reinterpret_cast<void *>(&runOnHost)),
                        py::capsule(reinterpret_cast<void *>(&runOnGpu)));
}

/// (buffer or -1, bytes, is written, value) of a parameter.
using PythonSource = std::tuple<int, uint64_t, bool, py::object>;

/// Makes a call known by its key, where it is not yet.
static void addXlaCall(const std::string &key, const std::vector<PythonSource> &sources,
                       int64_t numArguments, int64_t numResults,
                       const std::array<int32_t, 3> &programs, const py::object &make) {
  auto call = std::make_unique<XlaCall>();
  call->numArguments = numArguments;
  call->numResults = numResults;
  call->grid.programs = programs;
  call->make = make;
  call->ofBuffers.resize(size_t(numArguments + numResults));
  call->sources.reserve(sources.size());
  for (const auto &[buffer, bytes, isStored, value] : sources) {
    call->sources.push_back({buffer, bytes, isStored, value});
    if (buffer >= 0)
      call->ofBuffers.at(size_t(buffer)) = &call->sources.back();
  }
  std::unique_lock guard(calls().lock);
  calls().byKey.try_emplace(key, std::move(call));
}

void python::defineXlaCalls(py::module_ &module) {
  module.def("xla_handlers", &xlaHandlers);
  module.def("add_xla_call", &addXlaCall, py::arg("key"), py::arg("sources"),
             py::arg("num_arguments"), py::arg("num_results"), py::arg("programs"),
             py::arg("make"));
}
