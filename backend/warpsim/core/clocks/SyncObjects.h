// What releases leave at an address, for acquires of it to learn (PTX ISA, memory consistency
// model).
#ifndef BACKEND_WARPSIM_CORE_SYNCOBJECTS_H
#define BACKEND_WARPSIM_CORE_SYNCOBJECTS_H
#include "backend/warpsim/core/clocks/Clocks.h"
#include <atomic>
#include <map>
#include <mutex>

namespace tw::warpsim {

/// The knowledge that the patterns released at an address that its last value ends. Atomic
/// operations continue them; a store ends them, except those of its own thread (release patterns on
/// one location).
struct SyncObject {
  SharedKnowledge gpu;
  std::map<uint64_t, SharedKnowledge> byCta;    // filled where a scope is a CTA
  std::map<uint64_t, ScopedKnowledge> byThread; // filled where stores are relaxed
};

/// Addresses that somebody released. Global ones are shared by CTAs; the lock guards the map,
/// `isUsed` says without it that there is an object.
struct SyncTable {
  std::mutex mutex;
  std::map<uint64_t, SyncObject> objects;
  std::atomic<bool> isUsed = false;
};

/// Keeps what a fence has released, which relaxed writes after it publish.
struct FenceState {
  Snapshot released, releasedToGpu;
  bool hasReleased = false, hasReleasedToGpu = false;
};

} // namespace tw::warpsim
#endif
