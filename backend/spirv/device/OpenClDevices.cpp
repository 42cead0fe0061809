// The OpenCL devices of this machine as targets by number: `opencl:0`, `opencl:1`, ...
#include "backend/spirv/device/OpenClDevices.h"
#include "backend/gpu/device/InstalledGpus.h"
#include "backend/spirv/device/OpenClContext.h"
#include "backend/spirv/device/OpenClDevice.h"
#include "backend/spirv/device/OpenClProgram.h"
#include "backend/spirv/machine/SpirvArch.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

using namespace tw;
using namespace tw::spirv;

/// Settings of a process: the paths of libraries, and for tests how kernels reach arrays.
static constexpr const char *kLibraries = "opencl-libraries", *kAccess = "opencl-arrays";

namespace {
/// The driver, opened when it is first needed, and again where that failed.
class SharedOpenCl {
public:
  std::shared_ptr<const OpenClDriver> get(const TargetSettings &settings, bool opens,
                                          RuntimeError &error) {
    std::lock_guard lock(mutex);
    if (!driver && opens) {
      auto libraries = settings.find(kLibraries);
      driver =
          openOpenCl({libraries == settings.end() ? std::vector<std::string>() : libraries->second,
                      gpu::firstSetting(settings, kAccess)},
                     error);
    }
    return driver;
  }

private:
  std::mutex mutex; // guards the one below
  std::shared_ptr<const OpenClDriver> driver;
};
} // namespace

/// The row of SpirvArch that a device's kernels are compiled for; empty where it has no subgroups
/// that any row has.
static std::string archOf(const OpenClEntry &entry) {
  for (const SpirvArch &row : spirvArchTable())
    if (entry.isGpu && entry.ipVersion && entry.ipVersion >= row.firstVersion &&
        entry.ipVersion <= row.lastVersion)
      return row.name.str();
  for (size_t lanes : {16, 32})
    if (llvm::is_contained(entry.subgroupSizes, lanes))
      return "generic" + std::to_string(lanes);
  return "";
}

static DriverAssembler assemblerOf(std::shared_ptr<OpenClContext> context) {
  return {context->entry().describe(),
          [context](const Artifact &artifact, std::string &code, RuntimeError &error) {
            auto program = OpenClProgram::build(context, artifact, error);
            if (program)
              code = program->readBinary();
            return program != nullptr;
          },
          context->entry().has("cl_intel_subgroup_2d_block_io")};
}

static std::optional<TargetEntry> openDevice(SharedOpenCl &shared, const TargetMaker &makeTarget,
                                             const std::string &number,
                                             const TargetSettings &settings, RuntimeError &error) {
  std::optional<int> index = gpu::readNumber(kOpenClPrefix, number, error);
  if (!index)
    return std::nullopt;
  std::shared_ptr<const OpenClDriver> driver = shared.get(settings, /*opens=*/true, error);
  if (!driver)
    return std::nullopt;
  if (auto problem = gpu::checkNumber(kOpenClPrefix, *index, int(driver->devices.size()),
                                      "clinfo and ONEAPI_DEVICE_SELECTOR")) {
    error = std::move(*problem);
    return std::nullopt;
  }
  const OpenClEntry &entry = driver->devices[size_t(*index)];
  std::string arch = archOf(entry);
  if (arch.empty()) {
    error = {RuntimeError::Kind::Device, Code::DeviceLacksFeature,
             kOpenClPrefix + number + " (" + entry.describe() +
                 ") has no subgroups of 16 or 32 lanes, which kernels need",
             "run on another device, or on the cpu"};
    return std::nullopt;
  }
  auto context = std::make_shared<OpenClContext>(driver, *index, "sim:" + arch);
  return TargetEntry{makeTarget(arch, assemblerOf(context)), makeOpenClDevice(context)};
}

void spirv::addInstalledDevices(TargetKind &kind, TargetMaker makeTarget) {
  kind.facts.warpSize = 16; // of most; a kernel's own launches know how many threads it has
  auto shared = std::make_shared<SharedOpenCl>();
  kind.make = [shared, makeTarget](const std::string &number, const TargetSettings &settings,
                                   RuntimeError &error) {
    return openDevice(*shared, makeTarget, number, settings, error);
  };
  kind.countDevices = [shared](const TargetSettings &settings, bool opens) {
    RuntimeError unused;
    auto driver = shared->get(settings, opens, unused);
    return driver ? int(driver->devices.size()) : 0;
  };
}
