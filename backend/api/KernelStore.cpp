// The loaded kernels of this process, found by key, each compiled by one thread only.
#include "backend/api/KernelStore.h"
#include "runtime/Futex.h"
#include "runtime/Interrupts.h"

using namespace tw;
using namespace tw::api;

/// Between two questions whether to go on waiting.
static constexpr int kWaitMilliseconds = 50;

KernelStore::Turn KernelStore::findOrBegin(const std::string &key) {
  while (true) {
    const uint32_t seen = numFinished;
    {
      std::lock_guard lock(mutex);
      if (forkedAt != forkCount()) {
        forkedAt = forkCount();
        inProgress.clear(); // by threads of the parent
      }
      if (auto found = byKey.find(key); found != byKey.end()) {
        kernels.splice(kernels.begin(), kernels, found->second);
        return {.kernel = found->second->second};
      }
      auto [maker, isNew] = inProgress.try_emplace(key, std::this_thread::get_id());
      if (isNew || maker->second == std::this_thread::get_id())
        return {.kernel = nullptr, .isOwner = isNew};
    }
    {
      ForkShieldPause pause;
      sleepWhile(numFinished, seen, kWaitMilliseconds);
    }
    if (numFinished == seen && isInterrupted())
      return {.kernel = nullptr, .isInterrupted = true};
  }
}

void KernelStore::finish(const std::string &key, std::shared_ptr<CompiledKernel> kernel) {
  std::shared_ptr<CompiledKernel> evicted; // unloaded after the lock is released
  {
    std::lock_guard lock(mutex);
    inProgress.erase(key);
    if (auto other = byKey.find(key); kernel && other != byKey.end()) {
      evicted = std::move(other->second->second);
      kernels.erase(other->second);
    }
    if (kernel) {
      kernels.emplace_front(key, std::move(kernel));
      byKey[key] = kernels.begin();
    }
    if (kernels.size() > maxKernels) {
      evicted = std::move(kernels.back().second);
      byKey.erase(kernels.back().first);
      kernels.pop_back();
    }
  }
  ++numFinished;
  wakeAll(numFinished);
}

void KernelStore::clear() {
  Order dropped; // destroyed after `lock`: kernels unload without it
  std::lock_guard lock(mutex);
  byKey.clear();
  dropped.swap(kernels);
}
