// Loads of a loop whose tiles warps copy as rows of an array.
#ifndef PASSES_SIMT_PIPELINE_PLANARRAYS_H
#define PASSES_SIMT_PIPELINE_PLANARRAYS_H
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/layout/BufferChoice.h"

namespace tw::simt {

/// A tile that is a box of an array whose rows run along `dim`, and its buffer.
struct ArrayRows {
  BoxPlace place;
  unsigned dim;
  SharedType buffer;
};

/// Reads a load as that of a box of rows, which others may read from a buffer at no higher cost
/// than from one that lanes fill; none for the reason in `obstacle`.
std::optional<ArrayRows> rowsOfLoad(const IndexFacts &facts, const BufferChoice &buffers,
                                    tile::LoadOp load, llvm::StringRef &obstacle);
/// Emits what `array_copy` needs to know of the array and of the place in it, in front of the loop
/// what this does not change.
llvm::SmallVector<mlir::Value> emitRows(mlir::scf::ForOp loop, tile::LoadOp load,
                                        const ArrayRows &rows);

} // namespace tw::simt
#endif
