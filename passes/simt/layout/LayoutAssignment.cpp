// Makes every tile in the layouts that its users want, from the operations that must run where they
// stand: accesses, reductions, products, control flow.
#include "passes/simt/layout/LayoutAssignment.h"
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static bool hasTile(Operation *op) {
  return llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
}

LayoutAssignment::LayoutAssignment(FunctionOpInterface function, Threads threads)
    : function(function), context(function->getContext()), threads(threads), alignment(function),
      vectorBits(8 * machineOf(function).vectorBytes) {}

LayoutAttr LayoutAssignment::attributeOf(const LinearLayout &layout) {
  return LayoutAttr::get(context, layout);
}

Value LayoutAssignment::identify(Value tile) const {
  while (true) {
    if (Value origin = origins.lookup(tile))
      tile = origin;
    else if (auto conversion = tile.getDefiningOp<ConvertLayoutOp>())
      tile = conversion.getSource();
    else
      return tile;
  }
}

//===-- Versions -----------------------------------------------------------------------------===//

static void setLayout(Value tile, LayoutAttr layout) {
  tile.setType(withLayout(tile.getType(), layout.getValue()));
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue()).reshape(cast<ShapedType>(tile.getType())));
}

static void setLayoutOfResults(Operation *op, LayoutAttr layout) {
  for (Value result : op->getResults())
    if (isTile(result))
      setLayout(result, layout);
}

/// Gives a recomputable operation, or a load, its operands for results in `layout`.
void LayoutAssignment::setOperands(Operation *op, LayoutAttr layout) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTile(operand.get()))
      continue;
    LayoutAttr needed = layout;
    if (isRecomputable(op))
      needed = attributeOf(*operandLayout(op, layout.getValue()));
    operand.set(make(operand.get(), needed));
  }
}

void LayoutAssignment::retype(Operation *op, LayoutAttr layout) {
  if (!retyped.insert(op).second)
    return;
  setOperands(op, layout);
  setLayoutOfResults(op, layout);
}

Value LayoutAssignment::convert(Value tile, LayoutAttr layout) {
  if (Operation *op = tile.getDefiningOp(); op && isRecomputable(op))
    retype(op, naturalOf(tile));
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(tile);
  return ConvertLayoutOp::create(builder, tile.getLoc(),
                                 withLayout(tile.getType(), layout.getValue()), tile);
}

Value LayoutAssignment::recompute(Value tile, LayoutAttr layout) {
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(tile);
  Operation *op = tile.getDefiningOp(), *copy = builder.clone(*op);
  recomputed.push_back({op, user});
  for (auto [original, result] : llvm::zip(op->getResults(), copy->getResults())) {
    origins[result] = original;
    versions[{original, layout}] = result;
  }
  retype(copy, layout);
  return versions[{tile, layout}];
}

Value LayoutAssignment::make(Value tile, LayoutAttr layout) {
  tile = identify(tile);
  Operation *op = tile.getDefiningOp();
  if (!naturalOf(tile) && op && isRecomputable(op))
    for (Value result : op->getResults())
      setNatural(result, layout);
  if (naturalOf(tile) == layout) {
    if (op && isRecomputable(op))
      retype(op, layout);
    return tile;
  }
  auto known = versions.find({tile, layout});
  if (known != versions.end())
    return known->second;
  double conversion = conversionCostOf(tile, layout);
  bool isOwnCheaper = false;
  if (op && isRecomputable(op))
    isOwnCheaper = recomputationCost(tile, layout) <= conversion;
  else if (auto load = dyn_cast_or_null<LoadOp>(op))
    isOwnCheaper = reloadCost(load, layout) < conversion;
  if (isOwnCheaper)
    return recompute(tile, layout);
  return versions[{tile, layout}] = convert(tile, layout);
}

//===-- Operations that stay where they are --------------------------------------------------===//

void LayoutAssignment::applyToCarried(MutableOperandRange first, ValueRange inner,
                                      ValueRange results) {
  for (auto [init, argument] : llvm::zip(first, inner)) {
    if (!isTile(argument))
      continue;
    init.set(make(init.get(), naturalOf(argument)));
    setLayout(argument, naturalOf(argument));
  }
  for (Value result : results)
    if (isTile(result))
      setLayout(result, naturalOf(result));
}

void LayoutAssignment::applyToTerminator(Operation *op) {
  Operation *parent = op->getParentOp();
  auto setAll = [&](MutableOperandRange operands, ValueRange targets) {
    for (auto [operand, target] : llvm::zip(operands, targets))
      if (isTile(target))
        operand.set(make(operand.get(), naturalOf(target)));
  };
  if (auto condition = dyn_cast<scf::ConditionOp>(op))
    return setAll(condition.getArgsMutable(), parent->getResults());
  MutableOperandRange operands(op);
  if (auto loop = dyn_cast<scf::WhileOp>(parent))
    return setAll(operands, loop.getBeforeArguments());
  setAll(operands, parent->getResults());
}

/// A few small stores cost less than moving the values between threads first.
void LayoutAssignment::applyToStore(StoreOp store) {
  if (!isTile(store.getPtr()))
    return;
  static constexpr double kDirectAccesses = 4;
  LayoutAttr layout = anchorOf(store);
  LayoutAttr own = naturalOf(store.getValue());
  if (!layout)
    layout = commonOf({store.getValue(), store.getPtr()});
  double direct = own ? accessCost(store.getPtr(), store.getMask(), own) : 0;
  if (own && own != layout && numElementsOf(store.getPtr().getType()) <= threads.count() &&
      direct <= kDirectAccesses * accessCost(store.getPtr(), store.getMask(), layout) &&
      direct < costOf(store.getValue(), layout))
    layout = own;
  setOperands(store, layout);
}

void LayoutAssignment::applyTo(Operation *op) {
  auto setEach = [&](OperandRange operands) {
    unsigned first = operands.empty() ? 0 : operands.getBeginOperandIndex();
    for (unsigned i = first; i < first + operands.size(); ++i)
      if (isTile(op->getOperand(i)))
        op->setOperand(i, make(op->getOperand(i), commonOf(op->getOperand(i))));
  };
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        applyToCarried(loop.getInitArgsMutable(), loop.getRegionIterArgs(), loop.getResults());
      })
      .Case([&](scf::WhileOp loop) {
        applyToCarried(loop.getInitsMutable(), loop.getBeforeArguments(), loop.getResults());
        for (Value argument : loop.getAfterArguments())
          if (isTile(argument))
            setLayout(argument, naturalOf(argument));
      })
      .Case([&](scf::IfOp branch) {
        applyToCarried(MutableOperandRange(branch, 0, 0), {}, branch.getResults());
      })
      .Case<scf::YieldOp, scf::ConditionOp>([&](auto) { applyToTerminator(op); })
      .Case([&](StoreOp store) { applyToStore(store); })
      .Case([&](CombiningRegion) {
        setOperands(op, workingLayout.lookup(op));
        for (Value result : op->getResults())
          if (isTile(result))
            setLayout(result, naturalOf(result));
      })
      .Case([&](GatherOp gather) {
        gather.getSourceMutable().assign(make(gather.getSource(), commonOf(gather.getSource())));
        gather.getIndicesMutable().assign(make(gather.getIndices(), workingLayout.lookup(op)));
        setLayoutOfResults(op, workingLayout.lookup(op));
      })
      .Case([&](DotOp dot) {
        setEach(dot->getOperands().take_front(2));
        dot.getAccMutable().assign(make(dot.getAcc(), naturalOf(dot.getResult())));
        setLayoutOfResults(op, naturalOf(dot.getResult()));
      })
      .Case([&](MmaOp mma) {
        mma.getAMutable().assign(
            make(mma.getA(), attributeOf(layoutOfOperand(mma, MmaOperand::A))));
        mma.getBMutable().assign(
            make(mma.getB(), attributeOf(layoutOfOperand(mma, MmaOperand::B))));
        mma.getAccMutable().assign(make(mma.getAcc(), naturalOf(mma.getResult())));
        setLayoutOfResults(op, naturalOf(mma.getResult()));
      })
      .Case<LoadOp, tile::AtomicRmwOp, tile::AtomicCasOp, tile::InlineAsmOp>([&](auto) {
        setOperands(op, naturalOf(op->getResult(0)));
        setLayoutOfResults(op, naturalOf(op->getResult(0)));
      })
      .Case([&](tile::AssertOp assertion) { setOperands(op, commonOf(assertion.getCondition())); })
      .Default([&](Operation *) { setEach(op->getOperands()); });
}

//===-- The whole function -------------------------------------------------------------------===//

DenseSet<Operation *> LayoutAssignment::eraseUnused() {
  SmallVector<Operation *> all;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (hasTile(op))
      all.push_back(op);
  });
  DenseSet<Operation *> erased;
  for (Operation *op : llvm::reverse(all))
    if (isOpTriviallyDead(op)) {
      erased.insert(op);
      op->erase();
    }
  return erased;
}

void LayoutAssignment::reportRecomputed(const DenseSet<Operation *> &erased) const {
  llvm::MapVector<Operation *, unsigned> counts;
  for (auto [original, user] : recomputed)
    if (!erased.contains(original) && !erased.contains(user))
      ++counts[user];
  for (auto [user, count] : counts)
    emitCodedRemark(user, Code::RecomputedValues) << "conversion removed by recomputing " << count
                                                  << (count == 1 ? " operation" : " operations");
}

void LayoutAssignment::apply() {
  SmallVector<Operation *> fixed;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value operand : op->getOperands())
      ++numUses[identify(operand)];
    if (op != function && hasTile(op) && !isRecomputable(op) && !isa<ConvertLayoutOp>(op))
      fixed.push_back(op);
  });
  for (BlockArgument argument : function.getArguments())
    if (isTile(argument))
      setLayout(argument, naturalOf(argument));
  for (Operation *op : fixed) {
    user = op;
    applyTo(op);
  }
  DenseSet<Operation *> erased = eraseUnused();
  if (emitsRemarks)
    reportRecomputed(erased);
  if (auto kernel = dyn_cast<func::FuncOp>(function.getOperation());
      kernel && !kernel.isExternal()) {
    Operation *end = kernel.getBody().back().getTerminator();
    kernel.setType(
        FunctionType::get(context, kernel.getBody().getArgumentTypes(), end->getOperandTypes()));
  }
}

void tw::simt::assignLayouts(FunctionOpInterface function, Threads threads, bool emitsRemarks) {
  LayoutAssignment assignment(function, threads);
  assignment.emitsRemarks = emitsRemarks;
  assignment.choose();
  assignment.apply();
}
