// Which barriers of a kernel have to order accesses to global memory, too.
#ifndef BACKEND_AMD_GLOBALORDER_H
#define BACKEND_AMD_GLOBALORDER_H
#include "llvm/ADT/DenseSet.h"

namespace mlir {
class Operation;
}

namespace tw::amd {

/// The simt.barrier operations of a kernel at the stage lowered with an access to global memory on
/// one side that may meet a write on the other. The others order shared memory only.
llvm::DenseSet<mlir::Operation *> barriersOfGlobalMemory(mlir::Operation *kernel);

} // namespace tw::amd
#endif
