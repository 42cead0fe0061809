// The public C++ interface: which targets and devices there are, and what they have beside kernels.
// No LLVM types.
#ifndef BACKEND_API_DEVICES_H
#define BACKEND_API_DEVICES_H
#include "runtime/DeviceMemory.h"
#include "runtime/Simulation.h"
#include "runtime/Specialization.h"
#include "runtime/TargetFacts.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tw::api {
// Seen from outside, as the rest of the public interface.
#pragma GCC visibility push(default)

/// Names of targets in this build, without the devices that drivers number.
std::vector<std::string> targets();
/// Waits until everything that was launched on a device has finished; says what failed since then.
std::optional<RuntimeError> synchronize(const std::string &device);

/// Memory of a GPU, for tests and programs without a framework that has it.
std::shared_ptr<DeviceMemory> allocate(const std::string &device, uint64_t bytes,
                                       RuntimeError &error);

/// Sets what some targets read, by a name of theirs: places of libraries. For targets that are not
/// used yet, and drivers that are not opened yet.
void setTargetSetting(const std::string &name, std::vector<std::string> values);
/// The devices that drivers number ("cuda:0", ...), of drivers that were opened; `opens` opens them
/// first. Empty where there are none, for whatever reason.
std::vector<std::string> gpus(bool opens);
/// The first name of each kind of them, be there one or not.
std::vector<std::string> firstGpus();

/// Returns the facts about a target or device by its name; null where there is no such kind.
std::optional<TargetFacts> targetFacts(const std::string &name);
/// The form of a stage: a text that `inspect` gives, the artifact's binary, or code assembled of an
/// artifact's binary that is text.
enum class StageForm { Text, Binary, Assembled };
struct StageName {
  std::string name;
  StageForm form = StageForm::Text;
};
/// The stages of compiling for a target, in order; empty where there is no such target.
std::vector<StageName> stagesOf(const std::string &target);

/// A pass of a target, and whether kernels compute the same without it.
struct PassName {
  std::string name;
  bool isOptional = false;
};
/// The passes before LLVM's of compiling for a target with these options, in order; empty where
/// there is no such target.
std::vector<PassName> passesOf(const std::string &target, const CompileOptions &options);

/// Why no kernel can be compiled for a name, or nothing.
std::optional<RuntimeError> checkTarget(const std::string &target);

/// The target that kernels are compiled for to run on a device: "amd:gfx942" of "hip:0", which
/// opens its driver. Empty with `error` where there is no such device.
std::string targetOfDevice(const std::string &device, RuntimeError &error);

/// Returns the assembler that makes a target's machine code of text, with version and file: "ptxas
/// 13.0.88, /path/ptxas". Or why none works. Empty for targets that need none, and where
/// none is found.
std::string assemblerOf(const std::string &target);

/// Returns what the simulator found in the last launch on a device (JSON: findings and statistics,
/// see backend/warpsim/Launch.h); empty before the first launch and for devices that simulate
/// nothing.
std::string simulationReport(const std::string &device);

/// Returns the nanoseconds that launches have run on the devices of this process that have a clock
/// of their own.
uint64_t kernelNanoseconds();

/// Number of worker threads of the CPU device (0: all cores). Setting it waits for a running grid;
/// false, and nothing changes, when that is a grid of this very thread or the wait is interrupted.
bool setNumThreads(int count);
int numThreads();

#pragma GCC visibility pop
} // namespace tw::api
#endif
