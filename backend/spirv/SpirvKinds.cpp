// The names of OpenCL devices: `spirv:ARCH` to compile for, `sim:ARCH` to execute the same code
// here, and `opencl:N` for the devices of this machine.
#include "backend/TargetKind.h"
#include "backend/reference/ReferenceDevice.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/SpirvTarget.h"
#include "backend/spirv/device/OpenClDevices.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "backend/warpsim/llvmir/Import.h"
#include "runtime/codes/Codes.h"

using namespace tw;

/// Makes a target kind with the facts that all OpenCL kinds share.
static TargetKind spirvKind(const char *name) {
  TargetKind kind;
  kind.facts.kind = name;
  kind.facts.backend = "opencl"; // as kernels that ask for their maker call it
  kind.facts.countsBytes = true;
  kind.facts.options = {"no-fusion", "pass_limit"};
  return kind;
}

static void addArchFacts(const std::string &name, TargetFacts &facts) {
  const SpirvArch *arch = findSpirvArch(name);
  facts.arch = name;
  facts.warpSize = arch->warpSize;
  facts.sharedBytes = arch->sharedBytes;
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

/// The LLVM IR of an artifact as a program of the simulator.
static std::optional<warpsim::Program> readIr(const std::string &arch, const Artifact &artifact,
                                              RuntimeError &error) {
  warpsim::ImportError refusal;
  std::optional<warpsim::Program> program = warpsim::importAmdgcn(artifact.binary, arch, refusal);
  if (!program)
    error = {RuntimeError::Kind::Unsupported, Code::IrNotSimulated,
             "the simulator cannot execute " + refusal.message + " in kernel " + artifact.symbol +
                 (refusal.line ? ", line " + std::to_string(refusal.line) : ""),
             "spirv:" + arch + " compiles it, for a device to run"};
  return program;
}

static TargetKind simulatedKind() {
  TargetKind kind = spirvKind("sim");
  for (const SpirvArch &arch : spirvArchTable())
    if (arch.isSimulated)
      kind.variants.push_back(arch.name.str());
  kind.addFacts = addArchFacts;
  kind.facts.isSimulated = true;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    auto reader = [arch](const Artifact &artifact, RuntimeError &error) {
      return readIr(arch, artifact, error);
    };
    TargetEntry entry{makeSpirvTarget(arch, SpirvCode::Ir),
                      makeWarpsimDevice(arch, reader, makePromiseDevice())};
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
