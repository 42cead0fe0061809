// The names of targets on this machine's cores: `cpu`, and `cpu:LEVEL` for the levels of x86-64
// that it reaches.
#include "backend/TargetKind.h"
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuTarget.h"
#include <mutex>

using namespace tw;

namespace {
/// The device of all of them: they share its threads.
struct SharedDevice {
  std::mutex mutex; // guards the one below, made at its first use
  std::shared_ptr<Device> device;

  std::shared_ptr<Device> get() {
    std::lock_guard lock(mutex);
    if (!device)
      device = makeCpuDevice();
    return device;
  }
};
} // namespace

namespace tw::targets {
std::vector<TargetKind> cpu() {
  TargetKind kind;
  kind.facts.kind = kind.facts.backend = "cpu";
  kind.facts.checksAccesses = AccessChecks::DebugBuilds;
  kind.facts.options = {"bitcode"};
  kind.variants = {""};
  llvm::append_range(kind.variants, cpuLevels());
  kind.addFacts = [](const std::string &level, TargetFacts &facts) { facts.arch = level; };
  kind.make = [shared = std::make_shared<SharedDevice>()](const std::string &level,
                                                          const TargetSettings &, RuntimeError &) {
    return TargetEntry{makeCpuTarget(level), shared->get()};
  };
  return {std::move(kind)};
}
} // namespace tw::targets
