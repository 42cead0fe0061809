// The arrays of a launch in memory of a device that cannot reach the host's.
#include "backend/spirv/device/LaunchCopies.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using namespace tw::spirv;

/// An address is aligned in a copy as it is on the host, up to this.
static constexpr uint64_t kAlignment = 256;

LaunchCopies::~LaunchCopies() {
  for (const Copy &copy : copies) {
    if (!copy.memory)
      continue;
    if (context.entry().access == ArrayAccess::CopyUsm)
      context.entry().usm.release(context.context(), copy.memory);
    else
      context.call().freeSvm(context.context(), copy.memory);
  }
}

std::optional<RuntimeError> LaunchCopies::allocate(Copy &copy) {
  size_t bytes = copy.offset + (copy.end - copy.begin);
  std::string action = "copying " + std::to_string(copy.end - copy.begin) + " bytes to it";
  int result = gpu::kSuccess;
  if (context.entry().access == ArrayAccess::CopyUsm) {
    copy.memory = static_cast<char *>(context.entry().usm.allocate(
        context.context(), context.entry().id, nullptr, bytes, uint32_t(kAlignment), &result));
    if (!copy.memory || result != gpu::kSuccess)
      return context.failureOf(result, "clDeviceMemAllocINTEL", action);
    return std::nullopt;
  }
  constexpr int outOfMemory = -4; // the function has no result of its own
  // The specification leaves it to devices how far they align, up to their widest type: 128 bytes.
  copy.memory =
      static_cast<char *>(context.call().allocateSvm(context.context(), kReadWrite, bytes, 0));
  if (!copy.memory)
    return context.failureOf(outOfMemory, "clSVMAlloc", action);
  return std::nullopt;
}

std::optional<RuntimeError> LaunchCopies::transfer(const Copy &copy, bool isToHost) {
  bool isUsm = context.entry().access == ArrayAccess::CopyUsm;
  const auto &call = isUsm ? context.entry().usm.copy : context.call().copySvm;
  void *host = reinterpret_cast<void *>(copy.begin), *device = copy.memory + copy.offset;
  int result = call(context.queue(), /*blocking=*/1, isToHost ? host : device,
                    isToHost ? device : host, copy.end - copy.begin, 0, nullptr, nullptr);
  if (result == gpu::kSuccess)
    return std::nullopt;
  return context.failureOf(result, call.name, isToHost ? "copying from it" : "copying to it");
}

std::optional<RuntimeError> LaunchCopies::take(const std::string &kernel,
                                               std::span<const ArtifactParameter> parameters,
                                               std::span<const LaunchArgument> arguments) {
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (!llvm::StringRef(parameter.type).starts_with("*") || argument.bits == 0)
      continue;
    if (argument.allocationBase == 0)
      return RuntimeError{RuntimeError::Kind::Launch, Code::UnpassableArgument,
                          llvm::formatv("argument `{0}` of kernel {1} is an address alone, and {2} "
                                        "works on copies of arrays",
                                        parameter.name, kernel, context.name())
                              .str(),
                          "pass the array"};
    if (argument.bytes > 0)
      copies.push_back({argument.allocationBase, argument.allocationBase + argument.bytes,
                        parameter.isStored, nullptr, 0});
  }
  llvm::sort(copies, [](const Copy &a, const Copy &b) { return a.begin < b.begin; });
  size_t numKept = 0;
  for (const Copy &copy : copies) {
    if (numKept > 0 && copy.begin < copies[numKept - 1].end) {
      Copy &last = copies[numKept - 1];
      last.end = std::max(last.end, copy.end);
      last.isStored |= copy.isStored;
    } else {
      copies[numKept++] = copy;
    }
  }
  copies.resize(numKept);
  for (Copy &copy : copies) {
    copy.offset = copy.begin % kAlignment;
    if (auto error = allocate(copy))
      return error;
    if (auto error = transfer(copy, /*isToHost=*/false))
      return error;
  }
  return std::nullopt;
}

uint64_t LaunchCopies::addressOf(const LaunchArgument &argument) const {
  for (const Copy &copy : copies)
    if (argument.bytes > 0 && argument.allocationBase >= copy.begin &&
        argument.allocationBase < copy.end)
      return uint64_t(copy.memory) + copy.offset + (argument.bits - copy.begin);
  return argument.bits;
}

std::optional<RuntimeError> LaunchCopies::giveBack() {
  for (const Copy &copy : copies)
    if (copy.isStored)
      if (auto error = transfer(copy, /*isToHost=*/true))
        return error;
  return std::nullopt;
}
