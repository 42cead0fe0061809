// Decides the layout in which each tile exists by itself: forward from accesses and products,
// through the operations that follow their operands.
#include "passes/simt/layout/LayoutAssignment.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <functional>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static LayoutAttr layoutAttributeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : nullptr;
}

void LayoutAssignment::setNatural(Value tile, LayoutAttr layout) {
  if (isTile(tile) && layout)
    natural[tile] = layout;
}

LayoutAttr LayoutAssignment::fallbackOf(Value tile) {
  if (LayoutAttr given = layoutAttributeOf(tile.getType()))
    return given;
  return attributeOf(plainLayout(shapeOf(tile.getType()), threads));
}

LinearLayout tw::simt::layoutOfOperand(MmaOp mma, MmaOperand operand) {
  Value tile = operand == MmaOperand::A   ? mma.getA()
               : operand == MmaOperand::B ? mma.getB()
                                          : mma.getAcc();
  return mmaLayout(mma.getInstruction(), operand, shapeOf(tile.getType()), mma.getWarps(),
                   mma.getInterleave().value_or(ArrayRef<int64_t>()));
}

/// The layout that an access or a product has in the IR, or for a product the one that suits it.
LayoutAttr LayoutAssignment::anchorOf(Operation *op) {
  if (auto access = dyn_cast<MemoryAccess>(op)) {
    Value ptr = access.getPointers();
    return isTile(ptr) ? layoutAttributeOf(ptr.getType()) : nullptr;
  }
  if (auto mma = dyn_cast<MmaOp>(op))
    return attributeOf(layoutOfOperand(mma, MmaOperand::Accumulator));
  auto dot = dyn_cast<DotOp>(op);
  if (!dot)
    return nullptr;
  if (LayoutAttr given = layoutAttributeOf(dot.getType()))
    return given;
  return attributeOf(dotLayout(shapeOf(dot.getType()), threads));
}

/// The layout in which one user wants its operand.
static LayoutAttr wantedBy(LayoutAssignment &assignment, OpOperand &use,
                           function_ref<LayoutAttr(Value)> follow) {
  Operation *user = use.getOwner();
  if (isa<DotOp, MmaOp>(user) && use.getOperandNumber() != 2)
    return nullptr;
  if (LayoutAttr anchor = assignment.anchorOf(user))
    return anchor;
  if (isa<ConvertLayoutOp>(user))
    return follow(user->getResult(0));
  if (!isRecomputable(user))
    return nullptr;
  LayoutAttr result = assignment.naturalOf(user->getResult(0));
  if (!result)
    result = follow(user->getResult(0));
  std::optional<LinearLayout> needed =
      result ? operandLayout(user, result.getValue()) : std::nullopt;
  return needed ? assignment.attributeOf(*needed) : nullptr;
}

LayoutAttr LayoutAssignment::wantedOf(Value tile) {
  SmallPtrSet<Value, 16> seen;
  std::function<LayoutAttr(Value)> follow = [&](Value value) -> LayoutAttr {
    if (!seen.insert(value).second)
      return nullptr;
    for (OpOperand &use : value.getUses())
      if (LayoutAttr wanted = wantedBy(*this, use, follow))
        return wanted;
    return nullptr;
  };
  return follow(tile);
}

LayoutAttr LayoutAssignment::commonOf(ValueRange tiles) {
  for (Value tile : tiles)
    if (LayoutAttr layout = naturalOf(tile))
      return layout;
  for (Value tile : tiles)
    if (LayoutAttr wanted = wantedOf(tile))
      return wanted;
  return fallbackOf(tiles.front());
}

//===-- Operations ---------------------------------------------------------------------------===//

/// The operand whose layout makes the others cheapest to have in it decides.
void LayoutAssignment::chooseElementwise(Operation *op) {
  LayoutAttr best;
  double bestCost = 0;
  for (Value candidate : op->getOperands()) {
    LayoutAttr layout = isTile(candidate) ? naturalOf(candidate) : nullptr;
    if (!layout)
      continue;
    double cost = 0;
    for (Value operand : op->getOperands())
      if (isTile(operand))
        cost += costOf(operand, layout);
    if (!best || cost < bestCost) {
      best = layout;
      bestCost = cost;
    }
  }
  for (Value result : op->getResults())
    if (best || isRecomputable(op)) // what runs once cannot wait for its users' wishes
      setNatural(result, best);
    else if (isTile(result))
      setNatural(result, fallbackOf(result));
}

void LayoutAssignment::chooseReduce(ReduceOp reduce) {
  LayoutAttr layout = commonOf(reduce.getSources());
  workingLayout[reduce] = layout;
  LinearLayout kept = layout.getValue().withoutDim(reduce.getAxis()).withoutFreeRegisters();
  for (Value result : reduce.getResults())
    if (isTile(result))
      setNatural(result, attributeOf(kept));
}

void LayoutAssignment::chooseScan(ScanOp scan) {
  LayoutAttr source = commonOf(scan.getSources());
  LayoutAttr layout = attributeOf(withoutWarpsAlong(source.getValue(), scan.getAxis()));
  workingLayout[scan] = layout;
  for (Value result : scan.getResults())
    setNatural(result, layout);
}

void LayoutAssignment::chooseCarried(ValueRange inner, ValueRange first, ValueRange next) {
  for (auto [argument, init, yielded] : llvm::zip(inner, first, next)) {
    if (!isTile(argument) || naturalOf(argument))
      continue;
    LayoutAttr layout = naturalOf(yielded);
    if (!layout)
      layout = naturalOf(init);
    if (!layout)
      layout = wantedOf(argument);
    setNatural(argument, layout ? layout : fallbackOf(argument));
  }
}

void LayoutAssignment::chooseLoop(scf::ForOp loop) {
  for (Value argument : loop.getRegionIterArgs())
    natural.erase(argument);
  chooseIn(*loop.getBody());
  chooseCarried(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getYieldedValues());
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    setNatural(result, naturalOf(argument));
  // Again, now that the carried tiles are known.
  knownCosts.clear();
  chooseIn(*loop.getBody());
}

void LayoutAssignment::chooseWhile(scf::WhileOp loop) {
  for (Value argument : loop.getBeforeArguments())
    natural.erase(argument);
  for (bool isDecided : {false, true}) {
    chooseIn(*loop.getBeforeBody());
    ValueRange passed = loop.getConditionOp().getArgs();
    for (auto [result, argument, value] :
         llvm::zip(loop.getResults(), loop.getAfterArguments(), passed)) {
      if (!isTile(value))
        continue;
      LayoutAttr layout = naturalOf(value);
      if (!layout)
        layout = wantedOf(argument);
      if (!layout)
        layout = fallbackOf(value);
      setNatural(argument, layout);
      setNatural(result, layout);
    }
    chooseIn(*loop.getAfterBody());
    if (!isDecided)
      chooseCarried(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp().getResults());
    knownCosts.clear();
  }
}

void LayoutAssignment::chooseBranch(scf::IfOp branch) {
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      chooseIn(block);
  if (branch.getNumResults() == 0)
    return;
  for (auto [result, yes, no] : llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                                          branch.elseYield().getResults())) {
    if (!isTile(result))
      continue;
    LayoutAttr layout = naturalOf(yes);
    if (!layout)
      layout = naturalOf(no);
    if (!layout)
      layout = wantedOf(result);
    setNatural(result, layout ? layout : fallbackOf(result));
  }
}

void LayoutAssignment::chooseFor(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp op) { chooseLoop(op); })
      .Case([&](scf::WhileOp op) { chooseWhile(op); })
      .Case([&](scf::IfOp op) { chooseBranch(op); })
      .Case([&](ReduceOp op) { chooseReduce(op); })
      .Case([&](ScanOp op) { chooseScan(op); })
      .Case([&](GatherOp op) {
        workingLayout[op] = commonOf(op.getIndices());
        setNatural(op.getResult(), workingLayout[op]);
      })
      .Case<DotOp, MmaOp>([&](auto op) { setNatural(op.getResult(), anchorOf(op)); })
      .Case<LoadOp>([&](auto op) {
        LayoutAttr anchor = anchorOf(op);
        setNatural(op.getResult(), anchor ? anchor : fallbackOf(op.getResult()));
      })
      .Case<tile::AtomicRmwOp, tile::AtomicCasOp>([&](auto op) {
        LayoutAttr anchor = anchorOf(op);
        if (!anchor && isTile(op.getPtr()))
          anchor = commonOf({op.getValue(), op.getPtr()});
        setNatural(op.getResult(), anchor);
      })
      .Case<ConvertLayoutOp>([](auto) {})
      .Default([&](Operation *other) {
        if (isElementwise(other))
          return chooseElementwise(other);
        bool follows = isRecomputable(other) && other->getNumOperands() != 0;
        LayoutAttr operand;
        if (follows && isTile(other->getOperand(0)))
          // A join does not work in every layout: it never waits for its users' wishes.
          operand =
              isa<JoinOp>(other) ? commonOf(other->getOperand(0)) : naturalOf(other->getOperand(0));
        std::optional<LinearLayout> layout =
            operand ? resultLayout(other, operand.getValue()) : std::nullopt;
        for (Value result : other->getResults())
          if (layout)
            setNatural(result, attributeOf(*layout));
          else if (!isRecomputable(other) && isTile(result))
            setNatural(result, fallbackOf(result));
      });
}

void LayoutAssignment::chooseIn(Block &block) {
  for (Operation &op : block)
    chooseFor(&op);
}

void LayoutAssignment::choose() {
  for (Block &block : function.getFunctionBody()) {
    for (BlockArgument argument : block.getArguments())
      if (isTile(argument))
        setNatural(argument, fallbackOf(argument));
    chooseIn(block);
  }
}
