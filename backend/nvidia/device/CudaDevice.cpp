// Runs compiled kernels on NVIDIA GPUs by the CUDA driver.
#include "backend/nvidia/device/CudaDevice.h"
#include "backend/nvidia/device/CudaMemory.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>

using namespace tw;
using namespace tw::nvidia;
using Kind = RuntimeError::Kind;

/// Shared memory that every kernel may have; more has to be asked for (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability").
static constexpr int64_t kSharedBytesWithoutRequest = 48 * 1024;

namespace {
class LoadedCudaKernel final : public LoadedKernel {
public:
  explicit LoadedCudaKernel(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}
  ~LoadedCudaKernel() override {
    if (module)
      context->retire(module, wasLaunched);
  }

  std::shared_ptr<CudaContext> context;
  CudaHandle module = nullptr, function = nullptr;
  std::string name;
  std::vector<ArtifactParameter> parameters;
  unsigned numThreads = 0, dynamicSharedBytes = 0;
  std::atomic<bool> wasLaunched = false;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}
  std::string name() const override { return context->name(); }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
  std::optional<RuntimeError> synchronize() override { return context->synchronize(); }

  const std::shared_ptr<CudaContext> context;
};

/// What the driver's assembler says of PTX that it refuses.
struct JitLog {
  char text[8192] = {};
};
} // namespace

CudaArchChoice tw::chooseCudaArch(int capability) {
  CudaArchChoice choice;
  for (const NvidiaArch &arch : nvidiaArchTable()) {
    if (int(arch.number) == capability)
      return {&arch, /*isExact=*/true};
    bool isPortable = !arch.name.ends_with("a");
    if (int(arch.number) < capability && isPortable)
      choice.arch = &arch;
  }
  return choice;
}

std::optional<CudaGpu> tw::findCudaGpu(std::shared_ptr<const CudaDriver> driver, int index,
                                       RuntimeError &error) {
  std::string name = "cuda:" + std::to_string(index);
  if (index < 0 || index >= driver->numDevices) {
    bool isOne = driver->numDevices == 1;
    error = {Kind::Launch, Code::NoSuchGpu, "there is no GPU " + name,
             isOne ? "the driver shows one GPU, cuda:0 (see CUDA_VISIBLE_DEVICES)"
                   : llvm::formatv("the driver shows {0} GPUs, cuda:0 to cuda:{1} (see "
                                   "CUDA_VISIBLE_DEVICES)",
                                   driver->numDevices, driver->numDevices - 1)
                         .str()};
    return std::nullopt;
  }
  CudaContext unnamed(driver, index, "");
  int capability =
      10 * unnamed.attribute(kCudaCapabilityMajor) + unnamed.attribute(kCudaCapabilityMinor);
  CudaGpu gpu;
  gpu.choice = chooseCudaArch(capability);
  if (!gpu.choice.arch) {
    error = {Kind::Device, Code::GpuTooOld,
             llvm::formatv("{0} ({1}) has compute capability {2}.{3}, which is older than {4}",
                           name, unnamed.productName(), capability / 10, capability % 10,
                           nvidiaArchTable().front().name)
                 .str(),
             "run on the cpu, or on a GPU of compute capability 8.0 or newer"};
    return std::nullopt;
  }
  gpu.context = std::make_shared<CudaContext>(driver, index, gpu.choice.arch->name.str());
  return gpu;
}

/// "shared memory of 200000 bytes (a 120000, b 80000)".
static std::string listBuffers(const Artifact &artifact, int64_t bytes) {
  std::string list;
  for (const ArtifactBuffer &buffer : artifact.sharedBuffers)
    list += (list.empty() ? "" : ", ") + buffer.name + " " + std::to_string(buffer.bytes);
  return std::to_string(bytes) + " bytes of shared memory" +
         (list.empty() ? "" : " (" + list + ")");
}

static int64_t resourceOf(const Artifact &artifact, const char *name, int64_t absent) {
  auto found = artifact.resources.find(name);
  return found == artifact.resources.end() ? absent : found->second;
}

/// "8.0" of PTX text; the report of a driver that is too old names it.
static llvm::StringRef ptxVersionOf(llvm::StringRef ptx) {
  return ptx.split(".version").second.ltrim().take_while([](char character) {
    return llvm::isDigit(character) || character == '.';
  });
}

static CudaResult loadImage(const CudaFunctions &call, const std::string &image, JitLog &log,
                            CudaHandle &module) {
  int options[] = {kCudaErrorLog, kCudaErrorLogBytes};
  void *values[] = {log.text, reinterpret_cast<void *>(sizeof(log.text) - 1)};
  return call.loadModule(&module, image.c_str(), 2, options, values);
}

/// Loads the machine code, or the PTX where there is none or where the driver is too old for the
/// assembler that made it.
static std::optional<RuntimeError> loadModule(CudaContext &context, const Artifact &artifact,
                                              CudaHandle &module) {
  JitLog log;
  CudaResult result = kCudaNoBinaryForGpu;
  if (!artifact.assembled.empty())
    result = loadImage(context.call(), artifact.assembled, log, module);
  bool isRefused = result == kCudaNoBinaryForGpu || result == kCudaInvalidImage ||
                   result == kCudaUnsupportedPtxVersion;
  if (isRefused)
    result = loadImage(context.call(), artifact.binary, log, module);
  if (result == kCudaSuccess)
    return std::nullopt;
  module = nullptr;
  RuntimeError error =
      context.failureOf(result, "cuModuleLoadDataEx", "loading kernel " + artifact.symbol);
  if (result == kCudaUnsupportedPtxVersion)
    error.message += "; the code is PTX " + ptxVersionOf(artifact.binary).str();
  if (llvm::StringRef text = llvm::StringRef(log.text).trim(); !text.empty())
    error.message += "\n" + text.str();
  return error;
}

/// Asks for shared memory above what every kernel has. All of a kernel's shared memory is dynamic;
/// what the driver calls static may be the KiB that it keeps for itself in each program from
/// compute capability 8.0 on, which machine code of 9.0 declares: it is no part of ours.
static std::optional<RuntimeError> reserveShared(LoadedCudaKernel &kernel,
                                                 const Artifact &artifact) {
  CudaContext &context = *kernel.context;
  int64_t bytes = resourceOf(artifact, "shared_bytes", 0);
  int64_t limit = context.attribute(kCudaMaxSharedBytes);
  if (limit > 0 && bytes > limit)
    return RuntimeError{Kind::Launch, Code::SharedMemoryExceeded,
                        llvm::formatv("kernel {0} needs {1}, and a program on {2} may have {3}",
                                      kernel.name, listBuffers(artifact, bytes), context.name(),
                                      limit)
                            .str(),
                        "use smaller tiles, or fewer stages"};
  kernel.dynamicSharedBytes = unsigned(std::max<int64_t>(0, bytes));
  if (bytes <= kSharedBytesWithoutRequest)
    return std::nullopt;
  CudaResult result = context.call().setFunctionAttribute(
      kernel.function, kCudaFunctionMaxDynamicSharedBytes, int(kernel.dynamicSharedBytes));
  if (result == kCudaSuccess)
    return std::nullopt;
  return context.failureOf(result, "cuFuncSetAttribute",
                           "reserving " + listBuffers(artifact, bytes) + " for kernel " +
                               kernel.name);
}

/// Registers are shared out among all threads of a program: too many threads cannot be launched.
static std::optional<RuntimeError> checkThreads(const LoadedCudaKernel &kernel, int maxThreads,
                                                int registers) {
  int deviceThreads = kernel.context->attribute(kCudaMaxThreads);
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
static std::optional<RuntimeError> prepare(LoadedCudaKernel &kernel, const Artifact &artifact) {
  CudaContext &context = *kernel.context;
  std::string action = "loading kernel " + kernel.name;
  CudaResult result =
      context.call().findFunction(&kernel.function, kernel.module, artifact.symbol.c_str());
  if (result != kCudaSuccess)
    return context.failureOf(result, "cuModuleGetFunction", action);
  int maxThreads = 0, registers = 0;
  for (auto [attribute, value] : {std::pair(kCudaFunctionMaxThreads, &maxThreads),
                                  std::pair(kCudaFunctionRegisters, &registers)})
    if (result = context.call().functionAttribute(value, attribute, kernel.function);
        result != kCudaSuccess)
      return context.failureOf(result, "cuFuncGetAttribute", action);
  if (std::optional<RuntimeError> error = checkThreads(kernel, maxThreads, registers))
    return error;
  return reserveShared(kernel, artifact);
}

std::shared_ptr<LoadedKernel> CudaDevice::load(const Artifact &artifact, RuntimeError &error) {
  context->collectRetired();
  auto kernel = std::make_shared<LoadedCudaKernel>(context);
  kernel->name = artifact.symbol;
  kernel->parameters = artifact.parameters;
  kernel->numThreads = unsigned(32 * std::max<int64_t>(1, resourceOf(artifact, "num_warps", 4)));
  CudaScope scope(*context);
  std::optional<RuntimeError> failure;
  if (!scope.isEntered())
    failure = scope.failure("loading kernel " + kernel->name);
  else if (!(failure = loadModule(*context, artifact, kernel->module)))
    failure = prepare(*kernel, artifact);
  if (!failure)
    return kernel;
  error = std::move(*failure);
  return nullptr;
}

static std::optional<RuntimeError> checkGrid(const LaunchGrid &grid) {
  const auto &[x, y, z] = grid.programs;
  auto error = [&](const char *fault, const char *hint) {
    return RuntimeError{Kind::Launch, Code::BadGrid,
                        llvm::formatv("the grid ({0}, {1}, {2}) has {3}", x, y, z, fault).str(),
                        hint};
  };
  if (x < 0 || y < 0 || z < 0)
    return error("a negative extent", "a grid counts programs along each axis: 0 or more");
  constexpr int32_t maxLaterAxis = 65535;
  if (y > maxLaterAxis || z > maxLaterAxis)
    return error("more than 65535 programs along its second or third axis",
                 "put the longest axis first: it may have 2147483647");
  return std::nullopt;
}

static std::optional<RuntimeError> checkArguments(const LoadedCudaKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  if (arguments.size() != kernel.parameters.size())
    return RuntimeError{Kind::Launch, Code::LaunchArguments,
                        llvm::formatv("kernel {0} takes {1} run-time arguments, {2} were given",
                                      kernel.name, kernel.parameters.size(), arguments.size())
                            .str(),
                        ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isReadOnly && kernel.parameters[i].isStored)
      return RuntimeError{Kind::Launch, Code::ReadOnlyArgument,
                          "argument `" + kernel.parameters[i].name + "` is read-only, and kernel " +
                              kernel.name + " stores to it",
                          "pass a writable array, or a copy"};
  return std::nullopt;
}

std::optional<RuntimeError> CudaDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                               std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<LoadedCudaKernel &>(loaded);
  if (std::optional<RuntimeError> error = checkGrid(grid))
    return error;
  if (std::optional<RuntimeError> error = checkArguments(kernel, arguments))
    return error;
  const auto &[x, y, z] = grid.programs;
  if (x == 0 || y == 0 || z == 0)
    return std::nullopt;
  // The driver copies as many bytes of each as the kernel's parameter has: the low ones.
  llvm::SmallVector<void *, 32> parameters;
  for (const LaunchArgument &argument : arguments)
    parameters.push_back(const_cast<uint64_t *>(&argument.bits));
  CudaScope scope(*context);
  std::string action = "launching kernel ";
  if (!scope.isEntered())
    return scope.failure(action + kernel.name);
  kernel.wasLaunched = true;
  CudaResult result =
      context->call().launch(kernel.function, unsigned(x), unsigned(y), unsigned(z),
                             kernel.numThreads, 1, 1, kernel.dynamicSharedBytes,
                             reinterpret_cast<CudaHandle>(grid.stream), parameters.data(), nullptr);
  if (result != kCudaSuccess)
    return context->failureOf(result, "cuLaunchKernel", action + kernel.name);
  context->noteLaunch(kernel.name);
  return std::nullopt;
}

std::shared_ptr<Device> tw::makeCudaDevice(const CudaGpu &gpu) {
  return std::make_shared<CudaDevice>(gpu.context);
}

std::shared_ptr<DeviceMemory> tw::allocateCudaMemory(Device &device, uint64_t bytes,
                                                     RuntimeError &error) {
  return CudaMemory::allocate(static_cast<CudaDevice &>(device).context, bytes, error);
}
