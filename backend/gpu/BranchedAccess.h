// Accesses of global memory by LLVM's loads and stores, in a branch where a mask leaves out
// threads.
#ifndef BACKEND_GPU_BRANCHEDACCESS_H
#define BACKEND_GPU_BRANCHEDACCESS_H
#include "backend/gpu/ThreadLowering.h"

namespace tw::gpu {

/// Returns true if the data is used once, so that it need not stay in the caches.
bool isStreamed(tile::CacheModifier cache, tile::EvictionPolicy evict);
/// Returns true if the load must read memory anew each time.
bool isVolatile(simt::GlobalLoadOp op);

/// Threads whose mask is false access nothing. Both leave the operation to be erased.
void lowerLoadByBranch(ThreadLowering &lowering, simt::GlobalLoadOp op);
void lowerStoreByBranch(ThreadLowering &lowering, simt::GlobalStoreOp op);

} // namespace tw::gpu
#endif
