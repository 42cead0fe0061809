// What the iterations of a loop add to addresses, for scalar offsets.
#ifndef BACKEND_AMD_ADDRESSES_LOOPPROGRESS_H
#define BACKEND_AMD_ADDRESSES_LOOPPROGRESS_H
#include "mlir/IR/Builders.h"
#include <optional>

namespace tw::amd {

/// A number as a sum of two: what a loop adds to it for all threads, counted from the least that
/// this becomes, and the rest. Buffers take a scalar offset as an unsigned number, so that it may
/// not be below 0; the sign of a stride may be known only when the kernel runs.
struct LoopProgress {
  mlir::Value rest, above;
};

/// A predicate that returns true if the progress of a loop's value may be counted from the first
/// iteration. `isUp` says that nothing below 0 is added to the value. Other values are counted from
/// the last iteration.
using IsCounted = llvm::function_ref<bool(mlir::BlockArgument value, bool isUp)>;

/// None where no loop adds the same steps in each of its iterations. What the loop does not change
/// is computed before it, the rest at the builder's place.
std::optional<LoopProgress> progressOf(mlir::OpBuilder &builder, mlir::Value value,
                                       llvm::function_ref<bool(mlir::Value)> isUniform,
                                       IsCounted isCounted);

/// Computes numbers of 64 bits that loops carry, and whose addresses take their progress as above,
/// again where a loop has ended: nothing else is left of them in the loop.
void computeFinalValues(mlir::Operation *kernel, llvm::function_ref<bool(mlir::Value)> isUniform);

} // namespace tw::amd
#endif
