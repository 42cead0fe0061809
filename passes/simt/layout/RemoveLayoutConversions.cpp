// The pass `remove-layout-conversions`: decides all layouts anew from those of accesses and
// products, and reports the conversions that remain.
#include "ir/Diagnostic.h"
#include "passes/Passes.h"
#include "passes/simt/layout/LayoutAssignment.h"

namespace tw {
#define GEN_PASS_DEF_REMOVELAYOUTCONVERSIONS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

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
struct RemoveLayoutConversions : tw::impl::RemoveLayoutConversionsBase<RemoveLayoutConversions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<FunctionOpInterface>())
      if (!function.isExternal())
        assignLayouts(function, threadsOf(module), /*emitsRemarks=*/true);
    module.walk([](ConvertLayoutOp conversion) { report(conversion); });
  }
};
} // namespace
