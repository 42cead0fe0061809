// Runs compiled kernels on GPUs by their driver.
#include "backend/gpu/device/GpuDevice.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/device/GpuMemory.h"
#include "backend/gpu/device/LaunchChecks.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <mutex>

using namespace tw;
using namespace tw::gpu;
using Kind = RuntimeError::Kind;

namespace {
struct alignas(kTensorMapAlignment) MapBytes {
  std::array<uint8_t, kTensorMapBytes> bytes;
};

/// A kernel's tensor maps: those of its last launch serve the next one, where that has the same
/// arrays.
class KernelMaps {
public:
  explicit KernelMaps(const Artifact &artifact)
      : maker(artifact.tensorMaps, artifact.parameters), encoded(size()) {}
  size_t size() const { return maker.recipes().size(); }
  std::optional<RuntimeError> fillIn(GpuContext &context, std::span<const LaunchArgument> arguments,
                                     llvm::MutableArrayRef<MapBytes> maps);

private:
  struct Encoded {
    TensorMapNumbers numbers = {}; // of base 0 before the first launch
    MapBytes map = {};
  };
  const TensorMapMaker maker;
  std::mutex mutex; // guards those below
  std::vector<Encoded> encoded;
};

class LoadedGpuKernel final : public LoadedKernel {
public:
  explicit LoadedGpuKernel(std::shared_ptr<GpuContext> context) : context(std::move(context)) {}
  ~LoadedGpuKernel() override {
    if (module)
      context->retire(module, wasLaunched);
  }

  std::shared_ptr<GpuContext> context;
  DriverHandle module = nullptr, function = nullptr;
  std::string name;
  std::vector<ArtifactParameter> parameters;
  std::unique_ptr<KernelMaps> maps; // null: the kernel has none
  unsigned numThreads = 0, dynamicSharedBytes = 0;
  ClusterExtents clusters = {1, 1, 1};
  bool launchesEarly = false; // it waits by itself for the launches before
  std::atomic<bool> wasLaunched = false;
};

class GpuDevice final : public Device {
public:
  explicit GpuDevice(std::shared_ptr<GpuContext> context) : context(std::move(context)) {}
  std::string name() const override { return context->name(); }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
  std::optional<RuntimeError> synchronize() override { return context->synchronize(); }
  std::shared_ptr<DeviceMemory> allocate(uint64_t bytes, RuntimeError &error) override {
    return GpuMemory::allocate(context, bytes, error);
  }

private:
  const std::shared_ptr<GpuContext> context;
};
} // namespace

/// Fills in `maps`, one for each recipe.
std::optional<RuntimeError> KernelMaps::fillIn(GpuContext &context,
                                               std::span<const LaunchArgument> arguments,
                                               llvm::MutableArrayRef<MapBytes> maps) {
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < size(); ++i) {
    TensorMapNumbers numbers;
    if (std::optional<RuntimeError> error = maker.compute(i, arguments, numbers))
      return error;
    Encoded &last = encoded[i];
    if (!(numbers == last.numbers)) {
      last.numbers = {};
      if (std::optional<RuntimeError> error = context.kind().encodeTensorMap(
              context, maker.recipes()[i], numbers, last.map.bytes.data()))
        return error;
      last.numbers = numbers;
    }
    maps[i] = last.map;
  }
  return std::nullopt;
}

/// Asks for shared memory above what every kernel has. All of a kernel's shared memory is dynamic;
/// what the driver calls static may be the KiB that it keeps for itself in each program from
/// compute capability 8.0 on, which machine code of 9.0 declares: it is not a part of ours.
static std::optional<RuntimeError> reserveShared(LoadedGpuKernel &kernel,
                                                 const Artifact &artifact) {
  GpuContext &context = *kernel.context;
  int64_t bytes = resourceOf(artifact, "shared_bytes", 0);
  int64_t limit = context.attribute(context.kind().attributes.maxSharedBytes);
  if (std::optional<RuntimeError> error = checkShared(artifact, limit, context.name()))
    return error;
  kernel.dynamicSharedBytes = unsigned(std::max<int64_t>(0, bytes));
  if (bytes <= context.kind().sharedBytesWithoutRequest)
    return std::nullopt;
  DriverResult result = context.call().setFunctionAttribute(
      kernel.function, context.kind().attributes.functionSharedBytes,
      int(kernel.dynamicSharedBytes));
  if (result == kSuccess)
    return std::nullopt;
  return context.failureOf(result, context.call().setFunctionAttribute.name,
                           "reserving " + listBuffers(artifact) + " for kernel " + kernel.name);
}

/// Registers are shared out among all threads of a program: too many threads cannot be launched.
static std::optional<RuntimeError> checkThreads(const LoadedGpuKernel &kernel, int maxThreads,
                                                int registers) {
  int deviceThreads = kernel.context->attribute(kernel.context->kind().attributes.maxThreads);
  if (deviceThreads == 0) // nobody says
    deviceThreads = maxThreads;
  if (int(kernel.numThreads) <= maxThreads && int(kernel.numThreads) <= deviceThreads)
    return std::nullopt;
  return RuntimeError{
      Kind::Launch, Code::TooManyThreads,
      llvm::formatv("kernel {0} has {1} threads of {2} registers; {3} runs at most {4} of them in "
                    "one program",
                    kernel.name, kernel.numThreads, registers, kernel.context->name(),
                    std::min(maxThreads, deviceThreads))
          .str(),
      "use fewer warps (num_warps) or smaller tiles"};
}

/// Finds the entry and sets what its launches need.
static std::optional<RuntimeError> prepare(LoadedGpuKernel &kernel, const Artifact &artifact) {
  GpuContext &context = *kernel.context;
  std::string action = "loading kernel " + kernel.name;
  DriverResult result =
      context.call().findFunction(&kernel.function, kernel.module, artifact.symbol.c_str());
  if (result != kSuccess)
    return context.failureOf(result, context.call().findFunction.name, action);
  int maxThreads = 0, registers = 0;
  const AttributeNumbers &numbers = context.kind().attributes;
  for (auto [attribute, value] : {std::pair(numbers.functionMaxThreads, &maxThreads),
                                  std::pair(numbers.functionRegisters, &registers)})
    if (result = context.call().functionAttribute(value, attribute, kernel.function);
        result != kSuccess)
      return context.failureOf(result, context.call().functionAttribute.name, action);
  if (std::optional<RuntimeError> error = checkThreads(kernel, maxThreads, registers))
    return error;
  return reserveShared(kernel, artifact);
}

/// Gives a kernel its tensor maps; an error where the driver makes none.
static std::optional<RuntimeError> prepareMaps(LoadedGpuKernel &kernel, const Artifact &artifact) {
  GpuContext &context = *kernel.context;
  if (artifact.tensorMaps.empty())
    return std::nullopt;
  if (!context.kind().encodeTensorMap || !context.call().encodeTensorMap.function)
    return RuntimeError{Kind::Launch, Code::TensorMapRefused,
                        "kernel " + kernel.name +
                            " copies boxes by tensor maps, and the driver of " + context.name() +
                            " makes none",
                        "install a newer driver, or launch with tensor_maps=False"};
  kernel.maps = std::make_unique<KernelMaps>(artifact);
  return std::nullopt;
}

namespace {
/// While it lives, a capture of a graph lets the calling thread load code, which no stream runs.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const DriverFunctions &call) : call(call) {
    isRelaxed = call.exchangeCaptureMode.function && call.exchangeCaptureMode(&mode) == kSuccess;
  }
  ~RelaxedCapture() {
    if (isRelaxed)
      (void)call.exchangeCaptureMode(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const DriverFunctions &call;
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED, of HIP too
  bool isRelaxed;
};
} // namespace

std::shared_ptr<LoadedKernel> GpuDevice::load(const Artifact &artifact, RuntimeError &error) {
  context->collectRetired();
  auto kernel = std::make_shared<LoadedGpuKernel>(context);
  kernel->name = artifact.symbol;
  kernel->parameters = artifact.parameters;
  kernel->numThreads = unsigned(std::max<int64_t>(1, resourceOf(artifact, "threads", 0)));
  kernel->clusters = clustersOf(artifact);
  kernel->launchesEarly = resourceOf(artifact, "early_launch", 0) != 0 &&
                          context->kind().launchEarly &&
                          context->call().launchByConfiguration.function;
  GpuScope scope(*context);
  RelaxedCapture relaxed(context->call());
  std::optional<RuntimeError> failure;
  if (!scope.isEntered())
    failure = scope.failure("loading kernel " + kernel->name);
  else if (!(failure = prepareMaps(*kernel, artifact)) &&
           !(failure = context->kind().loadModule(*context, artifact, kernel->module)))
    failure = prepare(*kernel, artifact);
  if (!failure)
    return kernel;
  error = std::move(*failure);
  return nullptr;
}

static GridLimits limitsOf(const DriverKind &kind) {
  return {kind.platform, kind.maxLaterPrograms, kind.maxThreadsAlongX};
}

static std::optional<RuntimeError> checkAddresses(const LoadedGpuKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  unsigned bits = kernel.context->kind().addressBits;
  for (size_t i = 0; bits < 64 && i < arguments.size(); ++i)
    if (kernel.parameters[i].type.starts_with("*") && arguments[i].bits >> bits)
      return RuntimeError{Kind::Launch, Code::UnpassableArgument,
                          llvm::formatv("argument `{0}` of kernel {1} is the address {2:x}, and "
                                        "those of {3} have {4} bits",
                                        kernel.parameters[i].name, kernel.name, arguments[i].bits,
                                        kernel.context->name(), bits)
                              .str(),
                          "pass an array on the GPU, or an address that its driver gave"};
  return std::nullopt;
}

/// Checks that all programs of a grid have room at the same time.
static std::optional<RuntimeError> checkTogether(const LoadedGpuKernel &kernel,
                                                 const LaunchGrid &grid) {
  GpuContext &context = *kernel.context;
  const DriverFunctions &call = context.call();
  const AttributeNumbers &numbers = context.kind().attributes;
  if (!call.launchCooperative.function || !call.programsPerProcessor.function ||
      !context.attribute(numbers.launchesCooperatively))
    return RuntimeError{Kind::Launch, Code::DeviceLacksOption,
                        "kernel " + kernel.name + " asks for a cooperative grid, which " +
                            context.name() + " or its driver does not launch",
                        "launch one kernel for each phase"};
  int perProcessor = 0;
  DriverResult result = call.programsPerProcessor(
      &perProcessor, kernel.function, int(kernel.numThreads), kernel.dynamicSharedBytes);
  if (result != kSuccess)
    return context.failureOf(result, call.programsPerProcessor.name, "launching " + kernel.name);
  int numProcessors = context.attribute(numbers.numProcessors);
  uint64_t most = uint64_t(perProcessor) * uint64_t(numProcessors);
  if (grid.numPrograms() <= most)
    return std::nullopt;
  return tooManyTogether(grid, kernel.name, most,
                         llvm::formatv("{0} has {1} processors with room for {2} programs of {3} "
                                       "threads and {4} bytes of shared memory",
                                       context.name(), numProcessors, perProcessor,
                                       kernel.numThreads, kernel.dynamicSharedBytes));
}

/// The driver's result, and the name of its function.
static std::pair<DriverResult, const char *> enqueue(const LoadedGpuKernel &kernel,
                                                     const LaunchGrid &grid, void **parameters) {
  const DriverFunctions &call = kernel.context->call();
  const auto &[x, y, z] = grid.programs;
  auto stream = reinterpret_cast<DriverHandle>(grid.stream);
  if (grid.isCooperative)
    return {call.launchCooperative(kernel.function, unsigned(x), unsigned(y), unsigned(z),
                                   kernel.numThreads, 1, 1, kernel.dynamicSharedBytes, stream,
                                   parameters),
            call.launchCooperative.name};
  if (kernel.launchesEarly)
    return {kernel.context->kind().launchEarly(call, {kernel.function,
                                                      {unsigned(x), unsigned(y), unsigned(z)},
                                                      kernel.numThreads,
                                                      kernel.dynamicSharedBytes,
                                                      stream,
                                                      parameters}),
            call.launchByConfiguration.name};
  return {call.launch(kernel.function, unsigned(x), unsigned(y), unsigned(z), kernel.numThreads, 1,
                      1, kernel.dynamicSharedBytes, stream, parameters, nullptr),
          call.launch.name};
}

std::optional<RuntimeError> GpuDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                              std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<LoadedGpuKernel &>(loaded);
  if (std::optional<RuntimeError> error =
          checkGrid(grid, limitsOf(context->kind()), kernel.numThreads))
    return error;
  if (std::optional<RuntimeError> error = checkClusters(grid, kernel.clusters, kernel.name))
    return error;
  if (std::optional<RuntimeError> error = checkArguments(kernel.name, kernel.parameters, arguments))
    return error;
  if (std::optional<RuntimeError> error = checkAddresses(kernel, arguments))
    return error;
  const auto &[x, y, z] = grid.programs;
  if (x == 0 || y == 0 || z == 0)
    return std::nullopt;
  // The driver copies as many bytes of each as the kernel's parameter has: the low ones.
  llvm::SmallVector<void *, 32> parameters;
  for (const LaunchArgument &argument : arguments)
    parameters.push_back(const_cast<uint64_t *>(&argument.bits));
  llvm::SmallVector<MapBytes, 3> maps(kernel.maps ? kernel.maps->size() : 0);
  if (kernel.maps)
    if (std::optional<RuntimeError> error = kernel.maps->fillIn(*context, arguments, maps))
      return error;
  for (MapBytes &map : maps)
    parameters.push_back(&map);
  GpuScope scope(*context);
  auto action = [&] { return "launching kernel " + kernel.name; };
  if (!scope.isEntered())
    return scope.failure(action());
  kernel.wasLaunched = true;
  if (grid.isCooperative)
    if (std::optional<RuntimeError> error = checkTogether(kernel, grid))
      return error;
  if (const auto &[result, call] = enqueue(kernel, grid, parameters.data()); result != kSuccess)
    return context->failureOf(result, call, action());
  context->noteLaunch(kernel.name);
  return std::nullopt;
}

std::shared_ptr<Device> gpu::makeGpuDevice(std::shared_ptr<GpuContext> context) {
  return std::make_shared<GpuDevice>(std::move(context));
}
