// The order in which the programs of a grid begin, where a launch asks for another than the grid's.
#ifndef BACKEND_GPU_PROGRAMORDER_H
#define BACKEND_GPU_PROGRAMORDER_H
#include "mlir/IR/Value.h"
#include "runtime/Specialization.h"
#include <optional>

namespace tw::gpu {

struct ThreadLowering;

/// The option of launches, for `TargetFacts::options`: "xcd", or a number of rows.
inline constexpr llvm::StringLiteral kSwizzlePrograms = "swizzle_programs";

/// The order of programs. A GPU begins them in the order of the grid, the first axis innermost.
struct ProgramOrder {
  /// Each die of a GPU of so many, to which the hardware deals programs in turn, gets neighbours.
  unsigned dies = 1;
  /// So many programs along the first axis take the whole second axis before the next ones begin,
  /// so that those which run at once form a block; 0: all of them.
  unsigned rows = 0;
};

/// Reads the option of a launch on a GPU of `numDies`; none where there is no such order.
std::optional<ProgramOrder> programOrderOf(const CompileOptions &options, unsigned numDies = 1);

/// Reports an order that there is not, and one for programs that wait for each other, at the wait.
mlir::LogicalResult checkProgramOrder(const CompileOptions &options, mlir::Operation *kernel,
                                      unsigned numDies = 1);

/// Gives a number of the grid along an axis.
using ReadGrid = llvm::function_ref<mlir::Value(unsigned axis)>;

/// Returns the number along an axis of the program that a group of threads runs: `place` is the
/// group's own number, `count` how many there are.
mlir::Value programInOrder(ThreadLowering &lowering, unsigned axis, ReadGrid place, ReadGrid count);

} // namespace tw::gpu
#endif
