// The loaded kernels of this process, found by key, each compiled by one thread only.
#ifndef BACKEND_API_KERNELSTORE_H
#define BACKEND_API_KERNELSTORE_H
#include "backend/api/Compile.h"
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace tw::api {

/// Keeps the most recently used kernels. A kernel that a caller still holds lives on after it left.
class KernelStore {
public:
  explicit KernelStore(size_t maxKernels) : maxKernels(maxKernels) {}

  /// The kernel; or null when the calling thread is to make it, and to say so by `finish`. Waits
  /// while another thread makes it. `isOwner` is false when this very thread is making it already,
  /// further up its stack: then there is nothing to finish.
  std::shared_ptr<CompiledKernel> findOrBegin(const std::string &key, bool &isOwner);
  /// Ends what `findOrBegin` began: with the kernel, or with null when there is none to keep.
  void finish(const std::string &key, std::shared_ptr<CompiledKernel> kernel);
  void clear();

private:
  using Order = std::list<std::pair<std::string, std::shared_ptr<CompiledKernel>>>;

  const size_t maxKernels;
  std::mutex mutex; // guards everything below
  std::condition_variable finished;
  Order kernels; // most recently used first
  std::unordered_map<std::string, Order::iterator> byKey;
  std::unordered_map<std::string, std::thread::id> inProgress;
};

} // namespace tw::api
#endif
