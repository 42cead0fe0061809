// The names of NVIDIA's GPUs: `nvidia:ARCH` to compile for, `sim:ARCH` to execute the same code
// here, and `cuda:N` for the GPUs of this machine.
#include "backend/TargetKind.h"
#include "backend/gpu/device/GpuDevice.h"
#include "backend/gpu/device/InstalledGpus.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/NvidiaTarget.h"
#include "backend/nvidia/device/CudaDriver.h"
#include "backend/nvidia/device/CudaGpu.h"
#include "backend/reference/ReferenceDevice.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "ir/tile/Tile.h"

using namespace tw;

// Names of a process's settings: the path of libcuda, files of assemblers that come before those of
// the machine, or files in place of those.
static constexpr const char *kLibrary = "cuda-library", *kAssemblers = "assemblers",
                            *kOnlyAssemblers = "only-assemblers";

static AssemblerSettings assemblersIn(const TargetSettings &settings) {
  AssemblerSettings assemblers{{}, /*searchesMachine=*/true};
  if (auto first = settings.find(kAssemblers); first != settings.end())
    assemblers.paths = first->second;
  if (auto only = settings.find(kOnlyAssemblers); only != settings.end())
    assemblers = {only->second, /*searchesMachine=*/false};
  return assemblers;
}

/// Makes the part that all of them share.
static TargetKind nvidiaKind(const char *name) {
  TargetKind kind;
  kind.facts.kind = name;
  kind.facts.backend = "cuda"; // as kernels that ask for their maker call it
  kind.facts.warpSize = 32;
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  kind.facts.processorRegisters = 64 << 10;
  kind.facts.options = nvidiaLaunchOptions();
  return kind;
}

/// One whose variants are the rows of the table.
static TargetKind kindOfArchs(const char *name) {
  TargetKind kind = nvidiaKind(name);
  kind.variants = nvidiaArchs();
  kind.addFacts = [](const std::string &name, TargetFacts &facts) {
    const NvidiaArch *arch = findNvidiaArch(name);
    facts.arch = std::to_string(arch->number);
    facts.sharedBytes = arch->sharedBytes;
    facts.options = nvidiaLaunchOptions(arch);
  };
  return kind;
}

static TargetKind simulatedKind() {
  TargetKind kind = kindOfArchs("sim");
  kind.facts.isSimulated = true;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.make = [](const std::string &arch, const TargetSettings &settings, RuntimeError &) {
    TargetEntry entry{makeNvidiaTarget(arch, /*assembles=*/false, assemblersIn(settings)),
                      makeWarpsimDevice(arch, readPtx, makePromiseDevice())};
    entry.target->checksPromises = AccessChecks::Always;
    return entry;
  };
  return kind;
}

static TargetKind compiledKind() {
  TargetKind kind = kindOfArchs("nvidia");
  kind.registerPasses = registerNvidiaPasses;
  kind.passInputs = nvidiaPassInputs();
  kind.make = [](const std::string &arch, const TargetSettings &settings, RuntimeError &) {
    return TargetEntry{
        makeNvidiaTarget(arch, /*assembles=*/true, assemblersIn(settings)),
        makeCompileOnlyDevice("nvidia:" + arch,
                              "launch on sim:" + arch + ", which executes the same code here")};
  };
  return kind;
}

/// A GPU of this machine, with the target that it runs the code of.
static std::optional<TargetEntry> openGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                          const TargetSettings &settings, RuntimeError &error) {
  std::optional<CudaGpu> found = findCudaGpu(std::move(driver), index, error);
  if (!found)
    return std::nullopt;
  const CudaArchChoice &choice = found->choice;
  return TargetEntry{makeNvidiaTarget(choice.arch->name.str(), /*assembles=*/choice.isExact,
                                      assemblersIn(settings)),
                     gpu::makeGpuDevice(found->context)};
}

static TargetKind installedKind() {
  TargetKind kind = nvidiaKind("cuda");
  kind.facts.hasMemory = true;
  kind.facts.memory = {"cuda", "cuda", {/*kDLCUDA=*/2, /*kDLCUDAManaged=*/13}};
  gpu::addInstalledGpus(kind, {&nvidia::cudaDriver(), kLibrary, openGpu});
  return kind;
}

namespace tw::targets {
std::vector<TargetKind> nvidia() { return {simulatedKind(), compiledKind(), installedKind()}; }
} // namespace tw::targets
