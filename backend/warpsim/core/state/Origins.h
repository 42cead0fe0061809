// Where a value that is not there should have come from.
#ifndef BACKEND_WARPSIM_CORE_ORIGINS_H
#define BACKEND_WARPSIM_CORE_ORIGINS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

/// Adds to the finding that a register of a lane, read at `pc`, has no value: which instruction
/// first lacked one, or that nothing writes it.
void describeOrigin(const Cta &cta, const Warp &warp, const Operand &operand, unsigned lane,
                    int32_t pc, Finding &finding);
/// Reports the lanes of `active` in which a register that decides something has no value.
void reportUnset(Cta &cta, Warp &warp, const Operand &operand, int32_t pc, LaneMask active,
                 const char *what);

} // namespace tw::warpsim
#endif
