// Which arguments of a kernel a pointer may come from, and whether two pointers may meet.
#ifndef PASSES_ANALYSIS_POINTERROOTS_H
#define PASSES_ANALYSIS_POINTERROOTS_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tw {

/// Returns true if accesses through two pointers (or tiles of pointers) may touch the same memory:
/// the pointers may come from one argument, or from two of which neither has `tile.disjoint`.
bool mayAlias(mlir::Value a, mlir::Value b);

/// The numbers of the arguments of the kernel that a pointer (or a tile of them) may come from, in
/// order; none when it may come from elsewhere.
std::optional<llvm::SmallVector<unsigned>> argumentsBehind(mlir::Value pointer);

} // namespace tw
#endif
