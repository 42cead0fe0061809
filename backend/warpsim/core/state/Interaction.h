// What a kernel's threads may tell each other outside of barriers, and at which instructions.
#ifndef BACKEND_WARPSIM_CORE_INTERACTION_H
#define BACKEND_WARPSIM_CORE_INTERACTION_H
#include "backend/warpsim/Program.h"

namespace tw::warpsim {

/// The steps of an instruction that other threads may wait for, or that may see what they did. An
/// atomic operation whose result nobody reads only publishes.
enum class SyncStep : uint8_t { None, Observe, Publish };

/// Who can see the order in which threads run: nobody, the warps of a CTA, or all CTAs.
enum class Interaction : uint8_t { None, Warps, Ctas };

struct Synchronization {
  Interaction interaction = Interaction::None;
  std::vector<SyncStep> steps; // by instruction; all None where nobody can see an order
  bool hasCtaScope = false;    // fences or accesses that order the threads of one CTA only
  bool hasRelaxedStores = false;
  bool hasUnreadAcquires = false; // atomic operations that acquire and whose results nobody reads
  bool ordersWithinCta = false;   // whether a fence that reaches its CTA only may order accesses
};

/// Looks at the kernel and at all functions that are not kernels: it may call them. Atomic
/// operations that commute, order nothing and whose results nobody reads leave the same memory in
/// any order; with nothing else, CTAs stay independent.
Synchronization findSynchronization(const Program &program, const Function &kernel);

} // namespace tw::warpsim
#endif
