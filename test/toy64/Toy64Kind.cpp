// The name `toy64`, which tests and the tools for developers have.
#include "backend/TargetKind.h"
#include "test/toy64/Toy64Device.h"
#include "test/toy64/Toy64Target.h"

namespace tw::targets {
std::vector<TargetKind> toy64() {
  TargetKind kind;
  kind.facts.kind = kind.facts.backend = "toy64";
  kind.facts.warpSize = 64;
  kind.facts.sharedBytes = 65536;
  kind.facts.checksAccesses = AccessChecks::Always;
  kind.variants = {"", "counting"};
  kind.make = [](const std::string &variant, const TargetSettings &, RuntimeError &) {
    return TargetEntry{test::makeToy64Target(variant == "counting"), test::makeToy64Device()};
  };
  return {std::move(kind)};
}
} // namespace tw::targets
