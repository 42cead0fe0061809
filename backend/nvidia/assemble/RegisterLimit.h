// How many registers a thread may have, and what the assembler spilled to keep within that.
#ifndef BACKEND_NVIDIA_REGISTERLIMIT_H
#define BACKEND_NVIDIA_REGISTERLIMIT_H
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Artifact.h"
#include "runtime/Specialization.h"

namespace tw::nvidia {

/// The option `maxnreg=N`, or the share that its warps leave a thread where that is less; 0 where
/// it is not given, none where the assembler would not keep to it.
std::optional<unsigned> maxRegistersOf(const CompileOptions &options);

/// Reports that option on `place` if it cannot be kept.
mlir::LogicalResult checkMaxRegisters(const CompileOptions &options, mlir::Operation *place);

/// Emits remarks on the kernel about its machine code: registers that were spilled, and functions
/// of the assembler that it calls.
void reportMachineCode(mlir::ModuleOp lowered, const Artifact &artifact);

} // namespace tw::nvidia
#endif
