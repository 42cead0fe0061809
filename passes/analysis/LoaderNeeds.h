// Operations that a loader, a warp that copies for the others, computes by itself: where it copies
// from, and whether its regions are reached.
#ifndef PASSES_ANALYSIS_LOADERNEEDS_H
#define PASSES_ANALYSIS_LOADERNEEDS_H
#include "ir/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tw {

/// Returns true if the operations inside of `root`, or programs that they wait for, may write what
/// the load reads.
bool mayBeOverwritten(tile::LoadOp load, mlir::Operation *root);

/// Returns true if the launches before this one are waited for here, so that no access moves up.
bool awaitsLaunches(mlir::Operation *op);

/// Returns true for a barrier at which the loader meets the program.
bool meetsLoader(mlir::Operation *op);
/// Returns true if a loader goes through an operation: regions of its own are inside, or such
/// barriers.
bool isForLoader(mlir::Operation *op);

/// Collects operations around loader regions. They can run in another warp, also again: scalars
/// without effects, what loops around the regions carry of them, and loads of scalars that the
/// kernel does not write.
class LoaderNeeds {
public:
  /// Adds what computes a value.
  void add(mlir::Value value);
  /// Adds what decides whether an operation is reached: loops and branches around it.
  void addControlOf(mlir::Operation *op);
  /// Adds all that a region takes from around, and what decides whether it is reached.
  void add(simt::LoaderOp loader);

  bool contains(mlir::Operation *op) const { return operations.contains(op); }
  /// Returns the numbers of a loop's carried values that are needed.
  llvm::SmallVector<unsigned> carriedOf(mlir::scf::ForOp loop) const;
  /// Why a loader cannot compute this; empty where it can.
  llvm::StringRef obstacle() const { return reason; }

private:
  void addCarried(mlir::BlockArgument argument);

  llvm::SetVector<mlir::Operation *> operations;
  llvm::SetVector<mlir::BlockArgument> carried; // by loops
  llvm::StringRef reason;
};

} // namespace tw
#endif
