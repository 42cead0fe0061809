// The pass `attach-target`: sets the module attribute that describes the machine.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_ATTACHTARGET
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

namespace {
struct AttachTarget : tw::impl::AttachTargetBase<AttachTarget> {
  using Base::Base;

  void runOnOperation() override {
    Attribute machine = parseAttribute(target, &getContext());
    if (!isa_and_nonnull<tile::TargetAttr, tile::SimdAttr>(machine)) {
      emitCoded(getOperation(), Code::UnfitText)
          << "`" << target << "` does not describe a machine";
      return signalPassFailure();
    }
    getOperation()->setAttr(kTargetAttribute, machine);
  }
};
} // namespace
