// Releases, acquires and fences: whose accesses are known to whom.
#ifndef BACKEND_WARPSIM_CORE_ORDERING_H
#define BACKEND_WARPSIM_CORE_ORDERING_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

/// How far an order reaches. A cluster is one CTA here.
enum class Reach : uint8_t { None, Cta, Gpu };
Reach reachOf(Scope scope);

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

/// Reports lanes of a launch that begins early which write global memory before they have waited
/// for the launches that may use it (LaunchOrder.cpp).
void noteLaunchOrder(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
/// Reports warps of a CTA that has ended which used global memory and never waited.
void reportLaunchOrder(Cta &cta);

} // namespace tw::warpsim
#endif
