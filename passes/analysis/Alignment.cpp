// Walks a function to find what is known of its numbers, group by group of neighbours.
#include "passes/analysis/Alignment.h"
#include "ir/simt/Simt.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/analysis/AlignmentTransfer.h"
#include "passes/analysis/AxisAlignment.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

namespace {
using Facts = DenseMap<Value, TileAlignment>;

/// Walks a region in order, with what is known of its arguments.
struct Walk {
  Facts &facts;
  const Alignment &alignment;

  void set(Value value, TileAlignment known) { facts[value] = std::move(known); }
  /// Lowers what is known of `value` to what `other` also keeps; whether that changed anything.
  bool lower(Value value, Value other) {
    TileAlignment lowered = meet(alignment.of(value), alignment.of(other), value.getType());
    bool changed = !(lowered == alignment.of(value));
    set(value, std::move(lowered));
    return changed;
  }
  void visit(Block &block);
  void visit(Operation *op);
  void visitFor(scf::ForOp loop);
  void visitWhile(scf::WhileOp loop);
  void visitIf(scf::IfOp branch);
  void assume(Value condition);
  void assumeDivisible(Operation *remainder);
};
} // namespace

void Walk::visitFor(scf::ForOp loop) {
  TileAlignment counter = unknownAlignment(loop.getInductionVar().getType());
  const TileAlignment &first = alignment.of(loop.getLowerBound());
  counter.axes[0].divisibility =
      std::min(first.axes[0].divisibility, alignment.of(loop.getStep()).axes[0].divisibility);
  counter.isNonNegative = first.isNonNegative;
  set(loop.getInductionVar(), counter);
  for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    set(argument, TileAlignment(alignment.of(init)));
  bool changed = true;
  while (changed) {
    visit(*loop.getBody());
    changed = false;
    for (auto [argument, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      changed |= lower(argument, next);
  }
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    set(result, TileAlignment(alignment.of(argument)));
}

void Walk::visitWhile(scf::WhileOp loop) {
  for (auto [argument, init] : llvm::zip(loop.getBeforeArguments(), loop.getInits()))
    set(argument, TileAlignment(alignment.of(init)));
  bool changed = true;
  while (changed) {
    visit(*loop.getBeforeBody());
    for (auto [argument, passed] :
         llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs()))
      set(argument, TileAlignment(alignment.of(passed)));
    visit(*loop.getAfterBody());
    changed = false;
    for (auto [argument, next] :
         llvm::zip(loop.getBeforeArguments(), loop.getYieldOp().getOperands()))
      changed |= lower(argument, next);
  }
  for (auto [result, passed] : llvm::zip(loop.getResults(), loop.getConditionOp().getArgs()))
    set(result, TileAlignment(alignment.of(passed)));
}

void Walk::visitIf(scf::IfOp branch) {
  for (Region &region : branch->getRegions())
    for (Block &block : region)
      visit(block);
  if (branch.getNumResults() == 0)
    return;
  for (auto [result, yes, no] : llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                                          branch.elseYield().getResults())) {
    set(result, TileAlignment(alignment.of(yes)));
    lower(result, no);
  }
}

/// Learns from a condition that holds whenever the kernel runs: `x % 16 == 0`, `x & 15 == 0`,
/// `x >= 0`, `x > 0`, and conjunctions of such.
void Walk::assume(Value condition) {
  using Predicate = arith::CmpIPredicate;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    assume(both.getLhs());
    return assume(both.getRhs());
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  std::optional<int64_t> bound = compare ? alignment.of(compare.getRhs()).constant : std::nullopt;
  if (!bound || !shapeOf(compare.getLhs().getType()).empty())
    return;
  Predicate predicate = compare.getPredicate();
  bool isAtLeastZero =
      (predicate == Predicate::sge && *bound >= 0) || (predicate == Predicate::sgt && *bound >= -1);
  if (isAtLeastZero)
    facts[compare.getLhs()].isNonNegative = true;
  if (predicate == Predicate::eq && *bound == 0)
    assumeDivisible(compare.getLhs().getDefiningOp());
}

/// `remainder`, an operation of scalars, yields 0.
void Walk::assumeDivisible(Operation *remainder) {
  if (!isa_and_nonnull<arith::RemSIOp, arith::RemUIOp, arith::AndIOp>(remainder))
    return;
  std::optional<int64_t> divisor = alignment.of(remainder->getOperand(1)).constant;
  if (!divisor || *divisor == std::numeric_limits<int64_t>::min())
    return;
  // A mask without its low bits says nothing of them.
  int64_t power = powerOfTwoIn(uint64_t(*divisor) + isa<arith::AndIOp>(remainder));
  AxisAlignment &axis = facts[remainder->getOperand(0)].axes[0];
  if (!isa<arith::AndIOp>(remainder) || llvm::isPowerOf2_64(uint64_t(*divisor) + 1))
    axis.divisibility = std::max(axis.divisibility, power);
}

void Walk::visit(Operation *op) {
  // What a branch or loop assumes holds in there only, and may never be reached.
  if (auto assumption = dyn_cast<AssumeOp>(op);
      assumption && isa<FunctionOpInterface>(op->getParentOp()))
    return assume(assumption.getCondition());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (op->getNumRegions() == 0 && op->getNumResults() == 1)
    return set(op->getResult(0), alignmentOfResult(op, alignment));
  if (isa<CombiningRegion>(op))
    return;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      visit(block);
}

void Walk::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

const TileAlignment &Alignment::of(Value value) const {
  auto found = facts.find(value);
  assert(found != facts.end() && "facts are of values that the function had when it was walked");
  return found->second;
}

Alignment::Alignment(Operation *function) {
  auto addUnknown = [&](ValueRange values) {
    for (Value value : values)
      facts.try_emplace(value, unknownAlignment(value.getType()));
  };
  function->walk([&](Operation *op) {
    addUnknown(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        addUnknown(block.getArguments());
  });
  auto kernel = dyn_cast<FunctionOpInterface>(function);
  for (unsigned i = 0; kernel && i < kernel.getNumArguments(); ++i) {
    TileAlignment &known = facts[kernel.getArgument(i)];
    if (auto fact = kernel.getArgAttrOfType<IntegerAttr>(i, kArgDivisibility))
      known.axes[0].divisibility = powerOfTwoIn(fact.getInt());
    known.isNonNegative = bool(kernel.getArgAttr(i, kArgNonNegative));
  }
  Walk walk{facts, *this};
  for (Region &region : function->getRegions())
    for (Block &block : region)
      walk.visit(block);
}
