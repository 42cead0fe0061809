// Where the elements of a tile of pointers meet: among each other, and from one iteration of a loop
// to the next.
#ifndef PASSES_ANALYSIS_LOOPSTEP_H
#define PASSES_ANALYSIS_LOOPSTEP_H
#include "mlir/IR/Value.h"

namespace tw {

/// Whether a tile of pointers may, in two iterations of a loop around its definition, point to the
/// same memory with different elements. It does not where it stays as it is, nor where each
/// iteration moves it past its own end.
bool mayMeetLaterIterations(mlir::Value pointers, mlir::Operation *loop);

/// Whether no two elements of a tile of pointers point to the same memory, as far as it is known.
bool areDistinct(mlir::Value pointers);

} // namespace tw
#endif
