// Where in the user's source an operation comes from.
#ifndef PASSES_ANALYSIS_SOURCEPLACE_H
#define PASSES_ANALYSIS_SOURCEPLACE_H
#include "mlir/IR/Location.h"

namespace tw {

/// The location of an operation; of one without, such as a constant that folding has made, that of
/// its first user.
mlir::Location placeOf(mlir::Operation *op);

} // namespace tw
#endif
