// The assemblers of PTX that a machine has, the best one for an architecture first.
#ifndef BACKEND_NVIDIA_ASSEMBLERS_H
#define BACKEND_NVIDIA_ASSEMBLERS_H
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace tw {

/// Where assemblers are looked for.
struct AssemblerSettings {
  /// Files that are tried first: the program ptxas, or the library libnvJitLink.
  std::vector<std::string> paths;
  /// Adds those on the search path and in CUDA toolkits behind them.
  bool searchesMachine = false;
};

namespace nvidia {

struct Assembler {
  enum class Kind { Ptxas, JitLink };
  Kind kind = Kind::Ptxas;
  /// A file; the bare name of a library where only the dynamic loader knows the file.
  std::string path;
};

/// A range of releases of NVIDIA's assemblers, each written as 1304 for 13.4.
struct ReleaseRange {
  unsigned first = 0, last = ~0u;
  bool isBounded() const { return first != 0 || last != ~0u; }
  bool contains(unsigned release) const { return first <= release && release <= last; }
};

/// Returns the assemblers that the settings lead to, programs before libraries: a library makes
/// relocatable code, in which shuffles and the rare cases of square roots and divisions are calls,
/// and those cost registers and instructions.
std::vector<Assembler> findAssemblers(const AssemblerSettings &settings);

/// Moves programs whose release is in `best` before the others; otherwise the order stays. Reads
/// their files only where there is a choice.
std::vector<Assembler> rankAssemblers(std::vector<Assembler> assemblers, ReleaseRange best);

/// Returns the names, sizes and times of change of the files, for cache keys: a new version changes
/// them.
std::string identifyAssemblers(llvm::ArrayRef<Assembler> assemblers);

/// Returns the name with the version that stands in the file, "ptxas 13.0.88"; the name alone where
/// none does.
std::string nameOf(const Assembler &assembler);

/// Returns "13.0.88" of the first "Cuda compilation tools, release 13.0, V13.0.88" in a text or a
/// file; nothing where there is none.
std::string findToolsVersion(llvm::StringRef bytes);

} // namespace nvidia
} // namespace tw
#endif
