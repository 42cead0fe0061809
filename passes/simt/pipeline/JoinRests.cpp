// Makes loops whole again whose last iterations were split off for masks that copies of boxes do
// not need: what lies outside of an array is filled with zeros in all iterations.
#include "passes/simt/pipeline/JoinRests.h"
#include "ir/Diagnostic.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

/// Returns the loop of the iterations without masks, which a short loop goes on behind; null where
/// something else comes in between.
static scf::ForOp mainLoopOf(scf::ForOp rest) {
  if (!rest->hasAttr(tile::kLoopShort) || rest.getInitArgs().empty())
    return nullptr;
  auto main = rest.getInitArgs().front().getDefiningOp<scf::ForOp>();
  bool goesOn = main && main->getBlock() == rest->getBlock() &&
                main.getUpperBound() == rest.getLowerBound() && main.getStep() == rest.getStep() &&
                llvm::equal(main.getResults(), rest.getInitArgs()) &&
                llvm::all_of(main.getResults(), [](Value result) { return result.hasOneUse(); });
  return goesOn ? main : nullptr;
}

static bool isTileLoad(Operation *op) { return isa<LoadOp>(op) && tile::isTile(op->getResult(0)); }

/// Counts the operations on tiles, by name and shape, that what a loop yields and its effects need,
/// but for those that addresses and masks of loaded tiles are computed by.
static std::map<std::string, unsigned> workOf(scf::ForOp loop) {
  std::map<std::string, unsigned> work;
  llvm::SetVector<Operation *> needed;
  auto need = [&](Operation *op) {
    Operation *inBody = op ? loop.getBody()->findAncestorOpInBlock(*op) : nullptr;
    if (inBody)
      needed.insert(inBody);
  };
  need(loop.getBody()->getTerminator());
  for (Operation &op : *loop.getBody())
    if (!isMemoryEffectFree(&op) && !isTileLoad(&op))
      need(&op);
  for (size_t i = 0; i < needed.size(); ++i) // grows
    needed[i]->walk([&](Operation *op) {
      std::string name;
      llvm::raw_string_ostream text(name);
      text << op->getName();
      for (Value result : op->getResults())
        if (tile::isTile(result))
          llvm::interleave(tile::shapeOf(result.getType()), text << " ", "x");
      if (llvm::any_of(op->getResults(), tile::isTile))
        ++work[name];
      if (!isTileLoad(op))
        for (Value operand : op->getOperands())
          need(operand.getDefiningOp());
    });
  return work;
}

/// Returns true if all tiles that a loop loads are boxes, and masks only say where these end.
static bool needsNoMasks(scf::ForOp rest, scf::ForOp main, unsigned numStages) {
  ScopedDiagnosticHandler silent(rest.getContext(), [](mlir::Diagnostic &) { return success(); });
  std::optional<LoopPipeline> plan =
      planPipeline(rest, rest->hasAttr(tile::kLoopNumStages), numStages);
  if (!plan || !plan->isOfBoxes)
    return false;
  size_t numLoads = 0;
  rest->walk([&](Operation *op) { numLoads += isTileLoad(op); });
  return numLoads == plan->loads.size() && workOf(rest) == workOf(main);
}

bool tw::simt::joinRest(scf::ForOp rest, unsigned numStages) {
  scf::ForOp main = mainLoopOf(rest);
  if (!main || !needsNoMasks(rest, main, numStages))
    return false;
  rest.setLowerBound(main.getLowerBound());
  rest.getInitArgsMutable().assign(main.getInitArgs());
  rest->removeAttr(tile::kLoopShort);
  main.erase();
  emitCodedRemark(rest, Code::SplitLoop)
      << "one loop for all iterations: copies of boxes need no masks";
  return true;
}
