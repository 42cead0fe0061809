// Decides for every tile value whether it is computed where it is used or kept in a buffer.
//
// A deferred value produces no code at its definition: each root (a store, reduction, dot, a kept
// value ...) that needs it evaluates its whole elementwise tree, one register tile at a time.
#ifndef PASSES_SIMD_TILEPLAN_H
#define PASSES_SIMD_TILEPLAN_H
#include "ir/tile/Tile.h"
#include "mlir/IR/Operation.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tw::simd {

class TilePlan {
public:
  TilePlan(mlir::Operation *function, const IndexFacts &facts);

  /// Returns true if the value lives in a buffer from its definition on.
  bool isKept(mlir::Value tile) const { return kept.contains(tile); }
  /// The operations that evaluate the value: roots that use it directly or through deferred values.
  const llvm::SmallSetVector<mlir::Operation *, 4> &sitesOf(mlir::Value tile) const;
  /// Returns true if an atomic may update whole vectors under a lock: every other atomic that may
  /// access the same memory takes the lock too.
  bool takesLocks(mlir::Operation *atomic) const { return locked.contains(atomic); }
  /// Returns true if a write may change what an operation reads while it evaluates its operands.
  bool mayChangeReads(mlir::Operation *write, mlir::Operation *reader) const;
  /// About how many instructions a vector of the value takes, behind what is kept.
  int64_t treeCost(mlir::Value tile);

private:
  /// How often a root evaluates a value, for each way in which it goes through its elements: the
  /// same element is computed once, however many paths lead to it.
  using Evaluations = llvm::SmallMapVector<std::pair<mlir::Operation *, unsigned>, int64_t, 2>;

  void decide(mlir::Value tile);
  void addUse(mlir::OpOperand &use, Evaluations &total);
  bool isUnitAddress(mlir::OpOperand &use);
  int64_t numEvaluations(mlir::Value tile) const;
  bool mustKeep(mlir::Value tile) const;
  bool isOvertakenByWrite(mlir::Operation *load);
  bool isDearerThanBuffer(mlir::Value tile);
  void chooseLocked(llvm::ArrayRef<mlir::Operation *> atomics);

  const IndexFacts &facts;
  llvm::DenseSet<mlir::Value> kept;
  llvm::DenseSet<mlir::Operation *> locked;
  llvm::DenseMap<mlir::Value, llvm::SmallSetVector<mlir::Operation *, 4>> sites;
  llvm::DenseMap<mlir::Value, Evaluations> evaluations;
  llvm::DenseMap<mlir::Value, int64_t> costs;
};

/// Returns true if every path from `root`'s operands to `leaf` through deferred values visits only
/// elementwise operations, so that the root reads exactly the element that it is computing.
bool readsOnlyOwnElement(mlir::Operation *root, mlir::Value leaf, const TilePlan &plan);
/// Returns true if the operation writes memory that the user can see.
bool writesUserMemory(mlir::Operation *op);
/// The dimension along which neighbours of an atomic's tile are neighbours in memory, if they can
/// be updated together; -1 if not.
int updatedDim(mlir::Operation *atomic, const IndexFacts &facts);
/// Returns true if the kernel only ever writes through a store's pointer, and writes more memory
/// than caches hold: such stores bypass the caches.
bool isStreamingStore(mlir::Operation *store);
/// Returns true if a load reads memory each time: volatile loads, and those that a program waits
/// with (".cv", "do not cache, fetch again").
bool isFetchedAgain(tile::LoadOp load);
/// About how many instructions an operation takes for a vector.
int64_t operationCost(mlir::Operation *op);
/// The kernel argument that a pointer is derived from; null when it cannot be told.
mlir::BlockArgument pointerArgument(mlir::Value pointer);

/// Walks the deferred tree of a value; `visit` gets each value with the tree's dimension behind
/// each of its own dimensions (-1: none). Nothing behind what `isLeaf` is walked.
void walkTree(mlir::Value root, llvm::function_ref<bool(mlir::Value)> isLeaf,
              llvm::SmallVector<int> dims, llvm::DenseSet<mlir::Value> &seen,
              llvm::function_ref<void(mlir::Value, llvm::ArrayRef<int>)> visit);
/// Returns the dimensions of the root of such a tree: its own.
llvm::SmallVector<int> identityDims(size_t rank);

} // namespace tw::simd
#endif
