// The scope of a block that is being written: what holds in it only.
#ifndef PASSES_SIMD_SCOPE_H
#define PASSES_SIMD_SCOPE_H
#include "passes/simd/SimdFunction.h"

namespace tw::simd {

/// At its end, values computed in the block and masks assumed in it are forgotten, and buffers free
/// their places.
class Scope {
public:
  explicit Scope(SimdFunction &f);
  /// Opens the scope of the body of a loop over vectors: uniform values are computed in front of
  /// it. `index` is the loop's index, or a constant if the loop has one step.
  Scope(SimdFunction &f, mlir::Value index);
  ~Scope();
  Scope(const Scope &) = delete;

private:
  SimdFunction &f;
  Memo memo;
  llvm::DenseSet<mlir::Value> assumedTrue;
  size_t numLevels;
  BufferPlaces::Taken places;
  size_t numOwned;
};

/// Emits the steps of [lower, upper) along a row as a loop, or where the row's masks end at a place
/// that only a launch knows (`withFullMasks` of a `rowStep`), as one to there without masks and one
/// behind it.
llvm::SmallVector<mlir::Value>
emitRowLoop(SimdFunction &f, int64_t lower, int64_t upper, int64_t step,
            llvm::ArrayRef<mlir::Value> carried,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

/// Emits a loop over [lower, upper), of `most` steps at most.
llvm::SmallVector<mlir::Value> emitLoopUpTo(
    SimdFunction &f, mlir::Value lower, mlir::Value upper, int64_t step, int64_t most,
    llvm::ArrayRef<mlir::Value> carried,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

/// Where a mask over a tile of a shape ends, computed here; of no mask, nowhere.
MaskEnds emitMaskEnds(SimdFunction &f, mlir::Value mask, llvm::ArrayRef<int64_t> shape);

/// Emits `then` or `otherwise` in the branches of a test, each with its own scope; yields a value
/// where there is a type.
mlir::Value choose(SimdFunction &f, mlir::Value test, mlir::Type type,
                   llvm::function_ref<mlir::Value()> then,
                   llvm::function_ref<mlir::Value()> otherwise);

/// The mask of an access at coordinates: a vector, or a scalar for all lanes; null where it is
/// known to take all.
mlir::Value evaluateMask(SimdFunction &f, mlir::Value mask, const Coordinates &at);
/// Emits `access` where such a mask takes any lane, as `choose`; without a test where that is
/// known.
mlir::Value ifTaken(SimdFunction &f, mlir::Value mask, mlir::Type type,
                    llvm::function_ref<mlir::Value()> access,
                    llvm::function_ref<mlir::Value()> otherwise);
/// Stores `value`, which is emitted where the mask takes an element only.
void storeToUser(SimdFunction &f, tile::StoreOp op, const Coordinates &at, bool isStreaming,
                 llvm::function_ref<mlir::Value()> value);

/// Returns true if a mask is known to be true here in the whole tile, not only at one position,
/// where it may be a constant.
bool isFullMask(SimdFunction &f, mlir::Value mask);

/// Returns true if vectors of a store may bypass the caches where they are aligned: the processor
/// traps on unaligned ones.
bool mayStream(SimdFunction &f, tile::StoreOp store, int vectorDim, int64_t lanes);
mlir::Value areAligned(SimdFunction &f, mlir::ValueRange addresses, int64_t bytes);

/// Returns true if a combining region can be applied to vectors: it has elementwise operations
/// only.
bool isVectorizable(mlir::Region &region);

} // namespace tw::simd
#endif
