// Halves of tiles by one bit of their elements' indices: how a tile that goes through shared memory
// in parts is taken apart, and put together again.
#ifndef PASSES_SIMT_SHARED_HALVES_H
#define PASSES_SIMT_SHARED_HALVES_H
#include "passes/simt/shared/Staging.h"

namespace tw::simt {

/// A tile's halves by one bit of its elements' indices: along a new last dimension of extent 2.
struct Halves {
  Halves(llvm::ArrayRef<int64_t> shape, unsigned dim, unsigned bit);
  /// The type of one half. Where the bit selects threads and not registers of `type`, each of them
  /// holds a copy of either half.
  mlir::Type halfType(mlir::Type type) const;
  /// Takes a tile of which the bit selects registers.
  std::pair<mlir::Value, mlir::Value> split(Staging &staging, mlir::Value tile) const;
  mlir::Value join(Staging &staging, mlir::Value first, mlir::Value second, mlir::Type type) const;

private:
  LinearLayout half(const LinearLayout &layout) const;

  llvm::SmallVector<int64_t> whole, divided; // shapes; the latter's dimension `two` is the bit
  llvm::SmallVector<int32_t> order, inverse; // of the divided shape: `two` last, and back
};

/// Halves that every thread has in different registers in both layouts: a move in halves takes the
/// instructions of a whole one. By the highest possible bit, so that neighbours stay together.
std::optional<Halves> halvesByRegisters(const LinearLayout &from, const LinearLayout &to);
/// The same, or else halves that different threads hold in layout `to`: each of those threads reads
/// both and keeps one.
std::optional<Halves> halvesBySource(const LinearLayout &from, const LinearLayout &to);

} // namespace tw::simt
#endif
