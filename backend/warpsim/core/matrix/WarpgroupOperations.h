// The instructions of warpgroups: wgmma and its fences, groups and waits.
#ifndef BACKEND_WARPSIM_CORE_WARPGROUPOPERATIONS_H
#define BACKEND_WARPSIM_CORE_WARPGROUPOPERATIONS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

// WarpgroupProducts.cpp.
void executeWarpgroup(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                      LaneMask active);
/// Between two instructions, under random completion: some products are computed.
void computeSomeProducts(Cta &cta);

// ProductRegisters.cpp.
/// Checks an instruction beside wgmma that reads or writes registers which some wgmma has.
void checkTouch(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
/// Checks and records the registers of a product that the warp issues as number `number`.
void useRegisters(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                  uint32_t number);

} // namespace tw::warpsim
#endif
