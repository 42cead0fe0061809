// Tiles of loads and stores that are boxes of strided arrays: a machine copies them by itself,
// between those arrays and shared memory.
#ifndef PASSES_SIMT_BOXES_H
#define PASSES_SIMT_BOXES_H
#include "ir/layout/OperandSlabs.h"
#include "ir/simt/Simt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/analysis/IndexFacts.h"
#include "passes/analysis/StridedTile.h"

namespace tw::simt {

/// The array that a tile is a box of, and where the box begins.
struct BoxPlace {
  TensorMapAttr map;
  llvm::SmallVector<Polynomial> coordinates; // the innermost dimension first
  llvm::SmallVector<bool> hasExtent; // by dimension: else the kernel does not say where it ends
  /// No row of the tile is partly within the array: slabs can be a dimension of it.
  bool hasWholeRows = false;
};

/// Reads a load, whose masked elements are 0, as that of a box, which lies in `slabs`; none where
/// it is not known to be one, for the reason in `obstacle`. A launch still refuses arrays that no
/// map describes, as those whose strides are not multiples of 16 bytes.
std::optional<BoxPlace> boxOfLoad(const IndexFacts &facts, tile::LoadOp load,
                                  const OperandSlabs &slabs, llvm::StringRef &obstacle);
/// Reads a load of two dimensions as that of a box whose rows run along `dim`, however long these
/// are, in an array that needs no look by a launch: the map has no box.
std::optional<BoxPlace> boxOfRows(const IndexFacts &facts, tile::LoadOp load, unsigned dim,
                                  llvm::StringRef &obstacle);
/// The same of a store, or of an atomic whose result nobody uses.
std::optional<BoxPlace> boxOfStore(const IndexFacts &facts, mlir::Operation *store,
                                   const OperandSlabs &slabs, llvm::StringRef &obstacle);

/// Describes an array with a dimension more, over `numSlabs` slabs of `numRows` rows: one copy has
/// all of them. The machine compares the coordinates of a box with the extents one by one: where
/// rows of the tile are partly within the array, it would take the next row of the array for what
/// lies beyond. Null of one slab, and of rows that need several boxes.
TensorMapAttr mapOfSlabs(TensorMapAttr map, int64_t numSlabs, int64_t numRows);

/// Returns true if `later` may be executed after `op`, in the same iteration of the loops around
/// both or in a later one.
bool mayFollow(mlir::Operation *later, mlir::Operation *op);
/// Returns true if an operation may tell the program what others have written, or has effects that
/// nobody knows.
bool mayOrder(mlir::Operation *op);

/// Emits a coordinate in 32 bits, or in those of another type.
mlir::Value emitCoordinate(mlir::OpBuilder &builder, mlir::Location loc,
                           const Polynomial &coordinate, mlir::Type type = {});

/// Emits a number that a launch gives the kernel of `op`, in bits of `type`.
mlir::Value emitProduct(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op,
                        LaunchProductAttr product, mlir::Type type);

/// Emits the first element of a box's array, which begins where the box does along the dimensions
/// that `isInAddress`.
mlir::Value emitArrayStart(mlir::OpBuilder &builder, mlir::Operation *op, const BoxPlace &place,
                           llvm::function_ref<bool(size_t dim)> isInAddress);

/// Returns the number of a tensor map, which the module has from now on.
int32_t addTensorMap(mlir::ModuleOp module, TensorMapAttr map);

/// Makes a phase barrier for each slot of a ring, at which `count` threads arrive.
mlir::Value makePhases(mlir::OpBuilder &builder, mlir::Location loc, unsigned numSlots,
                       unsigned count);

} // namespace tw::simt
#endif
