// The parts of addresses that the iterations of a loop add for all threads.
#ifndef BACKEND_AMD_ADDRESSES_LOOPPROGRESS_H
#define BACKEND_AMD_ADDRESSES_LOOPPROGRESS_H
#include "mlir/IR/Builders.h"
#include <optional>

namespace tw::amd {

/// A number as a sum of two: what a loop has added to it for all threads since its first iteration,
/// of either sign, and the rest, which is about as near to memory as the first access.
struct LoopProgress {
  mlir::Value rest, above;
};

/// An access of a loop whose address the number is a part of.
struct LoopAccess {
  /// Returns true if the address that a loop's value leads to is in memory in the first iteration.
  llvm::function_ref<bool(mlir::BlockArgument value)> beginsAtOnce;
  /// Returns true if what a loop carries leads into memory by itself, without further steps.
  llvm::function_ref<bool(mlir::BlockArgument carried)> isAccessed;
  /// No part of the address is below 0, nor what a loop's value begins with.
  bool isForward;
};

/// None where no loop adds the same steps in each of its iterations. What the loop does not change
/// is computed before it, the rest at the builder's place.
std::optional<LoopProgress> progressOf(mlir::OpBuilder &builder, mlir::Value value,
                                       llvm::function_ref<bool(mlir::Value)> isUniform,
                                       const LoopAccess &access);

/// Computes numbers of 64 bits that loops carry, and whose addresses take their progress as above,
/// again where a loop has ended: nothing else is left of them in the loop.
void computeFinalValues(mlir::Operation *kernel, llvm::function_ref<bool(mlir::Value)> isUniform);

} // namespace tw::amd
#endif
