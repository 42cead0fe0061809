// Made-up arguments for running a kernel from the command line: arrays filled by rule, and scalars.
#ifndef BACKEND_TOOLS_SYNTHETICARGUMENTS_H
#define BACKEND_TOOLS_SYNTHETICARGUMENTS_H
#include "runtime/Device.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace tw {

/// One argument. The text is `f32[1024]=random` for an array or `i32=5` for a scalar. Types are
/// those of Tile IR. Arrays are filled with `random` (floats in [-1, 1), integers of all values),
/// `iota`, `zeros` or a number; `const ` before the type makes an array read-only.
struct SyntheticArgument {
  std::string type;
  bool isArray = false, isReadOnly = false;
  uint64_t scalarBits = 0;
  uint64_t numElements = 0;
  std::unique_ptr<char[]> storage; // with room to align
  char *data = nullptr;            // 64-byte aligned

  LaunchArgument launchArgument() const;
  /// Element `index` as a number.
  double element(uint64_t index) const;
};

/// False with a message in `error` when the text is malformed. The same text and seed make the same
/// values.
bool parseArgument(llvm::StringRef text, uint64_t seed, SyntheticArgument &argument,
                   std::string &error);

} // namespace tw
#endif
