// Checks that a device has what a module of SPIR-V needs, by the module's capabilities.
#include "backend/spirv/device/SpirvNeeds.h"
#include "runtime/aot/OpenClNeeds.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using namespace tw::spirv;

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
  auto uses = [&](uint32_t capability) {
    return tw_cl_uses(module.data(), module.size(), capability) != 0;
  };
  for (const tw_cl_need &need : tw_cl_needs)
    if (uses(need.capability) && !entry.has(need.extension))
      return error(std::string(need.what) + " (" + need.extension + ")", need.hint);
  for (const tw_cl_atomic_need &need : tw_cl_atomic_needs)
    if (uses(need.capability) && !(entry.atomics[need.position] & need.bit))
      return error(std::string(need.what) + " (cl_ext_float_atomics)", TW_CL_COMPARE_AND_SWAP);
  return std::nullopt;
}
