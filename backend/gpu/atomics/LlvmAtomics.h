// Atomics that LLVM has an operation for, on global memory.
#ifndef BACKEND_GPU_ATOMICS_LLVMATOMICS_H
#define BACKEND_GPU_ATOMICS_LLVMATOMICS_H
#include "backend/gpu/ThreadLowering.h"

namespace mlir::LLVM {
enum class AtomicOrdering : uint64_t;
}

namespace tw::gpu {

/// The names that a code generator of LLVM has for scopes, by tile::MemoryScope.
struct ScopeNames {
  llvm::StringLiteral cta, gpu, system;
  llvm::StringRef of(tile::MemoryScope scope) const;
};

mlir::LLVM::AtomicOrdering orderingOf(tile::MemoryOrder order);
/// Returns the part of an ordering that applies to a load or a failed swap: it releases nothing.
mlir::LLVM::AtomicOrdering loadOrderingOf(tile::MemoryOrder order);

/// The element before an update of its kind, or before a compare-and-swap where something is
/// expected, by one operation of LLVM. The mask is not looked at.
mlir::Value emitLlvmAtomic(ThreadLowering &lowering, simt::AtomicOp op, const ScopeNames &scopes);
/// The word before a compare-and-swap of integers.
mlir::Value emitLlvmSwap(ThreadLowering &lowering, simt::AtomicOp op, mlir::Value address,
                         mlir::Value expected, mlir::Value desired, const ScopeNames &scopes);

} // namespace tw::gpu
#endif
