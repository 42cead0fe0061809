// The names of OpenCL devices: `spirv:ARCH` to compile for, `sim:ARCH` to execute the same code
// here, and `opencl:N` for the devices of this machine.
#include "backend/TargetKind.h"
#include "backend/reference/ReferenceDevice.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/SpirvTarget.h"
#include "backend/spirv/device/OpenClDevices.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "runtime/codes/Codes.h"

using namespace tw;

/// Makes a target kind with the facts that all OpenCL kinds share.
static TargetKind spirvKind(const char *name) {
  TargetKind kind;
  kind.facts.kind = name;
  kind.facts.backend = "opencl"; // as kernels that ask for their maker call it
  kind.facts.countsBytes = true;
  kind.facts.options = spirvLaunchOptions();
  return kind;
}

static void addArchFacts(const std::string &name, TargetFacts &facts) {
  const SpirvArch *arch = findSpirvArch(name);
  facts.arch = name;
  facts.warpSize = arch->warpSize;
  facts.sharedBytes = arch->sharedBytes;
  facts.options = spirvLaunchOptions(arch);
}

static TargetKind compiledKind() {
  TargetKind kind = spirvKind("spirv");
  for (const SpirvArch &arch : spirvArchTable())
    kind.variants.push_back(arch.name.str());
  kind.addFacts = addArchFacts;
  kind.registerPasses = registerSpirvPasses;
  kind.passInputs = spirvPassInputs();
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    return TargetEntry{
        makeSpirvTarget(arch),
        makeCompileOnlyDevice("spirv:" + arch, "launch on an OpenCL device: opencl:0")};
  };
  return kind;
}

static TargetKind simulatedKind() {
  TargetKind kind = spirvKind("sim");
  for (const SpirvArch &arch : spirvArchTable())
    kind.variants.push_back(arch.name.str());
  kind.addFacts = addArchFacts;
  kind.facts.isSimulated = true;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    TargetEntry entry{makeSpirvTarget(arch, SpirvCode::Ir),
                      makeWarpsimDevice(arch, irReader("spirv:" + arch), makePromiseDevice())};
    entry.target->checksPromises = AccessChecks::Always;
    return entry;
  };
  return kind;
}

static TargetKind installedKind() {
  TargetKind kind = spirvKind("opencl");
  kind.facts.sharedBytes = findSpirvArch("generic16")->sharedBytes; // what most code is made for
  tw::spirv::addInstalledDevices(
      kind, [](const std::string &arch, tw::spirv::DriverAssembler assembler) {
        return makeSpirvTarget(arch, SpirvCode::SpirV, std::move(assembler));
      });
  return kind;
}

namespace tw::targets {
std::vector<TargetKind> spirv() { return {simulatedKind(), compiledKind(), installedKind()}; }
} // namespace tw::targets
