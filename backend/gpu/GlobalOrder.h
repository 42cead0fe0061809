// Which barriers of a kernel have to order accesses to global memory, too.
#ifndef BACKEND_GPU_GLOBALORDER_H
#define BACKEND_GPU_GLOBALORDER_H
#include "ir/tile/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir {
class Operation;
}

namespace tw::gpu {

/// The simt.barrier operations of a kernel at the stage lowered that order global memory, with the
/// scope to which each wave releases its writes before it: those with an access on one side that
/// may meet a write on the other, and those next to an atomic that releases or acquires. The others
/// order shared memory only.
llvm::DenseMap<mlir::Operation *, tile::MemoryScope>
barriersOfGlobalMemory(mlir::Operation *kernel);

} // namespace tw::gpu
#endif
