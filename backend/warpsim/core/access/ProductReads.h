// What products in flight read in shared memory.
#ifndef BACKEND_WARPSIM_CORE_PRODUCTREADS_H
#define BACKEND_WARPSIM_CORE_PRODUCTREADS_H
#include "backend/warpsim/core/access/Addresses.h"
#include <span>

namespace tw::warpsim {

/// Checks the pieces of 16 bytes at these addresses of shared memory, which the product `number` of
/// the warp reads from now on: do they exist, have they a value, is what was written to them
/// ordered before, by barriers and proxy fences? Returns true if it is for all warps. `isFirst`:
/// no other warp of the warpgroup has checked them.
bool checkOperand(const MemoryStep &step, std::span<const uint32_t> addresses, uint32_t number,
                  bool isFirst);

} // namespace tw::warpsim
#endif
