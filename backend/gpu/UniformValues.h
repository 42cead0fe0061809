// Which values all threads of a program have in common.
#ifndef BACKEND_GPU_UNIFORMVALUES_H
#define BACKEND_GPU_UNIFORMVALUES_H
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace tw::gpu {

/// The uniform values of a kernel at the stage lowered. Values that are made later count as
/// different.
class UniformValues {
public:
  explicit UniformValues(mlir::Operation *kernel);
  bool contains(mlir::Value value) const { return uniform.contains(value); }

private:
  llvm::DenseSet<mlir::Value> uniform;
};

} // namespace tw::gpu
#endif
