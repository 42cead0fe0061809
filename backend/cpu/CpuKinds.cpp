// The names of targets on cores: `cpu`, this machine's, and `cpu:LEVEL` for the levels of x86-64
// and some processors, which run where this machine reaches them.
#include "backend/TargetKind.h"
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuTarget.h"
#include "backend/reference/ReferenceDevice.h"
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
      device = makeCpuDevice(/*numThreads=*/0, makePromiseDevice());
    return device;
  }
};
} // namespace

namespace tw::targets {
std::vector<TargetKind> cpu() {
  TargetKind kind;
  kind.facts.kind = kind.facts.backend = "cpu";
  kind.facts.checksAccesses = AccessChecks::DebugBuilds;
  kind.facts.options = cpuLaunchOptions();
  kind.variants = {""};
  const std::vector<std::string> reached = cpuLevels();
#if defined(__x86_64__)
  // Code for a level that this machine does not reach can be compiled for another.
  for (llvm::StringRef name : namedCpus())
    kind.variants.push_back(name.str());
#endif
  kind.addFacts = [](const std::string &level, TargetFacts &facts) { facts.arch = level; };
  kind.make = [reached, shared = std::make_shared<SharedDevice>()](
                  const std::string &level, const TargetSettings &, RuntimeError &) {
    bool isReached = level.empty() || llvm::is_contained(reached, level);
    TargetEntry entry{makeCpuTarget(level),
                      isReached
                          ? shared->get()
                          : makeCompileOnlyDevice(
                                "cpu:" + level, "this processor lacks instructions of the level")};
    // Wherever the code is compiled: machines may share a cache.
    entry.target->checksPromises = AccessChecks::DebugBuilds;
    return entry;
  };
  return {std::move(kind)};
}
} // namespace tw::targets
