// How one compilation is looked into: what it writes down, and what replaces its own results.
#ifndef BACKEND_COMPILE_DEBUGSETTINGS_H
#define BACKEND_COMPILE_DEBUGSETTINGS_H
#include <string>

namespace tw {

struct DebugSettings {
  std::string dumpDirectory;       // gets NAME-KEY/00-input.mlir, 01-canonicalize.mlir, ...
  std::string overrideDirectory;   // NAME.STAGE there is taken instead of that stage's own result
  std::string reproducerDirectory; // empty: dumpDirectory, or else the system's temporary directory
  bool collectsRemarks = false;
  bool printsLocations = false; // of operations, in dumps and in the texts of stages
  bool timesPasses = false;     // artifacts say how long each pass took
  bool checksInput = false;     // the module is a text of the user's, not what the frontend makes
  std::string key;              // of the kernel in the cache; dumps are named by its first digits
  std::string buildId;          // written into reproducers
};

/// Returns true if a compilation must really take place: a result from a cache would show nothing,
/// or would ignore the overrides.
inline bool needsCompilation(const DebugSettings &debug) {
  return !debug.dumpDirectory.empty() || !debug.overrideDirectory.empty() ||
         debug.collectsRemarks || debug.timesPasses;
}

} // namespace tw
#endif
