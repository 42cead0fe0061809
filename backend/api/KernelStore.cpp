// The loaded kernels of this process, found by key, each compiled by one thread only.
#include "backend/api/KernelStore.h"

using namespace tw;
using namespace tw::api;

std::shared_ptr<CompiledKernel> KernelStore::findOrBegin(const std::string &key, bool &isOwner) {
  std::unique_lock lock(mutex);
  isOwner = false;
  while (true) {
    if (auto found = byKey.find(key); found != byKey.end()) {
      kernels.splice(kernels.begin(), kernels, found->second);
      return found->second->second;
    }
    auto [maker, isNew] = inProgress.try_emplace(key, std::this_thread::get_id());
    isOwner = isNew;
    if (isNew || maker->second == std::this_thread::get_id())
      return nullptr;
    finished.wait(lock);
  }
}

void KernelStore::finish(const std::string &key, std::shared_ptr<CompiledKernel> kernel) {
  std::shared_ptr<CompiledKernel> evicted; // unloaded after the lock is released
  {
    std::lock_guard lock(mutex);
    inProgress.erase(key);
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
  finished.notify_all();
}

void KernelStore::clear() {
  Order dropped; // destroyed after `lock`: kernels unload without it
  std::lock_guard lock(mutex);
  byKey.clear();
  dropped.swap(kernels);
}
