// Tiles whose extents are not powers of two, inside of tiles whose extents are, for pad-extents.
#ifndef PASSES_SIMT_PADDING_PADDEDTILES_H
#define PASSES_SIMT_PADDING_PADDEDTILES_H
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tw::simt {

/// Elements of a tile that a program of many threads can hold in registers at all.
inline constexpr int64_t kMaxElements = int64_t(1) << 20;

/// Each extent made the next power of two.
llvm::SmallVector<int64_t> paddedShape(llvm::ArrayRef<int64_t> extents);
/// Returns true if any extent is not a power of two.
bool needsPadding(llvm::ArrayRef<int64_t> extents);

/// Which elements of a padded tile the kernel knows: all indices are below `extents`, or only the
/// one along `axis`. A tile of truth values of the padded shape; null where all elements are.
mlir::Value realElements(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<int64_t> extents,
                         std::optional<unsigned> axis = std::nullopt);

/// The mask, and only elements that are real; either may be null.
mlir::Value both(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value mask, mlir::Value real);

/// A tile with one value in all elements.
mlir::Value uniformTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypedAttr value,
                        llvm::ArrayRef<int64_t> shape);

/// The tile where `real` is true, elsewhere `fill`.
mlir::Value fillPadding(mlir::OpBuilder &builder, mlir::Value tile, mlir::Value real,
                        mlir::TypedAttr fill);

/// Returns true if a reshape of tiles with these extents is also a reshape of the padded tiles:
/// only the first extents of what is split or merged are not powers of two.
bool reshapesPadded(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// For each element of a padded tile, in row-major order, its row-major index among the real ones;
/// anything for the padding. 1-D, of i32.
mlir::Value realIndices(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<int64_t> extents);

/// A padded tile of extents `from` under the extents `to`, by moving elements. Every padding
/// element of the result is a copy of a real element.
mlir::Value moveElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
                         llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// The extents that the kernel gave to tiles, by which of their values were padded since.
class Extents {
public:
  /// Pads the types of all values in a function.
  explicit Extents(mlir::FunctionOpInterface function);
  bool isEmpty() const { return ofPadded.empty(); }
  bool isPadded(mlir::Value value) const { return ofPadded.contains(value); }
  /// As the kernel has them; empty for a scalar.
  llvm::ArrayRef<int64_t> of(mlir::Value value) const {
    auto found = ofPadded.find(value);
    return found == ofPadded.end() ? tile::shapeOf(value.getType()) : found->second.getShape();
  }
  /// Replaces the operation by values that stand for its results, padding included.
  void replace(mlir::Operation *op, mlir::ValueRange values);

private:
  llvm::DenseMap<mlir::Value, mlir::RankedTensorType> ofPadded;
};

/// Makes reductions and scans of padded tiles combine real elements only.
void padReduce(tile::ReduceOp op, Extents &extents);
void padScan(tile::ScanOp op, Extents &extents);

} // namespace tw::simt
#endif
