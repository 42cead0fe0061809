// The operations on memory, one function for each group.
#ifndef BACKEND_WARPSIM_CORE_ACCESSES_H
#define BACKEND_WARPSIM_CORE_ACCESSES_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

// Load.cpp, Store.cpp, Atomics.cpp.
void executeLoad(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
void executeStore(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                  LaneMask active);
void executeAtomic(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                   LaneMask active);

// AsyncCopies.cpp.
void executeAsyncCopy(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                      LaneMask active);
void executeAsyncCommit(Cta &cta, Warp &warp, LaneMask active);
/// Starts the copies of a warp's rows of an array, of which all lanes give the same descriptor.
void executeTensorToShared(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                           LaneMask active);
/// Completes all groups of the lanes but the latest `numLeft`, or all of the warp's copies of rows
/// but these; with `isAll` everything.
void executeAsyncWait(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active,
                      bool isAll);
/// Between two instructions, under random completion: some copies move.
void moveSomeCopies(Cta &cta);

// AsyncChecks.cpp.
/// Reports copies that nobody has waited for when the CTA ends.
void reportAsyncLeaks(Cta &cta);
// ProductChecks.cpp.
/// The same of products, and reports warps that have left one to the others of their warpgroup.
void reportProductLeaks(Cta &cta);

} // namespace tw::warpsim
#endif
