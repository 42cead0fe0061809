// Makes loops whole again whose last iterations were split off for masks that boxes do not need:
// what lies outside of an array is filled with zeros in all iterations.
#include "passes/simt/JoinRests.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/SplitLoops.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

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

size_t tw::simt::countTileLoads(scf::ForOp loop) {
  size_t count = 0;
  loop->walk([&](Operation *op) { count += isTileLoad(op); });
  return count;
}

bool tw::simt::joinRest(scf::ForOp rest, function_ref<bool()> needsNoMasks) {
  scf::ForOp main = mainLoopOf(rest);
  if (!main || !needsNoMasks() || workOf(rest) != workOf(main))
    return false;
  rest.setLowerBound(main.getLowerBound());
  rest.getInitArgsMutable().assign(main.getInitArgs());
  rest->removeAttr(tile::kLoopShort);
  main.erase();
  emitCodedRemark(rest, Code::SplitLoop)
      << "one loop for all iterations: boxes of arrays need no masks";
  return true;
}
