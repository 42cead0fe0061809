// The name of the target whose device defines the language: `reference`.
#include "backend/TargetKind.h"
#include "backend/reference/BytecodeTarget.h"
#include "backend/reference/ReferenceDevice.h"

namespace tw::targets {
std::vector<TargetKind> reference() {
  TargetKind kind;
  kind.facts.kind = kind.facts.backend = "reference";
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.variants = {""};
  kind.make = [](const std::string &, const TargetSettings &, RuntimeError &) {
    return TargetEntry{makeBytecodeTarget("reference"), makeReferenceDevice()};
  };
  return {std::move(kind)};
}
} // namespace tw::targets
