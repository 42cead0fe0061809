// The pass `assign-layouts`: every tile gets a layout that suits its operation, as if accesses to
// memory did not matter; `coalesce-accesses` sees to them next.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Passes.h"
#include "passes/analysis/SourcePlace.h"
#include "passes/simt/extents/GrownTiles.h"
#include "passes/simt/layout/LayoutAssignment.h"
#include "llvm/ADT/STLExtras.h"

namespace tw {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Refuses extents that no layout can have, and tiles that no program can hold.
static LogicalResult checkExtents(Operation *op, Type type) {
  if (grows(tile::shapeOf(type)))
    return op->emitError("extents of layouts are powers of two: grow-extents comes first");
  if (tile::numElementsOf(type) <= kMaxElements)
    return success();
  InFlightDiagnostic error = emitCoded(placeOf(op), Code::TileExceedsMachine)
                             << "a tile of " << tile::numElementsOf(type)
                             << " elements is too large for this target";
  error.attachNote() << "the largest is of " << kMaxElements
                     << "; loop over smaller tiles, or launch more programs";
  return error;
}

static LogicalResult checkTypes(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    for (Type type : types)
      if (failed(checkExtents(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct AssignLayouts : tw::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkNumWarps(module, numWarps)) || failed(checkTypes(module)))
      return signalPassFailure();
    module->setAttr(kNumWarps, IntegerAttr::get(IntegerType::get(&getContext(), 32), numWarps));
    for (auto function : module.getOps<FunctionOpInterface>())
      if (!function.isExternal())
        assignLayouts(function, threadsOf(module), /*emitsRemarks=*/false);
  }
};
} // namespace
