// The operations beside memory, barriers, matrices and waves, one function for each group.
#ifndef BACKEND_WARPSIM_CORE_OPERATIONS_H
#define BACKEND_WARPSIM_CORE_OPERATIONS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

// Shuffles.cpp, Specials.cpp, HostCalls.cpp.
void executeCollective(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                       LaneMask active);
void executeSpecial(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active);
void executeHostCall(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
/// Takes the message of the first failed assertion out of the printed text; empty where none has
/// failed.
std::string takeFailedAssertion(std::string &printed);

} // namespace tw::warpsim
#endif
