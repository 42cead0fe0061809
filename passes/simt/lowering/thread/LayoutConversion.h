// Moves a tile's elements between the lanes of each warp.
#ifndef PASSES_SIMT_LOWERING_LAYOUTCONVERSION_H
#define PASSES_SIMT_LOWERING_LAYOUTCONVERSION_H
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// The registers of the tile in layout `to`; failure, without a diagnostic, where data would have
/// to move between warps.
mlir::FailureOr<Registers> convertWithinWarp(SimtFunction &f, llvm::ArrayRef<mlir::Value> registers,
                                             const LinearLayout &from, const LinearLayout &to);

} // namespace tw::simt
#endif
