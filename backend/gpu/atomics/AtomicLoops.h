// Atomics that a machine has no instruction for, as loops of compare-and-swap.
#ifndef BACKEND_GPU_ATOMICS_ATOMICLOOPS_H
#define BACKEND_GPU_ATOMICS_ATOMICLOOPS_H
#include "backend/gpu/ThreadLowering.h"

namespace tw::gpu {

/// Emits one compare-and-swap of a word of 16, 32 or 64 bits; gives the word that was found.
using SwapEmitter =
    llvm::function_ref<mlir::Value(mlir::Value address, mlir::Value expected, mlir::Value desired)>;

/// The element before an update of any kind. The mask may be null; where it is false the result
/// is 0. `narrowest` is the size in bytes of the machine's narrowest compare-and-swap, 2 or 4:
/// smaller elements are parts of an aligned word of 32 bits.
mlir::Value emitAtomicLoop(ThreadLowering &lowering, simt::AtomicOp op, mlir::Value mask,
                           SwapEmitter swap, unsigned narrowest = 2);

/// Emits code in which only threads whose mask is true execute what `emit` builds; the others get
/// 0. The mask may be null.
mlir::Value emitMasked(ThreadLowering &lowering, mlir::Value mask, mlir::Type type,
                       llvm::function_ref<mlir::Value()> emit);

} // namespace tw::gpu
#endif
