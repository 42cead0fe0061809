// Releases, acquires and fences: whose accesses are known to whom.
#include "backend/warpsim/core/state/Ordering.h"

using namespace tw::warpsim;

Reach tw::warpsim::reachOf(Scope scope) {
  return scope == Scope::Cta || scope == Scope::Cluster ? Reach::Cta : Reach::Gpu;
}

static bool isReleasing(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::SeqCst;
}
static bool isAcquiring(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::SeqCst;
}

template <typename Use>
static void withObject(Cta &cta, const SyncPlace &place, bool creates, Use use) {
  SyncTable &global = cta.launch.released;
  std::map<uint64_t, SyncObject> &objects = place.isShared ? cta.released : global.objects;
  std::unique_lock<std::mutex> lock(global.mutex, std::defer_lock);
  if (!place.isShared) {
    if (creates)
      global.isUsed.store(true);
    else if (!global.isUsed.load())
      return;
    lock.lock();
  }
  auto found = objects.find(place.address);
  if (found == objects.end() && creates)
    found = objects.emplace(place.address, SyncObject()).first;
  if (found != objects.end())
    use(found->second);
}

/// A store that reads nothing ends what others have released; its thread's own releases before it
/// and it are one pattern.
static void endPatterns(SyncObject &object, uint64_t cta, uint64_t thread) {
  ScopedKnowledge own;
  if (auto found = object.byThread.find(thread); found != object.byThread.end())
    own = std::move(found->second);
  object = SyncObject();
  object.gpu = own.gpu;
  if (own.cta)
    object.byCta[cta] = own.cta;
  if (own.gpu || own.cta)
    object.byThread[thread] = std::move(own);
}

void tw::warpsim::orderBefore(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                              const SyncPlace &place) {
  if (!place.isShared && cta.launch.sync.interaction != Interaction::Ctas)
    return; // nobody can acquire it
  const FenceState *fence = warp.fences.empty() ? nullptr : &warp.fences[lane];
  Reach reach = place.isShared ? Reach::Gpu : reachOf(instruction.scope);
  bool isRelease = isReleasing(instruction.order), isStore = instruction.op == Op::St;
  bool releases = isRelease || (fence && fence->hasReleased);
  uint64_t thread = cta.slot << 10 | (warp.index * kWarpSize + lane);
  auto add = [&](SyncObject &object, const SharedKnowledge &known, Reach knownReach) {
    Reach least = std::min(reach, knownReach);
    bool isToAll = least == Reach::Gpu, isToCta = cta.launch.sync.hasCtaScope && !place.isShared;
    auto addTo = [&](SharedKnowledge &old) { old = joined(old, known); };
    if (isToAll)
      addTo(object.gpu);
    if (isToCta)
      addTo(object.byCta[cta.slot]);
    if (!cta.launch.sync.hasRelaxedStores)
      return;
    ScopedKnowledge &own = object.byThread[thread];
    if (isToAll)
      addTo(own.gpu);
    if (isToCta)
      addTo(own.cta);
  };
  withObject(cta, place, releases, [&](SyncObject &object) {
    if (isStore)
      endPatterns(object, cta.slot, thread);
    if (isRelease) {
      const Clocks &clocks = cta.clocksOf(place.isShared);
      add(object, clocks.snapshot(warp.index, lane).publish(), Reach::Gpu);
    } else if (releases) {
      add(object, fence->released.publish(), place.isShared ? Reach::Gpu : Reach::Cta);
      if (fence->hasReleasedToGpu)
        add(object, fence->releasedToGpu.publish(), Reach::Gpu);
    }
  });
  if (isRelease)
    cta.clocksOf(place.isShared).advance(warp.index); // what follows is not released
}

static bool reachesAll(const Instruction &instruction, const SyncPlace &place) {
  return place.isShared || reachOf(instruction.scope) == Reach::Gpu;
}

/// Learns of a release what an acquire of this scope may.
static void acquireFrom(Cta &cta, const Warp &warp, const Instruction &instruction, unsigned lane,
                        const SyncPlace &place, const ScopedKnowledge &released) {
  Clocks &clocks = cta.clocksOf(place.isShared);
  if (reachesAll(instruction, place))
    clocks.acquire(warp.index, lane, released.gpu);
  clocks.acquire(warp.index, lane, released.cta);
}

void tw::warpsim::orderAfter(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                             const SyncPlace &place) {
  Clocks &clocks = cta.clocksOf(place.isShared);
  withObject(cta, place, false, [&](SyncObject &object) {
    auto ofCta = object.byCta.find(cta.slot);
    ScopedKnowledge released = {object.gpu, ofCta == object.byCta.end() ? nullptr : ofCta->second};
    if (cta.launch.sync.hasUnreadAcquires)
      clocks.noteObserved(place.address, released);
    if (isAcquiring(instruction.order))
      return acquireFrom(cta, warp, instruction, lane, place, released);
    // A fence after a relaxed read makes it an acquire (PTX ISA, release and acquire patterns).
    if (reachesAll(instruction, place))
      clocks.see(warp.index, lane, released.gpu, place.isShared);
    clocks.see(warp.index, lane, released.cta, true);
  });
}

void tw::warpsim::orderUnobserved(Cta &cta, Warp &warp, const Instruction &instruction,
                                  unsigned lane, const SyncPlace &place) {
  if (isAcquiring(instruction.order))
    acquireFrom(cta, warp, instruction, lane, place,
                cta.clocksOf(place.isShared).observedAt(place.address));
}

/// PTX's fences go both ways; LLVM's may only acquire or only release.
static void fenceLane(Cta &cta, Warp &warp, unsigned lane, const Instruction &instruction) {
  FenceState &fence = warp.fences[lane];
  Clocks &clocks = cta.clocksOf(false);
  bool reachesGpu = reachOf(instruction.scope) == Reach::Gpu;
  if (instruction.order != Order::Release) {
    clocks.acquireSeen(warp.index, lane, reachesGpu);
    if (Clocks &ofShared = cta.clocksOf(true); &ofShared != &clocks)
      ofShared.acquireSeen(warp.index, lane, reachesGpu);
  }
  if (instruction.order == Order::Acquire)
    return;
  fence.released = clocks.snapshot(warp.index, lane);
  fence.hasReleased = true;
  if (!reachesGpu)
    return;
  fence.releasedToGpu = fence.released;
  fence.hasReleasedToGpu = true;
}

void tw::warpsim::executeFence(Cta &cta, Warp &warp, const Instruction &instruction,
                               LaneMask active) {
  if (instruction.op == Op::ProxyFence) {
    if (instruction.space != Space::Global)
      cta.proxyFences.fence(cta.clocks, warp.index, active);
    return;
  }
  if (warp.fences.empty())
    warp.fences.resize(kWarpSize);
  for (LaneMask rest = active; rest; rest &= rest - 1)
    fenceLane(cta, warp, unsigned(__builtin_ctz(rest)), instruction);
  // What follows the fence is not released by it.
  cta.clocksOf(false).advance(warp.index);
}

void tw::warpsim::notePoll(Warp &warp, int32_t pc, uint64_t value) {
  PollState &poll = warp.poll;
  unsigned slot = unsigned(pc) % poll.pc.size();
  bool isSame = poll.pc[slot] == pc && poll.seen[slot] == value;
  poll.pc[slot] = pc;
  poll.seen[slot] = value;
  poll.fruitless = isSame ? poll.fruitless + 1 : 0;
  if (!isSame)
    poll.turns = 0;
}
