// The named barriers of a CTA and the barrier of a warp's lanes.
#ifndef BACKEND_WARPSIM_CORE_BARRIERS_H
#define BACKEND_WARPSIM_CORE_BARRIERS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

void executeBarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                    LaneMask active);
/// Lets barriers go on that wait for nobody else than a warp of which lanes have exited.
void noteExit(Cta &cta, Warp &warp);
void executeWarpBarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                        LaneMask active);
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
