// An access, as far as races are concerned, and what it may be in a race with.
#ifndef BACKEND_WARPSIM_CORE_ACCESSOR_H
#define BACKEND_WARPSIM_CORE_ACCESSOR_H
#include "backend/warpsim/core/clocks/Clocks.h"

namespace tw::warpsim {

/// Who is ordered with whom without a barrier: strong accesses of a scope that includes both, of
/// exactly the same bytes (PTX ISA, "morally strong").
enum class Strength : uint8_t { Weak, Cta, Gpu };

/// The side of an access that all its lanes have in common.
struct Accessor {
  const Clocks *clocks = nullptr;
  uint32_t cta = 0; // not its number: its place among those that run, from 1
  unsigned warp = 0;
  int32_t pc = 0;
  bool isWrite = false;
  Strength strength = Strength::Weak;
  uint8_t logElementBytes = 0;  // a vector's elements are accesses of their own (PTX ISA)
  bool isProbe = false;         // only checked, not recorded
  bool maySeeOtherCtas = false; // what other CTAs did may be known to it
  bool isStale = false; // the last barrier orders nothing for it: it counts as before that, too
};

/// A race found: the lane that accesses now and the thread that did before.
struct Conflict {
  bool withWrite = false;     // the access before was a write
  bool withWeakWrite = false; // and not an atomic one
  unsigned lane = 0;
  uint32_t otherCta = 0; // as Accessor::cta
  unsigned otherWarp = 0, otherLane = 0;
  int32_t otherPc = -1;
};

} // namespace tw::warpsim
#endif
