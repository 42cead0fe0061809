// The loaded kernels of this process, found by key, each compiled by one thread only.
#ifndef BACKEND_API_KERNELSTORE_H
#define BACKEND_API_KERNELSTORE_H
#include "backend/api/Compile.h"
#include "runtime/Forks.h"
#include <atomic>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace tw::api {

/// Keeps the most recently used kernels. A kernel that a caller still holds lives on after it left.
class KernelStore {
public:
  explicit KernelStore(size_t maxKernels) : maxKernels(maxKernels) {}

  struct Turn {
    std::shared_ptr<CompiledKernel> kernel; // null: the calling thread is to make it
    bool isOwner = false;                   // and to say so by `finish`
    bool isInterrupted = false;             // neither: nobody wants to wait for it any longer
  };
  /// Waits while another thread makes the kernel. Nobody owns it when this very thread is making it
  /// already, further up its stack: then there is nothing to finish.
  Turn findOrBegin(const std::string &key);
  /// Ends what `findOrBegin` began: with the kernel, or with null when there is none to keep.
  void finish(const std::string &key, std::shared_ptr<CompiledKernel> kernel);
  void clear();

private:
  using Order = std::list<std::pair<std::string, std::shared_ptr<CompiledKernel>>>;

  const size_t maxKernels;
  std::atomic<uint32_t> numFinished = 0; // changes whenever one is made
  std::mutex mutex;                      // guards everything below
  unsigned forkedAt = forkCount();
  Order kernels; // most recently used first
  std::unordered_map<std::string, Order::iterator> byKey;
  std::unordered_map<std::string, std::thread::id> inProgress;
};

} // namespace tw::api
#endif
