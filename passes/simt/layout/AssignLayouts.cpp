// The pass `assign-layouts`: every tile gets a layout that suits its operation. Before
// `coalesce-accesses`, as if accesses to memory did not matter; behind it, from their layouts.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Passes.h"
#include "passes/analysis/SourcePlace.h"
#include "passes/simt/layout/LayoutCost.h"
#include "passes/simt/padding/PaddedTiles.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

namespace tw {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Refuses extents that no layout can have, tiles that no program can hold, and layouts for other
/// programs.
static LogicalResult checkType(Operation *op, Type type, unsigned numWarps) {
  if (hasLayout(type) && layoutOf(type).size(Place::Warp) != numWarps)
    return op->emitError("[TW0318] '")
           << op->getName() << "' has a layout of " << layoutOf(type).size(Place::Warp)
           << " warps, not " << numWarps;
  if (needsPadding(tile::shapeOf(type)))
    return op->emitError("extents of layouts are powers of two: pad-extents comes first");
  if (tile::numElementsOf(type) <= kMaxElements)
    return success();
  InFlightDiagnostic error = emitCoded(placeOf(op), Code::TileExceedsMachine)
                             << "a tile of " << tile::numElementsOf(type)
                             << " elements is too large for this target";
  error.attachNote() << "the largest is of " << kMaxElements
                     << "; loop over smaller tiles, or launch more programs";
  return error;
}

static LogicalResult checkTypes(ModuleOp module, unsigned numWarps) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    for (Type type : types)
      if (failed(checkType(op, type, numWarps)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static void assignLayouts(FunctionOpInterface function, bool emitsRemarks) {
  LayoutChoice choice(function.getContext(), threadsOf(function));
  LayoutCost cost(function, choice);
  chooseLayouts(function, choice, cost);
  rewriteLayouts(function, choice, cost, emitsRemarks);
}

static void report(ConvertLayoutOp conversion) {
  Type type = conversion.getType();
  const LinearLayout &from = layoutOf(conversion.getSource().getType()), &to = layoutOf(type);
  if (to.registersFrom(from))
    return; // registers change their numbers, nothing moves
  emitCodedRemark(conversion, Code::LayoutConversion)
      << "conversion "
      << (to.isWithinWarpOf(from) ? "between the lanes of each warp" : "through shared memory")
      << " of " << tile::numElementsOf(type) * tile::elementBytes(tile::elementTypeOf(type))
      << " bytes";
}

namespace {
struct AssignLayouts : tw::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkNumWarps(module, numWarps)) || failed(checkTypes(module, numWarps)))
      return signalPassFailure();
    module->setAttr(kNumWarps, IntegerAttr::get(IntegerType::get(&getContext(), 32), numWarps));
    for (auto function : module.getOps<FunctionOpInterface>())
      if (!function.isExternal())
        assignLayouts(function, emitsRemarks);
    if (emitsRemarks)
      module.walk([](ConvertLayoutOp conversion) { report(conversion); });
  }
};
} // namespace
