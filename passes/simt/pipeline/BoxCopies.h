// Loads whose tiles are boxes of strided arrays, which a machine copies to shared memory by itself.
#ifndef PASSES_SIMT_PIPELINE_BOXCOPIES_H
#define PASSES_SIMT_PIPELINE_BOXCOPIES_H
#include "ir/layout/OperandSlabs.h"
#include "ir/simt/Simt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/analysis/IndexFacts.h"
#include "passes/analysis/StridedTile.h"

namespace tw::simt {

/// The array that a tile is a box of, and where the box begins.
struct BoxSource {
  TensorMapAttr map;
  llvm::SmallVector<Polynomial> coordinates; // the innermost dimension first
};

/// Reads a load as that of a box, which lies in `slabs`; none where it is not known to be one, for
/// the reason in `obstacle`. A launch still refuses arrays that no map describes.
std::optional<BoxSource> boxSourceOf(const IndexFacts &facts, tile::LoadOp load,
                                     const OperandSlabs &slabs, llvm::StringRef &obstacle);

/// Emits a coordinate in 32 bits.
mlir::Value emitCoordinate(mlir::OpBuilder &builder, mlir::Location loc,
                           const Polynomial &coordinate);

/// Returns the number of a tensor map, which the module has from now on.
int32_t addTensorMap(mlir::ModuleOp module, TensorMapAttr map);

/// Makes a phase barrier for each slot of a ring, at which `count` threads arrive.
mlir::Value makePhases(mlir::OpBuilder &builder, mlir::Location loc, unsigned numSlots,
                       unsigned count);

} // namespace tw::simt
#endif
