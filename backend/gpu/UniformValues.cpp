// Which values all threads of a program have in common: all but those that differ by thread, come
// from memory or other lanes, or are computed from such values or where they decide the way.
#include "backend/gpu/UniformValues.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

namespace {
/// Spreads from the values that differ until nothing changes.
struct Spreading {
  llvm::DenseSet<Value> differ;
  bool hasChanged = false;

  bool anyDiffers(ValueRange values) const {
    return llvm::any_of(values, [&](Value value) { return differ.contains(value); });
  }
  void mark(Value value) { hasChanged |= differ.insert(value).second; }
  void markAll(ValueRange values) {
    for (Value value : values)
      mark(value);
  }

  void visitFor(scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    bool hasBounds = anyDiffers({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    if (hasBounds)
      mark(loop.getInductionVar());
    for (auto [init, carried, yielded, result] : llvm::zip(
             loop.getInitArgs(), loop.getRegionIterArgs(), yield.getOperands(), loop.getResults()))
      if (hasBounds || anyDiffers({init, yielded})) {
        mark(carried);
        mark(result);
      }
  }
  void visitIf(scf::IfOp branch) {
    bool isSplit = anyDiffers(branch.getCondition());
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!region->empty())
        for (auto [yielded, result] :
             llvm::zip(region->front().getTerminator()->getOperands(), branch.getResults()))
          if (isSplit || anyDiffers(yielded))
            mark(result);
  }
  void visitWhile(scf::WhileOp loop) {
    if (!anyDiffers(loop.getInits()) && !anyDiffers(loop.getConditionOp()->getOperands()) &&
        !anyDiffers(loop.getYieldOp().getOperands()))
      return;
    markAll(loop.getBeforeArguments());
    markAll(loop.getAfterArguments());
    markAll(loop.getResults());
  }
  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return visitFor(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return visitIf(branch);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return visitWhile(loop);
    bool isSame = isa<simt::ProgramIdOp, simt::NumProgramsOp>(op) ||
                  (isPure(op) && op->getNumRegions() == 0 &&
                   !isa<simt::ThreadIdOp, simt::ShuffleOp, simt::MmaFragmentOp>(op) &&
                   !anyDiffers(op->getOperands()));
    if (!isSame)
      markAll(op->getResults());
  }
};
} // namespace

UniformValues::UniformValues(Operation *kernel) {
  Spreading spreading;
  do {
    spreading.hasChanged = false;
    kernel->walk([&](Operation *op) {
      if (op != kernel)
        spreading.visit(op);
    });
  } while (spreading.hasChanged);
  auto add = [&](ValueRange values) {
    for (Value value : values)
      if (!spreading.differ.contains(value))
        uniform.insert(value);
  };
  kernel->walk([&](Operation *op) {
    add(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  });
}
