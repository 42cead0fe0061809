// The pass `verify-stage`: checks what holds between two stages of compilation, for tests and
// debugging.
#include "passes/Passes.h"
#include "passes/StageChecks.h"

namespace tw {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "passes/Passes.h.inc"
} // namespace tw

namespace {
struct VerifyStage : tw::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    if (failed(tw::verifyStage(getOperation(), stage)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
