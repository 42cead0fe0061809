// The operations that are more than reading and writing registers, one function for each group.
#ifndef BACKEND_WARPSIM_CORE_OPERATIONS_H
#define BACKEND_WARPSIM_CORE_OPERATIONS_H
#include "backend/warpsim/core/Machine.h"

namespace tw::warpsim {

// Memory accesses (Load.cpp, Store.cpp) and atomics (Atomics.cpp).
void executeLoad(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
void executeStore(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                  LaneMask active);
void executeAtomic(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                   LaneMask active);
// Ordering.cpp.
void executeFence(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active);
/// A word that threads synchronize at: an address, or an offset in shared memory.
struct SyncPlace {
  uint64_t address = 0;
  bool isShared = false;
};
/// The effect of an access's order on who knows what: of a write before it is seen, of a read.
void orderBefore(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                 const SyncPlace &place);
void orderAfter(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                const SyncPlace &place);
/// The effect of the read of an atomic operation whose result nobody uses. Another order of the
/// operations would not be noticed, so that it teaches nothing, unless its CTA has read the place
/// before: then it comes after what that read has seen.
void orderUnobserved(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                     const SyncPlace &place);
/// Tells a spinning warp: `value` follows from all that it has read.
void notePoll(Warp &warp, int32_t pc, uint64_t value);
/// Reports the lanes of `active` in which a register that decides something has no value.
void reportUnset(Cta &cta, Warp &warp, const Operand &operand, int32_t pc, LaneMask active,
                 const char *what);

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
/// Takes the message of the first failed assertion out of the printed text; empty where none has
/// failed.
std::string takeFailedAssertion(std::string &printed);
/// Lanes that execute an operation together: they give one membermask. `members` are those of them
/// that it names.
struct MemberGroup {
  LaneMask lanes = 0, members = 0;
};
/// The next group of `rest`, which it is taken out of; `active` are all that execute it. Lanes may
/// give different masks in one instruction, a group each. What is wrong with a mask is reported.
MemberGroup takeGroup(Cta &cta, Warp &warp, const Operand &members, int32_t pc, LaneMask active,
                      LaneMask &rest);

} // namespace tw::warpsim
#endif
