// Releases, acquires and fences: whose accesses are known to whom.
#include "backend/warpsim/core/Operations.h"

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
  if (!own.cta.empty())
    object.byCta[cta] = own.cta;
  if (!own.gpu.empty() || !own.cta.empty())
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
  auto add = [&](SyncObject &object, const Knowledge &known, Reach knownReach) {
    Reach least = std::min(reach, knownReach);
    bool isToAll = least == Reach::Gpu, isToCta = cta.launch.sync.hasCtaScope && !place.isShared;
    if (isToAll)
      join(object.gpu, known);
    if (isToCta)
      join(object.byCta[cta.slot], known);
    if (!cta.launch.sync.hasRelaxedStores)
      return;
    ScopedKnowledge &own = object.byThread[thread];
    if (isToAll)
      join(own.gpu, known);
    if (isToCta)
      join(own.cta, known);
  };
  withObject(cta, place, releases, [&](SyncObject &object) {
    if (isStore)
      endPatterns(object, cta.slot, thread);
    if (isRelease) {
      add(object, cta.clocksOf(place.isShared).snapshot(warp.index, lane), Reach::Gpu);
    } else if (releases) {
      add(object, fence->released.cta, place.isShared ? Reach::Gpu : Reach::Cta);
      if (fence->hasReleasedToGpu)
        add(object, fence->released.gpu, Reach::Gpu);
    }
  });
  if (isRelease)
    cta.clocksOf(place.isShared).advance(warp.index); // what follows is not released
}

void tw::warpsim::orderAfter(Cta &cta, Warp &warp, const Instruction &instruction, unsigned lane,
                             const SyncPlace &place) {
  bool reachesAll = place.isShared || reachOf(instruction.scope) == Reach::Gpu;
  withObject(cta, place, false, [&](SyncObject &object) {
    auto ofCta = object.byCta.find(cta.slot);
    bool hasOfCta = ofCta != object.byCta.end();
    if (isAcquiring(instruction.order)) {
      if (reachesAll)
        cta.clocksOf(place.isShared).acquire(warp.index, lane, object.gpu);
      if (hasOfCta)
        cta.clocksOf(place.isShared).acquire(warp.index, lane, ofCta->second);
      return;
    }
    // A fence after a relaxed read makes it an acquire (PTX ISA, release and acquire patterns).
    if (warp.fences.empty())
      warp.fences.resize(kWarpSize);
    FenceState &fence = warp.fences[lane];
    if (reachesAll)
      join(place.isShared ? fence.seen.cta : fence.seen.gpu, object.gpu);
    if (hasOfCta)
      join(fence.seen.cta, ofCta->second);
    fence.hasSeen = true;
  });
}

/// PTX's fences go both ways; LLVM's may only acquire or only release.
static void fenceLane(Cta &cta, Warp &warp, unsigned lane, const Instruction &instruction) {
  FenceState &fence = warp.fences[lane];
  Clocks &clocks = cta.clocksOf(false);
  Reach reach = reachOf(instruction.scope);
  if (fence.hasSeen && instruction.order != Order::Release) {
    clocks.acquire(warp.index, lane, fence.seen.cta);
    fence.seen.cta.clear();
    if (reach == Reach::Gpu) {
      clocks.acquire(warp.index, lane, fence.seen.gpu);
      fence.seen.gpu.clear();
    }
    fence.hasSeen = !fence.seen.gpu.empty();
  }
  if (instruction.order == Order::Acquire)
    return;
  fence.released.cta = clocks.snapshot(warp.index, lane);
  fence.hasReleased = true;
  if (reach != Reach::Gpu)
    return;
  fence.released.gpu = fence.released.cta;
  fence.hasReleasedToGpu = true;
}

void tw::warpsim::executeFence(Cta &cta, Warp &warp, const Instruction &instruction,
                               LaneMask active) {
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
