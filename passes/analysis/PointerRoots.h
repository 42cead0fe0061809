// Which arguments of a kernel a pointer may come from, and whether two pointers may meet.
#ifndef PASSES_ANALYSIS_POINTERROOTS_H
#define PASSES_ANALYSIS_POINTERROOTS_H
#include "mlir/IR/Value.h"

namespace tw {

/// Whether accesses through two pointers (or tiles of pointers) may touch the same memory: they may
/// come from one argument, or from two of which neither has `tile.disjoint`.
bool mayAlias(mlir::Value a, mlir::Value b);

} // namespace tw
#endif
