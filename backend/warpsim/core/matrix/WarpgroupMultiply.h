// The execution of a product of a warp.
#ifndef BACKEND_WARPSIM_CORE_WARPGROUPMULTIPLY_H
#define BACKEND_WARPSIM_CORE_WARPGROUPMULTIPLY_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

/// Reads the operands and adds the product to the accumulator's registers, as memory and registers
/// are now.
void computeProduct(Cta &cta, Warp &warp, const ProductInFlight &product);

} // namespace tw::warpsim
#endif
