// Checks that a device has what a module of SPIR-V needs, by the module's capabilities.
#include "backend/spirv/device/SpirvNeeds.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace tw;
using namespace tw::spirv;

namespace {
/// A capability with the extension of OpenCL that devices with it have.
struct Need {
  uint32_t capability;
  const char *extension;
  const char *what; // for users
  const char *hint;
};

/// A capability that a bit of one of `OpenClEntry::atomics` stands for.
struct AtomicNeed {
  uint32_t capability;
  unsigned position;
  uint64_t bit;
  const char *what;
};
} // namespace

static constexpr const char *kNarrower = "use fp32",
                            *kCompareAndSwap = "use integers, or fp32 sums by tw.sum",
                            *kOther = "run it on another device, or on the cpu";
static constexpr uint64_t kGlobalAdd = 1 << 1, kGlobalMinMax = 1 << 2; // of an atomic's fact

/// Numbers of the SPIR-V specification, enumeration "Capability", and of its extensions.
static constexpr Need kNeeds[] = {
    {9, "cl_khr_fp16", "floats of 16 bits (fp16)", kNarrower},
    {10, "cl_khr_fp64", "floats of 64 bits (fp64)", kNarrower},
    {12, "cl_khr_int64_base_atomics", "atomics of 64 bits", kCompareAndSwap},
    {63, "cl_khr_subgroup_non_uniform_arithmetic", "reductions of a subgroup", kOther},
    {64, "cl_khr_subgroup_ballot", "ballots of a subgroup", kOther},
    {65, "cl_khr_subgroup_shuffle", "shuffles within a subgroup", kOther},
    {66, "cl_khr_subgroup_shuffle_relative", "relative shuffles within a subgroup", kOther},
    {67, "cl_khr_subgroup_clustered_reduce", "reductions of parts of a subgroup", kOther},
    {5568, "cl_intel_subgroups", "Intel's shuffles within a subgroup", kOther},
    {6026, "cl_khr_subgroup_rotate", "rotations of a subgroup", kOther},
    {6141, "cl_intel_split_work_group_barrier", "barriers in two parts", kOther},
    {6228, "cl_intel_subgroup_2d_block_io", "copies of boxes by a subgroup", kOther},
    {6236, "cl_intel_subgroup_matrix_multiply_accumulate", "the matrix unit of Intel's GPUs",
     kOther},
};

static constexpr AtomicNeed kAtomicNeeds[] = {
    {6095, 0, kGlobalAdd, "atomic sums of fp16"},
    {6033, 1, kGlobalAdd, "atomic sums of fp32"},
    {6034, 2, kGlobalAdd, "atomic sums of fp64"},
    {5616, 0, kGlobalMinMax, "atomic minima and maxima of fp16"},
    {5612, 1, kGlobalMinMax, "atomic minima and maxima of fp32"},
    {5613, 2, kGlobalMinMax, "atomic minima and maxima of fp64"},
};

std::vector<uint32_t> spirv::capabilitiesOf(std::string_view module) {
  constexpr uint32_t magic = 0x07230203, capabilityOpcode = 17;
  constexpr size_t headerWords = 5;
  std::vector<uint32_t> words(module.size() / sizeof(uint32_t)), found;
  std::memcpy(words.data(), module.data(), words.size() * sizeof(uint32_t));
  if (words.size() < headerWords || words[0] != magic)
    return found;
  // They come before all other instructions. A first word has the length above the opcode.
  for (size_t at = headerWords; at + 1 < words.size(); at += 2) {
    if (words[at] != (2 << 16 | capabilityOpcode))
      break;
    found.push_back(words[at + 1]);
  }
  return found;
}

static RuntimeError lacks(const OpenClEntry &entry, const std::string &device,
                          const std::string &kernel, const std::string &what,
                          const std::string &hint) {
  return {RuntimeError::Kind::Unsupported, Code::DeviceLacksFeature,
          "kernel " + kernel + " uses " + what + ", which " + device + " (" + entry.describe() +
              ") does not have",
          hint};
}

std::optional<RuntimeError> spirv::checkNeeds(const OpenClEntry &entry, const std::string &device,
                                              const std::string &kernel, std::string_view module,
                                              uint64_t lanes) {
  auto error = [&](const std::string &what, const std::string &hint) {
    return lacks(entry, device, kernel, what, hint);
  };
  if (!llvm::is_contained(entry.subgroupSizes, lanes)) {
    std::string sizes = llvm::join(
        llvm::map_range(entry.subgroupSizes, [](size_t size) { return std::to_string(size); }),
        ", ");
    return error("subgroups of " + std::to_string(lanes) + " lanes",
                 sizes.empty() ? "it has no subgroups" : "it has those of " + sizes);
  }
  std::vector<uint32_t> used = capabilitiesOf(module);
  for (const Need &need : kNeeds)
    if (llvm::is_contained(used, need.capability) && !entry.has(need.extension))
      return error(std::string(need.what) + " (" + need.extension + ")", need.hint);
  for (const AtomicNeed &need : kAtomicNeeds)
    if (llvm::is_contained(used, need.capability) && !(entry.atomics[need.position] & need.bit))
      return error(std::string(need.what) + " (cl_ext_float_atomics)", kCompareAndSwap);
  return std::nullopt;
}
