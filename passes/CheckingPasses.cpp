// The passes that check what holds between two stages of compilation: `verify-stage`, for tests and
// debugging, and `check-input`, before each pass where a user's text is its input.
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "passes/StageChecks.h"

namespace tw {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

namespace {
struct VerifyStage : tw::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    if (failed(verifyStage(getOperation(), stage)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct CheckInput : PassWrapper<CheckInput, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckInput)
  explicit CheckInput(StringRef input) : input(input) {}
  StringRef getArgument() const override { return "check-input"; }
  StringRef getDescription() const override { return "looks whether a pass can take the module"; }
  void runOnOperation() override {
    if (failed(checkInput(getOperation(), input)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
  StringRef input;
};
} // namespace

LogicalResult tw::addCheckedPasses(OpPassManager &pm, OpPassManager &passes,
                                   ArrayRef<PassInput> ofTargets) {
  for (Pass &pass : passes.getPasses()) {
    if (StringRef input = inputOf(pass.getArgument(), ofTargets); !input.empty())
      pm.addPass(std::make_unique<CheckInput>(input));
    std::string text; // passes cannot be copied from outside
    llvm::raw_string_ostream stream(text);
    pass.printAsTextualPipeline(stream);
    if (failed(parsePassPipeline(text, pm)))
      return failure();
  }
  return success();
}
