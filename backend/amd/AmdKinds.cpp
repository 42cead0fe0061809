// The names of AMD's GPUs: `amd:ARCH` to compile for, `sim:ARCH` to execute the same code here, and
// `hip:N` for the GPUs of this machine.
#include "backend/TargetKind.h"
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/RegisterLimits.h"
#include "backend/amd/device/HipDriver.h"
#include "backend/amd/device/HipGpu.h"
#include "backend/amd/machine/AmdMatrices.h"
#include "backend/gpu/device/GpuDevice.h"
#include "backend/gpu/device/InstalledGpus.h"
#include "backend/reference/ReferenceDevice.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

using namespace tw;

// What a process sets: the path of libamdhip64, and whether code for GPUs carries its LLVM IR, by
// which a double of that library can execute it.
static constexpr const char *kLibrary = "hip-library", *kEmbedIr = "embed-ir";

/// Makes a target kind with the facts that all AMD kinds share.
static TargetKind amdKind(const char *name) {
  TargetKind kind;
  kind.facts.kind = name;
  kind.facts.backend = "hip"; // as kernels that ask for their maker call it
  kind.facts.countsBytes = true;
  kind.facts.options = amd::launchOptions();
  return kind;
}

/// One whose variants are the rows of the table.
static TargetKind kindOfArchs(const char *name) {
  TargetKind kind = amdKind(name);
  kind.variants = amdArchs();
  kind.addFacts = [](const std::string &name, TargetFacts &facts) {
    const AmdArch *arch = findAmdArch(name);
    facts.arch = name;
    facts.warpSize = arch->warpSize;
    facts.sharedBytes = arch->sharedBytes;
    for (const amd::MatrixInstruction *row : amd::matrixTable(*arch))
      if (std::array<unsigned, 3> extents = {row->m, row->n, row->k};
          !row->scales.empty() && !llvm::is_contained(facts.scaledProducts, extents))
        facts.scaledProducts.push_back(extents);
  };
  return kind;
}

static AmdCode codeOf(const TargetSettings &settings) {
  return gpu::firstSetting(settings, kEmbedIr).empty() ? AmdCode::Hsaco : AmdCode::HsacoWithIr;
}

static TargetKind compiledKind() {
  TargetKind kind = kindOfArchs("amd");
  kind.registerPasses = registerAmdPasses;
  kind.passInputs = amdPassInputs();
  kind.make = [](const std::string &arch, const TargetSettings &settings, RuntimeError &) {
    return TargetEntry{
        makeAmdTarget(arch, codeOf(settings)),
        makeCompileOnlyDevice("amd:" + arch,
                              "launch on sim:" + arch + ", which executes the same code here")};
  };
  return kind;
}

static TargetKind simulatedKind() {
  TargetKind kind = kindOfArchs("sim");
  kind.facts.isSimulated = true;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    TargetEntry entry{makeAmdTarget(arch, AmdCode::Ir),
                      makeWarpsimDevice(arch, irReader("amd:" + arch), makePromiseDevice())};
    entry.target->checksPromises = AccessChecks::Always;
    return entry;
  };
  return kind;
}

/// A GPU of this machine, with the target that it runs the code of.
static std::optional<TargetEntry> openGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                          const TargetSettings &settings, RuntimeError &error) {
  std::optional<HipGpu> found = findHipGpu(std::move(driver), index, error);
  if (!found)
    return std::nullopt;
  return TargetEntry{makeAmdTarget(found->arch->name.str(), codeOf(settings)),
                     gpu::makeGpuDevice(found->context)};
}

static TargetKind installedKind() {
  TargetKind kind = amdKind("hip");
  kind.facts.warpSize = 64; // of most; a kernel's own launches know how many threads it has
  kind.facts.hasMemory = true;
  kind.facts.memory = {"cuda", "hip", {/*kDLROCM=*/10}};
  gpu::addInstalledGpus(kind, {&amd::hipDriver(), kLibrary, openGpu});
  return kind;
}

namespace tw::targets {
std::vector<TargetKind> amd() { return {simulatedKind(), compiledKind(), installedKind()}; }
} // namespace tw::targets
