// A kernel with one matrix instruction, for tests of what a back end makes of it.
#ifndef TEST_UNIT_BACKEND_FRAGMENTKERNEL_H
#define TEST_UNIT_BACKEND_FRAGMENTKERNEL_H
#include "ir/tile/Tile.h"

namespace tw {

/// Returns a module whose kernel `k` loads operands, multiplies them and stores the sums.
std::string fragmentKernel(tile::MmaAttr instruction);

} // namespace tw
#endif
