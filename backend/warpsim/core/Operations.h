// The operations that are more than reading and writing registers, one function for each group.
#ifndef BACKEND_WARPSIM_CORE_OPERATIONS_H
#define BACKEND_WARPSIM_CORE_OPERATIONS_H
#include "backend/warpsim/core/Machine.h"

namespace tw::warpsim {

// Memory accesses (Load.cpp, Store.cpp), atomics and fences (Atomics.cpp).
void executeLoad(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
void executeStore(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                  LaneMask active);
void executeAtomic(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                   LaneMask active);
void executeFence(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active);
/// The effect of an access's order on who knows what.
void orderBefore(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                 uint64_t address, bool isShared);
void orderAfter(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                uint64_t address, bool isShared);
/// Reports the lanes of `active` in which a register that decides something has no value.
void reportUnset(Cta &cta, Warp &warp, const Operand &operand, int32_t pc, LaneMask active,
                 const char *what);
void notePoll(Warp &warp, int32_t pc, uint64_t value);

// Barriers.cpp, Shuffles.cpp, Specials.cpp, HostCalls.cpp.
void executeBarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                    LaneMask active);
/// Lets barriers go on that wait for nobody else than a warp of which lanes have exited.
void noteExit(Cta &cta, Warp &warp);
void executeWarpBarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                        LaneMask active);
void executeCollective(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                       LaneMask active);
void executeSpecial(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active);
void executeHostCall(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
/// The lanes named by an operand that holds a membermask, checked; those of `active` among them.
LaneMask checkMembers(Cta &cta, Warp &warp, const Instruction &instruction, const Operand &members,
                      int32_t pc, LaneMask active);

} // namespace tw::warpsim
#endif
