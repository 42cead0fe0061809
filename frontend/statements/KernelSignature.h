// From a kernel's parameters to the function that is emitted.
#ifndef FRONTEND_KERNELSIGNATURE_H
#define FRONTEND_KERNELSIGNATURE_H
#include "frontend/emit/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tw {

/// The parameters of the kernel as arguments of a new func.func; the frame to emit it in.
mlir::FailureOr<mlir::func::FuncOp> emitSignature(Emitter &emitter, mlir::ModuleOp module,
                                                  llvm::ArrayRef<ArgumentSpec> arguments,
                                                  std::vector<int> &parameterSources);

} // namespace tw
#endif
