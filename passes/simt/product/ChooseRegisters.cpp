// The pass `choose-registers`: kernels whose products take more registers than a thread has get the
// larger file, on machines that have two.
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/simt/LayoutRules.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_CHOOSEREGISTERS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Sends the data of a module through shared memory, without a word: operands that are read from
/// there take registers for one step of a product only.
static LogicalResult stage(ModuleOp module) {
  ScopedDiagnosticHandler silent(module.getContext(), [](mlir::Diagnostic &) { return success(); });
  PassManager pm(module.getContext());
  addStagingPasses(pm);
  return pm.run(module);
}

/// Returns the registers that a loop with products takes, 0 for others.
static unsigned registersOfProducts(scf::ForOp loop) {
  bool hasProduct = loop->walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return hasProduct ? registersIn(loop) + registersOfOperands(loop) : 0;
}

static void chooseRegisters(ModuleOp module) {
  auto larger = module->getAttrOfType<tile::TargetAttr>(kLargerTargetAttribute);
  tile::TargetAttr target = targetOf(module);
  if (!larger || !target)
    return;
  module->removeAttr(kLargerTargetAttribute);
  if (threadsOf(module).count() / target.getWarpSize() > larger.getMaxWarps())
    return;
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(stage(*copy)))
    return; // the pass that fails says so when it runs on the module itself
  scf::ForOp largest;
  unsigned most = registersForLoops(target);
  copy->walk([&](scf::ForOp loop) {
    if (unsigned registers = registersOfProducts(loop); registers > most)
      largest = loop, most = registers;
  });
  if (!largest)
    return;
  module->setAttr(kTargetAttribute, larger);
  emitCodedRemark(largest, Code::LargeRegisterFile)
      << "a thread has " << larger.getRegisters() << " registers in place of "
      << target.getRegisters() << ", and half as many threads run at the same time: the tiles of "
      << "this loop take " << most;
}

namespace {
struct ChooseRegisters : tw::impl::ChooseRegistersBase<ChooseRegisters> {
  void runOnOperation() override { chooseRegisters(getOperation()); }
};
} // namespace
