// What a folder of targets adds to this build: the names it answers to, and what is made of each.
#ifndef BACKEND_TARGETKIND_H
#define BACKEND_TARGETKIND_H
#include "backend/Target.h"
#include "runtime/Device.h"
#include "runtime/TargetFacts.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace tw {

/// A target, and the device that runs what it compiles.
struct TargetEntry {
  std::unique_ptr<Target> target;
  std::shared_ptr<Device> device;
};

/// The settings of a process for some of its targets, by the names that these read: the places of
/// libraries.
using TargetSettings = std::map<std::string, std::vector<std::string>>;

/// Targets whose names differ only after the colon. A name is `facts.kind` alone, or with ":" and a
/// variant.
struct TargetKind {
  TargetFacts facts; // what all of them share
  /// The variants that exist without asking a driver, "" for the kind's name alone. Names of
  /// devices that a driver numbers are not among them.
  std::vector<std::string> variants;
  /// Makes the one of a variant; null with a reason in `error`.
  std::function<std::optional<TargetEntry>(const std::string &variant,
                                           const TargetSettings &settings, RuntimeError &error)>
      make;
  /// Adds what is true of one variant only.
  std::function<void(const std::string &variant, TargetFacts &facts)> addFacts;
  /// Counts the devices of the driver, for kinds whose variants are numbers; with `opens` the
  /// driver is opened if it was not yet. 0 where there are none, for whatever reason.
  std::function<int(const TargetSettings &settings, bool opens)> countDevices;
  /// Registers the passes of its folder by name, for tools. One kind of a folder does.
  void (*registerPasses)() = nullptr;
  /// The inputs of those passes.
  llvm::ArrayRef<PassInput> passInputs = {};
};

/// All kinds of this program, from the list of folders that CMake has (TILEWRIGHT_TARGETS).
std::vector<TargetKind> targetKinds();

/// The kind of a name, as far as the name shows it; null when there is none.
const TargetKind *findKind(llvm::ArrayRef<TargetKind> kinds, llvm::StringRef name);
/// Makes what a name stands for; null with a reason in `error`.
std::optional<TargetEntry> makeTarget(llvm::ArrayRef<TargetKind> kinds, const std::string &name,
                                      const TargetSettings &settings, RuntimeError &error);
/// Returns the facts about a name; null when no kind has it.
std::optional<TargetFacts> findFacts(llvm::ArrayRef<TargetKind> kinds, const std::string &name);
/// All names that exist without asking a driver.
std::vector<std::string> namesOf(llvm::ArrayRef<TargetKind> kinds);
/// The name that an unknown one most likely means.
std::string closestName(llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// The device of targets that are compiled for and not run here: its launches fail with `hint`.
std::shared_ptr<Device> makeCompileOnlyDevice(const std::string &target, const std::string &hint);

} // namespace tw
#endif
