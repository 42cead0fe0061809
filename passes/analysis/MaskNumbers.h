// Large numbers in place of masked elements.
#ifndef PASSES_ANALYSIS_MASKNUMBERS_H
#define PASSES_ANALYSIS_MASKNUMBERS_H
#include "mlir/IR/Value.h"

namespace tw {

/// Returns true if elements of a tile of floats may be a finite constant of more than 2^22, as
/// masked scores of attention are -1e30. A product with such a number must be rounded by itself:
/// inside of an FMA it would differ from its rounded self, the row's maximum, by a large number in
/// place of 0.
bool mayHoldMaskNumber(mlir::Value tile);

} // namespace tw
#endif
