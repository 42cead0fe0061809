// The names of AMD's GPUs: `amd:ARCH` to compile for.
#include "backend/TargetKind.h"
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"

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
    return TargetEntry{makeAmdTarget(arch),
                       makeCompileOnlyDevice("amd:" + arch, "launch on a machine with this GPU")};
  };
  return kind;
}

namespace tw::targets {
std::vector<TargetKind> amd() { return {compiledKind()}; }
} // namespace tw::targets
