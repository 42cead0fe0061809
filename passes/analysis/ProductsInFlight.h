// Which products that run by themselves are in flight where, and where somebody has to wait for
// them.
#ifndef PASSES_ANALYSIS_PRODUCTSINFLIGHT_H
#define PASSES_ANALYSIS_PRODUCTSINFLIGHT_H
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tw {

/// A wait until at most `pending` products are in flight. The accumulators are those that are not
/// and whose values are needed afterwards.
struct ProductWait {
  unsigned pending = 0;
  llvm::SmallVector<mlir::Value> accumulators;
};

/// A kernel lacks these: waits, by the operation that each is to stand before, and the
/// operations that a fence is to stand before.
struct ProductNeeds {
  llvm::MapVector<mlir::Operation *, ProductWait> waits;
  llvm::SetVector<mlir::Operation *> fences;
};

/// Finds where accumulators are needed, or buffers and registers overwritten, of products in
/// flight, and where products may read what threads wrote and did not fence. Barriers are in place.
ProductNeeds missingWaits(mlir::func::FuncOp kernel);
/// Reports the first operation of a kernel that lacks a wait or a fence.
mlir::LogicalResult
checkProductsInFlight(mlir::func::FuncOp kernel,
                      llvm::function_ref<mlir::InFlightDiagnostic(mlir::Operation *)> report);

} // namespace tw
#endif
