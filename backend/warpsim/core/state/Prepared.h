// Facts of a kernel's instructions that a launch looks up before it runs them.
#ifndef BACKEND_WARPSIM_CORE_PREPARED_H
#define BACKEND_WARPSIM_CORE_PREPARED_H
#include "backend/warpsim/core/memory/Memory.h"
#include "backend/warpsim/core/state/Interaction.h"

namespace tw::warpsim {

/// Decided once per instruction and launch.
struct Prepared {
  Handler handler = nullptr;   // of operations that core/ does not execute
  bool isPlain = false;        // has one, and no guard: nothing can go wrong or elsewhere
  bool touchesProduct = false; // reads or writes a register that some wgmma has
  SyncStep sync = SyncStep::None;
  Region *expected = nullptr; // the array that the address is derived from, when that is known
  const Variable *sharedVariable = nullptr; // the same of an address in shared memory
};

} // namespace tw::warpsim
#endif
