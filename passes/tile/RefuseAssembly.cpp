// The pass `refuse-assembly`: says where a kernel has assembly text that this target cannot run, or
// calls a function of bitcode that it cannot link.
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_REFUSEASSEMBLY
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

static WalkResult refuse(Operation *op, const Twine &message, const Twine &hint) {
  InFlightDiagnostic error = emitCoded(op, Code::UnsupportedOperation) << message;
  error.attachNote() << hint;
  return WalkResult::interrupt();
}

static WalkResult refuseText(tile::InlineAsmOp op) {
  return refuse(op, "inline assembly is for GPUs: this target does not run its text",
                "write the operation with functions of the language, such as shifts, "
                "x.to(dtype, bitcast=True) and tw.libdevice, or launch the kernel on "
                "a GPU or its simulator");
}

namespace {
struct RefuseAssembly : tw::impl::RefuseAssemblyBase<RefuseAssembly> {
  using RefuseAssemblyBase::RefuseAssemblyBase;

  WalkResult check(tile::ExternCallOp call) {
    if (!linksBitcode)
      return refuse(call, "this target links no bitcode",
                    "launch the kernel on a GPU, its simulator or the CPU");
    // Here elements are computed where they are used, maybe twice.
    if (!call.getIsPure())
      return refuse(call, "functions of bitcode that are not pure are for GPUs",
                    "pass is_pure=True if the result depends on the arguments alone");
    return WalkResult::advance();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (auto text = dyn_cast<tile::InlineAsmOp>(op))
        return refuseText(text);
      if (auto call = dyn_cast<tile::ExternCallOp>(op))
        return check(call);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
