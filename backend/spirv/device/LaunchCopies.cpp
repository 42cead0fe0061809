// The arrays of a launch in memory of a device that cannot reach the host's.
#include "backend/spirv/device/LaunchCopies.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using namespace tw::spirv;
using Kind = RuntimeError::Kind;

/// An address is aligned in a copy as it is on the host, up to this.
static constexpr uint64_t kAlignment = 256;

static bool isPointer(const ArtifactParameter &parameter) {
  return llvm::StringRef(parameter.type).starts_with("*");
}

LaunchCopies::~LaunchCopies() {
  for (const Part &part : parts)
    context.call().releaseBuffer(part.handle);
  for (const Copy &copy : copies) {
    if (!copy.memory)
      continue;
    if (usesBuffers())
      context.call().releaseBuffer(copy.memory);
    else if (context.entry().access == ArrayAccess::CopyUsm)
      context.entry().usm.release(context.context(), copy.memory);
    else
      context.call().freeSvm(context.context(), copy.memory);
  }
}

std::optional<RuntimeError> LaunchCopies::allocate(Copy &copy) {
  const uint64_t alignment = context.entry().bufferAlignment; // a power of two, of each buffer, too
  copy.offset = usesBuffers() ? (copy.begin - copy.pointer) % alignment : copy.begin % kAlignment;
  size_t bytes = copy.offset + (copy.end - copy.begin);
  std::string action = "copying " + std::to_string(copy.end - copy.begin) + " bytes to it";
  const OpenClFunctions &call = context.call();
  constexpr int outOfMemory = -4;
  const char *function = "clSVMAlloc"; // which has no result of its own
  int result = gpu::kSuccess;
  if (usesBuffers()) {
    function = "clCreateBuffer";
    copy.memory = static_cast<char *>(
        call.createBuffer(context.context(), kReadWrite, bytes, nullptr, &result));
  } else if (context.entry().access == ArrayAccess::CopyUsm) {
    function = "clDeviceMemAllocINTEL";
    copy.memory = static_cast<char *>(context.entry().usm.allocate(
        context.context(), context.entry().id, nullptr, bytes, uint32_t(kAlignment), &result));
  } else {
    // The specification leaves it to devices how far they align, up to their widest type: 128
    // bytes.
    copy.memory = static_cast<char *>(call.allocateSvm(context.context(), kReadWrite, bytes, 0));
    result = copy.memory ? gpu::kSuccess : outOfMemory;
  }
  if (copy.memory && result == gpu::kSuccess)
    return std::nullopt;
  copy.memory = nullptr;
  return context.failureOf(result, function, action);
}

std::optional<RuntimeError> LaunchCopies::transfer(const Copy &copy, bool isToHost) {
  const OpenClFunctions &call = context.call();
  void *host = reinterpret_cast<void *>(copy.begin), *device = copy.memory + copy.offset;
  const size_t bytes = copy.end - copy.begin;
  int result = gpu::kSuccess;
  const char *function = call.copySvm.name;
  if (usesBuffers() && isToHost) {
    function = call.readBuffer.name;
    result = call.readBuffer(context.queue(), copy.memory, 1, copy.offset, bytes, host, 0, nullptr,
                             nullptr);
  } else if (usesBuffers()) {
    function = call.writeBuffer.name;
    result = call.writeBuffer(context.queue(), copy.memory, 1, copy.offset, bytes, host, 0, nullptr,
                              nullptr);
  } else {
    bool isUsm = context.entry().access == ArrayAccess::CopyUsm;
    const auto &copyMemory = isUsm ? context.entry().usm.copy : call.copySvm;
    function = copyMemory.name;
    result = copyMemory(context.queue(), /*blocking=*/1, isToHost ? host : device,
                        isToHost ? device : host, bytes, 0, nullptr, nullptr);
  }
  if (result == gpu::kSuccess)
    return std::nullopt;
  return context.failureOf(result, function, isToHost ? "copying from it" : "copying to it");
}

/// Makes one copy of each group of arrays that overlap. Pointers into a buffer have to be aligned:
/// where those of a group cannot all be, arrays that are read only stay apart.
void LaunchCopies::unite() {
  llvm::sort(copies, [](const Copy &a, const Copy &b) { return a.begin < b.begin; });
  std::vector<Copy> united;
  for (size_t first = 0, next = 0; first < copies.size(); first = next) {
    Copy group = copies[first];
    bool alignsAll = true;
    for (next = first + 1; next < copies.size() && copies[next].begin < group.end; ++next) {
      group.end = std::max(group.end, copies[next].end);
      group.isStored |= copies[next].isStored;
      alignsAll &= (copies[next].pointer - group.pointer) % context.entry().bufferAlignment == 0;
    }
    if (usesBuffers() && !alignsAll && !group.isStored)
      united.insert(united.end(), copies.begin() + first, copies.begin() + next);
    else
      united.push_back(group);
  }
  copies = std::move(united);
}

/// Makes a part of a buffer for a pointer that is not at the buffer's beginning.
std::optional<RuntimeError> LaunchCopies::cut(const std::string &kernel,
                                              const std::string &parameter,
                                              const LaunchArgument &argument) {
  const Copy *copy = copyOf(argument);
  if (!copy)
    return std::nullopt;
  const size_t region[] = {copy->offset + (argument.bits - copy->begin), copy->end - argument.bits};
  if (region[0] == 0)
    return std::nullopt;
  if (region[0] % context.entry().bufferAlignment != 0)
    return RuntimeError{
        Kind::Launch, Code::UnpassableArgument,
        llvm::formatv("argument `{0}` of kernel {1} overlaps another that is stored "
                      "to, and is not a multiple of {2} bytes away from it, as the "
                      "buffers of {3} need it",
                      parameter, kernel, context.entry().bufferAlignment, context.name())
            .str(),
        "pass a copy of the array (numpy.copy, torch.clone)"};
  int result = gpu::kSuccess;
  ClHandle handle =
      context.call().createPart(copy->memory, kReadWrite, kRegionPart, region, &result);
  if (!handle || result != gpu::kSuccess)
    return context.failureOf(result, "clCreateSubBuffer", "launching kernel " + kernel);
  parts.push_back({argument.bits, copy, handle});
  return std::nullopt;
}

std::optional<RuntimeError> LaunchCopies::take(const std::string &kernel,
                                               std::span<const ArtifactParameter> parameters,
                                               std::span<const LaunchArgument> arguments) {
  for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments)) {
    if (!isPointer(parameter) || argument.bits == 0)
      continue;
    if (argument.allocationBase == 0)
      return RuntimeError{Kind::Launch, Code::UnpassableArgument,
                          llvm::formatv("argument `{0}` of kernel {1} is an address alone, and {2} "
                                        "works on copies of arrays",
                                        parameter.name, kernel, context.name())
                              .str(),
                          "pass the array"};
    if (argument.bytes > 0)
      copies.push_back({argument.allocationBase, argument.allocationBase + argument.bytes,
                        argument.bits, parameter.isStored});
  }
  unite();
  for (Copy &copy : copies) {
    if (auto error = allocate(copy))
      return error;
    if (auto error = transfer(copy, /*isToHost=*/false))
      return error;
  }
  if (usesBuffers())
    for (auto [parameter, argument] : llvm::zip_equal(parameters, arguments))
      if (isPointer(parameter))
        if (auto error = cut(kernel, parameter.name, argument))
          return error;
  return std::nullopt;
}

/// Returns the copy that was made for a pointer, or another that has the array.
const LaunchCopies::Copy *LaunchCopies::copyOf(const LaunchArgument &argument) const {
  const Copy *found = nullptr;
  for (const Copy &copy : copies) {
    bool hasArray = argument.bytes > 0 && argument.allocationBase >= copy.begin &&
                    argument.allocationBase + argument.bytes <= copy.end;
    if (hasArray && (!found || copy.pointer == argument.bits))
      found = &copy;
  }
  return found;
}

uint64_t LaunchCopies::valueOf(const LaunchArgument &argument) const {
  const Copy *copy = copyOf(argument);
  if (!copy)
    return usesBuffers() ? 0 : argument.bits;
  if (!usesBuffers())
    return uint64_t(copy->memory) + copy->offset + (argument.bits - copy->begin);
  for (const Part &part : parts)
    if (part.of == copy && part.begin == argument.bits)
      return uint64_t(part.handle);
  return uint64_t(copy->memory);
}

std::optional<RuntimeError> LaunchCopies::giveBack() {
  for (const Copy &copy : copies)
    if (copy.isStored)
      if (auto error = transfer(copy, /*isToHost=*/true))
        return error;
  return std::nullopt;
}
