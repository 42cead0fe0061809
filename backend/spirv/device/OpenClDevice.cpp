// Runs compiled kernels on OpenCL devices.
#include "backend/spirv/device/OpenClDevice.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/device/LaunchChecks.h"
#include "backend/spirv/device/LaunchCopies.h"
#include "backend/spirv/device/OpenClProgram.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <cstdio>
#include <limits>

using namespace tw;
using namespace tw::spirv;
using Kind = RuntimeError::Kind;

namespace {
/// How a parameter is passed.
struct ParameterForm {
  bool isPointer = false;
  unsigned bytes = 1; // of the scalar, or of an element behind the pointer
};

class LoadedOpenClKernel final : public LoadedKernel {
public:
  LoadedOpenClKernel(std::shared_ptr<OpenClContext> context, const Artifact &artifact)
      : context(std::move(context)), name(artifact.symbol), parameters(artifact.parameters),
        arrays(artifact.tensorMaps, artifact.parameters) {}
  ~LoadedOpenClKernel() override {
    if (handle)
      context->call().releaseKernel(handle);
  }
  bool needsMemory() const override { return context->entry().copiesArrays(); }

  const std::shared_ptr<OpenClContext> context;
  std::unique_ptr<OpenClProgram> program;
  ClHandle handle = nullptr;
  const std::string name;
  const std::vector<ArtifactParameter> parameters;
  const TensorMapMaker arrays; // that it loads blocks of
  std::vector<ParameterForm> forms;
  unsigned numThreads = 1;
  bool hasFailureWord = false;    // a last parameter, by which a failed assertion shows
  std::mutex mutex;               // held from the first argument of a launch until it is enqueued:
  std::vector<uint64_t> lastBits; // of the arguments that the driver has; empty: of none
};

class OpenClDevice final : public Device {
public:
  explicit OpenClDevice(std::shared_ptr<OpenClContext> context) : context(std::move(context)) {}
  std::string name() const override { return context->name(); }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
  uint64_t kernelNanoseconds() const override { return nanoseconds; }

private:
  const std::shared_ptr<OpenClContext> context;
  std::atomic<uint64_t> nanoseconds = 0;
};
} // namespace

/// "*fp32" is a pointer to elements of 4 bytes, "i1" a scalar of 1.
static ParameterForm formOf(llvm::StringRef type) {
  ParameterForm form;
  form.isPointer = type.consume_front("*");
  unsigned bits = 8;
  llvm::StringRef digits = type.drop_until([](char c) { return llvm::isDigit(c); });
  (void)digits.take_while([](char c) { return llvm::isDigit(c); }).getAsInteger(10, bits);
  form.bytes = std::max(1u, bits / 8);
  return form;
}

/// Finds the kernel in its program, and checks what the driver says of it.
static std::optional<RuntimeError> prepare(LoadedOpenClKernel &kernel, const Artifact &artifact) {
  const OpenClContext &context = *kernel.context;
  std::string action = "loading kernel " + artifact.symbol;
  int result = gpu::kSuccess;
  kernel.handle =
      context.call().createKernel(kernel.program->handle(), artifact.symbol.c_str(), &result);
  if (!kernel.handle || result != gpu::kSuccess) {
    kernel.handle = nullptr;
    return context.failureOf(result, "clCreateKernel", action);
  }
  size_t maxThreads = 0;
  const auto &call = context.call().kernelFact;
  result = call(kernel.handle, context.entry().id, fact::kKernelThreads, sizeof(maxThreads),
                &maxThreads, nullptr);
  if (result != gpu::kSuccess)
    return context.failureOf(result, call.name, action);
  if (kernel.numThreads <= maxThreads)
    return std::nullopt;
  return RuntimeError{Kind::Launch, Code::TooManyThreads,
                      llvm::formatv("kernel {0} has {1} threads; {2} runs at most {3} of them in "
                                    "one program",
                                    kernel.name, kernel.numThreads, context.name(), maxThreads)
                          .str(),
                      "use fewer warps (num_warps) or smaller tiles"};
}

std::shared_ptr<LoadedKernel> OpenClDevice::load(const Artifact &artifact, RuntimeError &error) {
  auto kernel = std::make_shared<LoadedOpenClKernel>(context, artifact);
  for (const ArtifactParameter &parameter : artifact.parameters)
    kernel->forms.push_back(formOf(parameter.type));
  kernel->numThreads = unsigned(std::max<int64_t>(1, gpu::resourceOf(artifact, "threads", 1)));
  kernel->hasFailureWord = gpu::resourceOf(artifact, "failure_word", 0) != 0;
  kernel->program = OpenClProgram::build(context, artifact, error);
  if (!kernel->program)
    return nullptr;
  std::optional<RuntimeError> failure = prepare(*kernel, artifact);
  if (!failure)
    return kernel;
  error = std::move(*failure);
  return nullptr;
}

/// Refuses pointers that are not at an element: vectors of them would fault, or be read elsewhere.
static std::optional<RuntimeError> checkAddresses(const LoadedOpenClKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (kernel.forms[i].isPointer && arguments[i].bits % kernel.forms[i].bytes != 0)
      return RuntimeError{
          Kind::Launch, Code::UnpassableArgument,
          llvm::formatv("argument `{0}` of kernel {1} is at the address {2:x}, "
                        "which is not a multiple of its elements' {3} bytes, as {4} "
                        "needs it",
                        kernel.parameters[i].name, kernel.name, arguments[i].bits,
                        kernel.forms[i].bytes, kernel.context->name())
              .str(),
          "pass a copy of the array (numpy.copy, torch.clone)"};
  return std::nullopt;
}

static std::optional<RuntimeError> checkLaunch(const LoadedOpenClKernel &kernel,
                                               const LaunchGrid &grid,
                                               std::span<const LaunchArgument> arguments) {
  const OpenClEntry &entry = kernel.context->entry();
  gpu::GridLimits limits{"OpenCL", uint64_t(std::numeric_limits<int32_t>::max())};
  if (entry.addressBits < 64)
    limits.maxThreadsAlongX = (uint64_t(1) << entry.addressBits) - 1;
  if (auto error = gpu::checkGrid(grid, limits, kernel.numThreads))
    return error;
  if (auto error = gpu::checkArguments(kernel.name, kernel.parameters, arguments))
    return error;
  if (grid.isCooperative)
    return RuntimeError{Kind::Launch, Code::DeviceLacksOption,
                        "kernel " + kernel.name +
                            " asks for a cooperative grid, and OpenCL does "
                            "not say which programs run at the same time",
                        "launch one kernel for each phase"};
  if (auto error = checkAddresses(kernel, arguments))
    return error;
  TensorMapNumbers unused; // which the kernel computes by itself
  for (size_t i = 0; i < kernel.arrays.recipes().size(); ++i)
    if (auto error = kernel.arrays.compute(i, arguments, unused))
      return error;
  return std::nullopt;
}

/// Gives the driver one argument; its result, and the name of its function.
static std::pair<int, const char *> setArgument(const LoadedOpenClKernel &kernel, unsigned index,
                                                bool isPointer, unsigned bytes, uint64_t bits) {
  const OpenClEntry &entry = kernel.context->entry();
  const OpenClFunctions &call = *entry.call;
  if (isPointer && entry.access == ArrayAccess::CopyBuffers)
    return {call.setArgument(kernel.handle, index, sizeof(ClHandle), &bits), call.setArgument.name};
  if (!isPointer)
    return {call.setArgument(kernel.handle, index, bytes, &bits), call.setArgument.name};
  bool isUsm = entry.access == ArrayAccess::DirectUsm || entry.access == ArrayAccess::CopyUsm;
  const auto &setPointer = isUsm ? entry.usm.setPointer : call.setSvmPointer;
  return {setPointer(kernel.handle, index, reinterpret_cast<void *>(bits)), setPointer.name};
}

/// Sets the arguments that differ from those of the launch before, and enqueues the grid. Gives the
/// driver's result, and the name of its function.
static std::pair<int, const char *> enqueue(LoadedOpenClKernel &kernel, const LaunchGrid &grid,
                                            std::span<const uint64_t> bits, ClHandle &event) {
  std::lock_guard lock(kernel.mutex);
  // A copy that has the address of an earlier one is another allocation.
  const bool isFirst = kernel.lastBits.empty() || kernel.needsMemory();
  kernel.lastBits.resize(bits.size());
  for (unsigned i = 0; i < bits.size(); ++i) {
    if (!isFirst && kernel.lastBits[i] == bits[i])
      continue;
    bool isWord = i == kernel.forms.size();
    ParameterForm form = isWord ? ParameterForm{true, 4} : kernel.forms[i];
    if (auto failed = setArgument(kernel, i, form.isPointer, form.bytes, bits[i]);
        failed.first != gpu::kSuccess) {
      kernel.lastBits.clear();
      return failed;
    }
    kernel.lastBits[i] = bits[i];
  }
  const auto &[x, y, z] = grid.programs;
  const size_t local[] = {kernel.numThreads, 1, 1};
  const size_t global[] = {size_t(x) * kernel.numThreads, size_t(y), size_t(z)};
  const auto &call = kernel.context->call().launch;
  return {
      call(kernel.context->queue(), kernel.handle, 3, nullptr, global, local, 0, nullptr, &event),
      call.name};
}

/// Returns how long a launch that has ended ran; 0 where the device does not say.
static uint64_t nanosecondsOf(const OpenClFunctions &call, ClHandle event) {
  uint64_t start = 0, end = 0;
  bool isKnown =
      call.eventTime(event, fact::kStart, sizeof(start), &start, nullptr) == gpu::kSuccess &&
      call.eventTime(event, fact::kEnd, sizeof(end), &end, nullptr) == gpu::kSuccess;
  return isKnown && end > start ? end - start : 0;
}

/// Waits for a launch, and says what failed. Adds the time that it ran to `nanoseconds`.
static std::optional<RuntimeError> finish(const LoadedOpenClKernel &kernel, ClHandle event,
                                          std::atomic<uint64_t> &nanoseconds) {
  const OpenClFunctions &call = kernel.context->call();
  int result = call.waitForEvents(1, &event);
  int32_t status = 0; // of the launch itself: negative where it failed
  if (result != gpu::kSuccess &&
      call.eventFact(event, fact::kExecutionStatus, sizeof(status), &status, nullptr) ==
          gpu::kSuccess &&
      status < 0)
    result = status;
  if (result == gpu::kSuccess)
    nanoseconds += nanosecondsOf(call, event);
  call.releaseEvent(event);
  if (result == gpu::kSuccess)
    return std::nullopt;
  return kernel.context->failureOf(result, call.waitForEvents.name,
                                   "running kernel " + kernel.name);
}

/// The report of a failed assertion, whose line the kernel has printed.
static RuntimeError failedAssertion(const LoadedOpenClKernel &kernel) {
  fflush(stdout);
  return {Kind::Device, Code::DeviceAssert,
          "kernel " + kernel.name + " on " + kernel.context->name() +
              " failed an assertion: device-side assert triggered (tw.device_assert); what it has "
              "printed says where",
          "run it with tw.device(\"cpu\") or \"reference\", whose report has the assertion's text "
          "and program"};
}

std::optional<RuntimeError> OpenClDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                                 std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<LoadedOpenClKernel &>(loaded);
  if (auto error = checkLaunch(kernel, grid, arguments))
    return error;
  if (grid.numPrograms() == 0)
    return std::nullopt;
  std::string action;
  alignas(8) uint32_t word[2] = {};
  const bool copies = context->entry().copiesArrays();
  llvm::SmallVector<uint64_t, 32> bits;
  LaunchCopies memory(*context);
  LaunchArgument wordArgument{uint64_t(word), uint64_t(word), sizeof(word), false, 0};
  if (auto error = context->enter("launching a kernel"))
    return error;
  if (copies) {
    std::vector<LaunchArgument> all(arguments.begin(), arguments.end());
    std::vector<ArtifactParameter> parameters = kernel.parameters;
    if (kernel.hasFailureWord) {
      all.push_back(wordArgument);
      parameters.push_back({"", "*i32", /*isStored=*/true, false, 0});
    }
    if (auto error = memory.take(kernel.name, parameters, all))
      return error;
  }
  for (const auto &[form, argument] : llvm::zip_equal(kernel.forms, arguments))
    bits.push_back(copies && form.isPointer ? memory.valueOf(argument) : argument.bits);
  if (kernel.hasFailureWord)
    bits.push_back(copies ? memory.valueOf(wordArgument) : wordArgument.bits);
  ClHandle event = nullptr;
  if (const auto [result, function] = enqueue(kernel, grid, bits, event); result != gpu::kSuccess)
    return context->failureOf(result, function, "launching kernel " + kernel.name);
  if (auto error = finish(kernel, event, nanoseconds))
    return error;
  if (copies)
    if (auto error = memory.giveBack())
      return error;
  if (word[0] != 0)
    return failedAssertion(kernel);
  return std::nullopt;
}

std::shared_ptr<Device> spirv::makeOpenClDevice(std::shared_ptr<OpenClContext> context) {
  return std::make_shared<OpenClDevice>(std::move(context));
}
