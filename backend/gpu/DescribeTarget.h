// The pass `describe-target`, with which the passes of every GPU begin.
#ifndef BACKEND_GPU_DESCRIBETARGET_H
#define BACKEND_GPU_DESCRIBETARGET_H
#include "ir/target/Processor.h"
#include "ir/tile/Tile.h"
#include "mlir/Pass/Pass.h"
#include "runtime/Specialization.h"
#include <functional>

namespace tw::gpu {

/// The facts about a machine, and about the options of a launch, that the pass needs.
struct TargetDescription {
  std::string machine; // as reports call it
  std::function<tile::TargetAttr(mlir::MLIRContext &)> describe;
  /// Reports options of the launch that the machine cannot keep, on the kernel; may be null.
  std::function<mlir::LogicalResult(mlir::Operation *kernel)> checkOptions;
  unsigned numWarps;
  std::array<int64_t, 3> cluster = {1, 1, 1};        // programs along each axis of the grid
  std::optional<Processor> processor = std::nullopt; // none where passes trade nothing by it
  /// Describes the machine with more registers for each thread, for kernels that may choose; null:
  /// they may not.
  std::function<tile::TargetAttr(mlir::MLIRContext &)> describeLarger = nullptr;
};

/// Writes the machine's facts into the module, for all passes that follow, and reports a number of
/// warps that it cannot have.
std::unique_ptr<mlir::Pass> createDescribeTarget(TargetDescription description);

/// An option of launches that is a number in a range, with the words of its refusal.
struct LimitOption {
  llvm::StringLiteral name;
  unsigned least, most;
  const char *meaning; // between "cannot be kept:" and the numbers
  const char *unit;
};

/// The option by which a launch limits the registers of a thread.
inline constexpr llvm::StringLiteral kRegisterLimit = "maxnreg";

/// Reads the number of an option, 0 where it is not given; none where it is out of range.
std::optional<unsigned> numberOf(const CompileOptions &options, const LimitOption &option);

/// Reports an option that is out of range on a kernel.
mlir::LogicalResult checkLimit(const CompileOptions &options, const LimitOption &option,
                               mlir::Operation *kernel);

/// The warps of a program that are asked for; 0 where that is not a number of warps.
unsigned numWarpsOf(const CompileOptions &options);

} // namespace tw::gpu
#endif
