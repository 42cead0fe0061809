// Decides the layout in which each tile exists by itself: forward from accesses and products,
// through the operations that follow their operands.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/layout/LayoutCost.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

namespace {
struct LayoutChooser {
  void chooseIn(Block &block);
  void chooseFor(Operation *op);
  void chooseLoop(scf::ForOp loop);
  void chooseWhile(scf::WhileOp loop);
  void chooseBranch(scf::IfOp branch);
  void chooseElementwise(Operation *op);
  void chooseShape(Operation *op);
  void chooseAtomic(tile::MemoryAccess op);
  void chooseReduce(ReduceOp op);
  void chooseScan(ScanOp op);
  /// Chooses the layout of carried tiles: that of the value computed in the loop, that of the first
  /// value, or one that a user wants.
  void chooseCarried(ValueRange inner, ValueRange first, ValueRange next);

  LayoutChoice &choice;
  LayoutCost &cost;
};
} // namespace

//===-- Operations ---------------------------------------------------------------------------===//

/// The operand whose layout makes the others cheapest to have in it decides.
void LayoutChooser::chooseElementwise(Operation *op) {
  LayoutAttr best;
  double bestCost = 0;
  for (Value candidate : op->getOperands()) {
    LayoutAttr layout = isTile(candidate) ? choice.ownOf(candidate) : nullptr;
    if (!layout)
      continue;
    double total = 0;
    for (Value operand : op->getOperands())
      if (isTile(operand))
        total += cost.costOf(operand, layout);
    if (!best || total < bestCost) {
      best = layout;
      bestCost = total;
    }
  }
  for (Value result : op->getResults())
    if (best || isRecomputable(op)) // what runs once cannot wait for its users' wishes
      choice.setOwn(result, best);
    else if (isTile(result))
      choice.setOwn(result, choice.plainOf(result));
}

void LayoutChooser::chooseReduce(ReduceOp reduce) {
  LayoutAttr layout = choice.workingFor(reduce.getSources());
  choice.setWorking(reduce, layout);
  LinearLayout kept = layout.getValue().withoutDim(reduce.getAxis()).withoutFreeRegisters();
  for (Value result : reduce.getResults())
    if (isTile(result))
      choice.setOwn(result, choice.attributeOf(kept));
}

void LayoutChooser::chooseScan(ScanOp scan) {
  LayoutAttr source = choice.workingFor(scan.getSources());
  LayoutAttr layout = choice.attributeOf(withoutWarpsAlong(source.getValue(), scan.getAxis()));
  choice.setWorking(scan, layout);
  for (Value result : scan.getResults())
    choice.setOwn(result, layout);
}

void LayoutChooser::chooseCarried(ValueRange inner, ValueRange first, ValueRange next) {
  for (auto [argument, init, yielded] : llvm::zip(inner, first, next)) {
    if (!isTile(argument) || choice.ownOf(argument))
      continue;
    LayoutAttr layout = choice.ownOf(yielded);
    if (!layout)
      layout = choice.ownOf(init);
    if (!layout)
      layout = choice.wantedOf(argument);
    choice.setOwn(argument, layout ? layout : choice.plainOf(argument));
  }
}

void LayoutChooser::chooseLoop(scf::ForOp loop) {
  // Carried tiles may stay in the layout that they come in.
  for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs())) {
    choice.forgetOwn(argument);
    choice.setOwn(argument, choice.ownOf(init));
  }
  chooseIn(*loop.getBody());
  for (Value argument : loop.getRegionIterArgs())
    choice.forgetOwn(argument);
  chooseCarried(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getYieldedValues());
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    choice.setOwn(result, choice.ownOf(argument));
  // Again, now that the carried tiles are known.
  cost.forgetCosts();
  chooseIn(*loop.getBody());
}

void LayoutChooser::chooseWhile(scf::WhileOp loop) {
  for (Value argument : loop.getBeforeArguments())
    choice.forgetOwn(argument);
  for (bool isDecided : {false, true}) {
    chooseIn(*loop.getBeforeBody());
    ValueRange passed = loop.getConditionOp().getArgs();
    for (auto [result, argument, value] :
         llvm::zip(loop.getResults(), loop.getAfterArguments(), passed)) {
      if (!isTile(value))
        continue;
      LayoutAttr layout = choice.ownOf(value);
      if (!layout)
        layout = choice.wantedOf(argument);
      if (!layout)
        layout = choice.plainOf(value);
      choice.setOwn(argument, layout);
      choice.setOwn(result, layout);
    }
    chooseIn(*loop.getAfterBody());
    if (!isDecided)
      chooseCarried(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp().getResults());
    cost.forgetCosts();
  }
}

void LayoutChooser::chooseBranch(scf::IfOp branch) {
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      chooseIn(block);
  if (branch.getNumResults() == 0)
    return;
  for (auto [result, yes, no] : llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                                          branch.elseYield().getResults())) {
    if (!isTile(result))
      continue;
    // The layout of matrix instructions is given; what is computed otherwise can be in others.
    bool isGiven = isa_and_nonnull<MmaOp>(no.getDefiningOp());
    LayoutAttr layout = choice.ownOf(isGiven ? no : yes);
    if (!layout)
      layout = choice.ownOf(no);
    if (!layout)
      layout = choice.wantedOf(result);
    choice.setOwn(result, layout ? layout : choice.plainOf(result));
  }
}

/// Chooses the layout that needs no data movement for an operation that moves elements to other
/// indices.
void LayoutChooser::chooseShape(Operation *op) {
  LayoutAttr operand;
  // A join does not work in every layout: it never waits for its users' wishes.
  if (isRecomputable(op) && op->getNumOperands() != 0 && isTile(op->getOperand(0)))
    operand =
        isa<JoinOp>(op) ? choice.workingFor(op->getOperand(0)) : choice.ownOf(op->getOperand(0));
  std::optional<LinearLayout> layout =
      operand ? resultLayout(op, operand.getValue()) : std::nullopt;
  for (Value result : op->getResults())
    if (layout)
      choice.setOwn(result, choice.attributeOf(*layout));
    else if (!isRecomputable(op) && isTile(result))
      choice.setOwn(result, choice.plainOf(result));
}

void LayoutChooser::chooseAtomic(tile::MemoryAccess op) {
  LayoutAttr layout = choice.workingOf(op);
  if (!layout && isTile(op.getPointers()))
    layout = choice.workingFor({op.getWrittenValue(), op.getPointers()});
  choice.setOwn(op->getResult(0), layout);
}

void LayoutChooser::chooseFor(Operation *op) {
  if (tile::isAtomic(op))
    return chooseAtomic(cast<tile::MemoryAccess>(op));
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp op) { chooseLoop(op); })
      .Case([&](scf::WhileOp op) { chooseWhile(op); })
      .Case([&](scf::IfOp op) { chooseBranch(op); })
      .Case([&](ReduceOp op) { chooseReduce(op); })
      .Case([&](ScanOp op) { chooseScan(op); })
      .Case([&](GatherOp op) {
        LayoutAttr layout = choice.workingFor(op.getIndices());
        choice.setWorking(op, layout);
        choice.setOwn(op.getResult(), layout);
      })
      .Case<DotOp, MmaOp, LoadBlocksOp>(
          [&](auto op) { choice.setOwn(op.getResult(), choice.workingOf(op)); })
      .Case([&](LoadOp op) {
        LayoutAttr layout = choice.workingOf(op);
        choice.setOwn(op.getResult(), layout ? layout : choice.plainOf(op.getResult()));
      })
      .Case<ConvertLayoutOp>([](auto) {})
      .Default([&](Operation *other) {
        isElementwise(other) ? chooseElementwise(other) : chooseShape(other);
      });
}

void LayoutChooser::chooseIn(Block &block) {
  for (Operation &op : block)
    chooseFor(&op);
}

void tw::simt::chooseLayouts(FunctionOpInterface function, LayoutChoice &choice, LayoutCost &cost) {
  LayoutChooser chooser{choice, cost};
  for (Block &block : function.getFunctionBody()) {
    for (BlockArgument argument : block.getArguments())
      if (isTile(argument))
        choice.setOwn(argument, choice.plainOf(argument));
    chooser.chooseIn(block);
  }
}
