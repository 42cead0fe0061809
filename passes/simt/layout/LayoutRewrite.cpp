// Writes tiles in the layouts that their users work in, from the operations that must run where
// they stand: accesses, reductions, products, control flow.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/layout/LayoutCost.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

namespace {
/// Makes versions of tiles in other layouts than their own. Each is made for a `user`, of whom
/// remarks tell.
struct LayoutRewrite {
  Value make(Value tile, LayoutAttr layout, Operation *user);
  Value convert(Value tile, LayoutAttr layout, Operation *user);
  Value recompute(Value tile, LayoutAttr layout, Operation *user);
  void retype(Operation *op, LayoutAttr layout, Operation *user);
  /// Gives a recomputable operation, a gather, or one that accesses memory, its operands for
  /// results in `layout`.
  void setOperands(Operation *op, LayoutAttr layout, Operation *user);

  void rewrite(Operation *op);
  void rewriteStore(StoreOp store);
  void rewriteProduct(Operation *op);
  void rewriteTerminator(Operation *op);
  void rewriteWhile(scf::WhileOp loop);
  void rewriteCarried(MutableOperandRange first, ValueRange inner, ValueRange results);
  /// Gives an operation these operands in the layouts that suit each by itself.
  void setEach(Operation *op, MutableOperandRange operands);
  void setResults(Operation *op);
  void reportRecomputed(const DenseSet<Operation *> &erased) const;

  LayoutChoice &choice;
  LayoutCost &cost;
  DenseMap<std::pair<Value, LayoutAttr>, Value> versions{};
  DenseSet<Operation *> retyped{};
  /// Operations with another version, and for whom it was made.
  SmallVector<std::pair<Operation *, Operation *>> recomputed{};
};
} // namespace

static bool hasTile(Operation *op) {
  return llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
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

void LayoutRewrite::setOperands(Operation *op, LayoutAttr layout, Operation *user) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isTile(operand.get()))
      continue;
    LayoutAttr needed = layout;
    if (auto gather = dyn_cast<GatherOp>(op); gather && operand.get() == gather.getSource())
      needed = choice.workingFor(operand.get());
    else if (isRecomputable(op))
      needed = choice.attributeOf(*operandLayout(op, layout.getValue()));
    operand.set(make(operand.get(), needed, user));
  }
}

void LayoutRewrite::retype(Operation *op, LayoutAttr layout, Operation *user) {
  if (!retyped.insert(op).second)
    return;
  setOperands(op, layout, user);
  setLayoutOfResults(op, layout);
}

Value LayoutRewrite::convert(Value tile, LayoutAttr layout, Operation *user) {
  if (Operation *op = tile.getDefiningOp(); op && isRecomputable(op))
    retype(op, choice.ownOf(tile), user);
  OpBuilder builder(tile.getContext());
  builder.setInsertionPointAfterValue(tile);
  return ConvertLayoutOp::create(builder, tile.getLoc(),
                                 withLayout(tile.getType(), layout.getValue()), tile);
}

Value LayoutRewrite::recompute(Value tile, LayoutAttr layout, Operation *user) {
  OpBuilder builder(tile.getContext());
  builder.setInsertionPointAfterValue(tile);
  Operation *op = tile.getDefiningOp(), *copy = builder.clone(*op);
  recomputed.push_back({op, user});
  for (auto [original, result] : llvm::zip(op->getResults(), copy->getResults())) {
    choice.addVersion(result, original);
    versions[{original, layout}] = result;
  }
  retype(copy, layout, user);
  return versions[{tile, layout}];
}

Value LayoutRewrite::make(Value tile, LayoutAttr layout, Operation *user) {
  tile = choice.identify(tile);
  Operation *op = tile.getDefiningOp();
  if (!choice.ownOf(tile) && op && isRecomputable(op))
    for (Value result : op->getResults())
      choice.setOwn(result, layout);
  if (choice.ownOf(tile) == layout) {
    if (op && isRecomputable(op))
      retype(op, layout, user);
    return tile;
  }
  auto known = versions.find({tile, layout});
  if (known != versions.end())
    return known->second;
  double conversion = cost.conversionCost(tile, layout);
  bool isNewCheaper = false;
  if (op && isRecomputable(op))
    isNewCheaper = cost.recomputationCost(tile, layout) <= conversion;
  else if (auto load = dyn_cast_or_null<LoadOp>(op))
    isNewCheaper = cost.reloadCost(load, layout) < conversion;
  else if (auto gather = dyn_cast_or_null<GatherOp>(op))
    isNewCheaper = cost.gatherCost(gather, layout) < conversion;
  if (isNewCheaper)
    return recompute(tile, layout, user);
  return versions[{tile, layout}] = convert(tile, layout, user);
}

//===-- Operations that stay where they are --------------------------------------------------===//

void LayoutRewrite::rewriteCarried(MutableOperandRange first, ValueRange inner,
                                   ValueRange results) {
  for (auto [init, argument] : llvm::zip(first, inner)) {
    if (!isTile(argument))
      continue;
    init.set(make(init.get(), choice.ownOf(argument), init.getOwner()));
    setLayout(argument, choice.ownOf(argument));
  }
  for (Value result : results)
    if (isTile(result))
      setLayout(result, choice.ownOf(result));
}

void LayoutRewrite::rewriteTerminator(Operation *op) {
  Operation *parent = op->getParentOp();
  auto setAll = [&](MutableOperandRange operands, ValueRange targets) {
    for (auto [operand, target] : llvm::zip(operands, targets))
      if (isTile(target))
        operand.set(make(operand.get(), choice.ownOf(target), op));
  };
  if (auto condition = dyn_cast<scf::ConditionOp>(op))
    return setAll(condition.getArgsMutable(), parent->getResults());
  MutableOperandRange operands(op);
  if (auto loop = dyn_cast<scf::WhileOp>(parent))
    return setAll(operands, loop.getBeforeArguments());
  setAll(operands, parent->getResults());
}

/// A few small stores cost less than moving the values between threads first.
void LayoutRewrite::rewriteStore(StoreOp store) {
  if (!isTile(store.getPtr()))
    return;
  static constexpr double kDirectAccesses = 4;
  LayoutAttr layout = choice.workingOf(store);
  LayoutAttr own = choice.ownOf(store.getValue());
  if (!layout)
    layout = choice.workingFor({store.getValue(), store.getPtr()});
  double direct = own ? cost.accessCost(store.getPtr(), store.getMask(), own) : 0;
  bool isSmall = numElementsOf(store.getPtr().getType()) <= choice.threadsOfProgram().count();
  if (own && own != layout && isSmall &&
      direct <= kDirectAccesses * cost.accessCost(store.getPtr(), store.getMask(), layout) &&
      direct < cost.costOf(store.getValue(), layout))
    layout = own;
  setOperands(store, layout, store);
}

/// The factors of matrix instructions are in the instruction's fragments.
void LayoutRewrite::rewriteProduct(Operation *op) {
  constexpr unsigned accumulator = 2;
  if (auto mma = dyn_cast<MmaOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.getOperandNumber() != accumulator) {
        LinearLayout layout = layoutOfOperand(mma, MmaOperand(operand.getOperandNumber()));
        operand.set(make(operand.get(), choice.attributeOf(layout), op));
      }
  } else {
    setEach(op, MutableOperandRange(op, 0, 2));
  }
  op->setOperand(accumulator,
                 make(op->getOperand(accumulator), choice.ownOf(op->getResult(0)), op));
  setResults(op);
}

void LayoutRewrite::rewriteWhile(scf::WhileOp loop) {
  rewriteCarried(loop.getInitsMutable(), loop.getBeforeArguments(), loop.getResults());
  for (Value argument : loop.getAfterArguments())
    if (isTile(argument))
      setLayout(argument, choice.ownOf(argument));
}

void LayoutRewrite::setEach(Operation *op, MutableOperandRange operands) {
  for (OpOperand &operand : operands)
    if (isTile(operand.get()))
      operand.set(make(operand.get(), choice.workingFor(operand.get()), op));
}

void LayoutRewrite::setResults(Operation *op) {
  for (Value result : op->getResults())
    if (isTile(result))
      setLayout(result, choice.ownOf(result));
}

void LayoutRewrite::rewrite(Operation *op) {
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        rewriteCarried(loop.getInitArgsMutable(), loop.getRegionIterArgs(), loop.getResults());
      })
      .Case([&](scf::WhileOp loop) { rewriteWhile(loop); })
      .Case<scf::IfOp, LoadBlocksOp>([&](auto) { setResults(op); })
      .Case<scf::YieldOp, scf::ConditionOp>([&](auto) { rewriteTerminator(op); })
      .Case([&](StoreOp store) { rewriteStore(store); })
      .Case([&](CombiningRegion) {
        setOperands(op, choice.workingOf(op), op);
        setResults(op);
      })
      .Case<DotOp, MmaOp>([&](auto) { rewriteProduct(op); })
      .Case<tile::MemoryAccess, tile::InlineAsmOp, GatherOp>([&](auto) {
        setOperands(op, choice.ownOf(op->getResult(0)), op);
        setLayoutOfResults(op, choice.ownOf(op->getResult(0)));
      })
      .Case([&](tile::AssertOp assertion) {
        setOperands(op, choice.workingFor(assertion.getCondition()), op);
      })
      .Default([&](Operation *) { setEach(op, MutableOperandRange(op)); });
}

//===-- The whole function -------------------------------------------------------------------===//

static DenseSet<Operation *> eraseUnused(FunctionOpInterface function) {
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

void LayoutRewrite::reportRecomputed(const DenseSet<Operation *> &erased) const {
  llvm::MapVector<Operation *, unsigned> counts;
  for (auto [original, user] : recomputed)
    if (!erased.contains(original) && !erased.contains(user))
      ++counts[user];
  for (auto [user, count] : counts)
    emitCodedRemark(user, Code::RecomputedValues) << "conversion removed by recomputing " << count
                                                  << (count == 1 ? " operation" : " operations");
}

/// The function's type, after those of its arguments and results have layouts.
static void updateType(FunctionOpInterface function) {
  auto kernel = dyn_cast<func::FuncOp>(function.getOperation());
  if (!kernel || kernel.isExternal())
    return;
  Operation *end = kernel.getBody().back().getTerminator();
  kernel.setType(FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(),
                                   end->getOperandTypes()));
}

void tw::simt::rewriteLayouts(FunctionOpInterface function, LayoutChoice &choice, LayoutCost &cost,
                              bool emitsRemarks) {
  LayoutRewrite rewrite{choice, cost};
  SmallVector<Operation *> fixed;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && hasTile(op) && !isRecomputable(op) && !isa<ConvertLayoutOp>(op))
      fixed.push_back(op);
  });
  cost.countUses(function);
  for (BlockArgument argument : function.getArguments())
    if (isTile(argument))
      setLayout(argument, choice.ownOf(argument));
  for (Operation *op : fixed)
    rewrite.rewrite(op);
  DenseSet<Operation *> erased = eraseUnused(function);
  if (emitsRemarks)
    rewrite.reportRecomputed(erased);
  updateType(function);
}
