// The pass `refuse-assembly`: says where a kernel has assembly text that this target cannot run.
#include "ir/tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_REFUSEASSEMBLY
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

namespace {
struct RefuseAssembly : tw::impl::RefuseAssemblyBase<RefuseAssembly> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([](tile::InlineAsmOp op) {
      InFlightDiagnostic error =
          op.emitError("[TW0301] inline assembly is for GPUs: this target does not run its text");
      error.attachNote() << "write the operation with functions of the language, such as shifts, "
                            "x.to(dtype, bitcast=True) and tw.libdevice, or launch the kernel on "
                            "a GPU or its simulator";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
