// Takes a kernel's module through the passes of a target, with whatever looks into it: dumps,
// overrides, and a reproducer where a pass fails by our own fault.
#ifndef BACKEND_STAGERUN_H
#define BACKEND_STAGERUN_H
#include "backend/Target.h"
#include "backend/compile/DebugSettings.h"
#include "backend/compile/StageOverride.h"

namespace tw {

struct StageRun {
  const Target &target;
  const CompileOptions &options;
  const DebugSettings &debug;
  bool verifies = false;          // the module after every pass
  unsigned firstPass = 0;         // the passes before that number have run already
  llvm::StringRef lastStage = ""; // no pass after this stage runs; empty: all run
};

/// The results of a run besides the module.
struct StageRunResult {
  std::string kernel; // its name in the module at the start
  unsigned numPasses = 0;
  std::vector<StageOverride> overrides;
  /// The passes that ran, as "007 canonicalize", with their milliseconds. Empty where nobody asked.
  std::vector<std::pair<std::string, double>> passTimes;
  /// The text that is to replace the target's own at its stage `textStage`, if there is one.
  const StageOverride *textOverride(const Target &target) const;
};

/// Finds the overrides and applies the one of the first stage. False when `diagnostics` got an
/// error.
bool startStages(mlir::ModuleOp module, const StageRun &run, StageRunResult &result,
                 std::vector<Diagnostic> &diagnostics);

/// Runs the passes, after `startStages`. False when `diagnostics` got an error; of our own faults
/// they then name a reproducer.
bool runStages(mlir::ModuleOp module, const StageRun &run, StageRunResult &result,
               std::vector<Diagnostic> &diagnostics);

/// Reports failures of a run over a text that the user gave for a later stage as the text's fault
/// (TW0319), not as our own: no check of such a text finds everything that is wrong with it.
void blameText(const StageRun &run, std::vector<Diagnostic> &diagnostics);

/// Prints the assembly of the lowered module, with source lines where locations are asked for.
bool printAssembly(const StageRun &run, mlir::ModuleOp lowered, std::string &text,
                   std::string &error);

/// Adds the code that is made of the lowered module to the dumps; `assembly` is its text where that
/// is at hand.
void dumpCode(const StageRun &run, const StageRunResult &result, mlir::ModuleOp lowered,
              const std::string &assembly, std::vector<Diagnostic> &diagnostics);

} // namespace tw
#endif
