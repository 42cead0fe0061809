// The names of AMD's GPUs: `amd:ARCH` to compile for, and `sim:ARCH` to execute the same code here.
#include "backend/TargetKind.h"
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/warpsim/WarpsimDevice.h"
#include "backend/warpsim/llvmir/Import.h"

using namespace tw;

/// One whose variants are the rows of the table.
static TargetKind kindOfArchs(const char *name) {
  TargetKind kind;
  kind.facts.kind = name;
  kind.facts.backend = "hip"; // as kernels that ask for their maker call it
  kind.facts.countsBytes = true;
  kind.facts.options = {"bitcode", "maxnreg", "no-fusion", "waves_per_eu", "matrix_instr_nonkdim"};
  kind.variants = amdArchs();
  kind.addFacts = [](const std::string &name, TargetFacts &facts) {
    const AmdArch *arch = findAmdArch(name);
    facts.arch = name;
    facts.warpSize = arch->warpSize;
    facts.sharedBytes = arch->sharedBytes;
  };
  return kind;
}

static TargetKind compiledKind() {
  TargetKind kind = kindOfArchs("amd");
  kind.registerPasses = registerAmdPasses;
  kind.passInputs = amdPassInputs();
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    return TargetEntry{
        makeAmdTarget(arch),
        makeCompileOnlyDevice("amd:" + arch,
                              "launch on sim:" + arch + ", which executes the same code here")};
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
             "amd:" + arch + " compiles it, for a GPU to run"};
  return program;
}

static TargetKind simulatedKind() {
  TargetKind kind = kindOfArchs("sim");
  kind.facts.isSimulated = true;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.make = [](const std::string &arch, const TargetSettings &, RuntimeError &) {
    auto reader = [arch](const Artifact &artifact, RuntimeError &error) {
      return readIr(arch, artifact, error);
    };
    return TargetEntry{makeAmdTarget(arch, /*assembles=*/false), makeWarpsimDevice(arch, reader)};
  };
  return kind;
}

namespace tw::targets {
std::vector<TargetKind> amd() { return {simulatedKind(), compiledKind()}; }
} // namespace tw::targets
