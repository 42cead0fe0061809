// Finds what loops add to numbers.
#include "backend/amd/addresses/LoopProgress.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw::amd;

namespace {
/// A value of a loop's body as a carried value and steps.
struct Chain {
  scf::ForOp loop;
  BlockArgument carried;
  SmallVector<Value> steps;
};
} // namespace

static Value constantOf(OpBuilder &b, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

static Value product(OpBuilder &b, Location loc, Value left, Value right) {
  return arith::MulIOp::create(b, loc, left, right);
}

static Value sum(OpBuilder &b, Location loc, Value left, Value right) {
  return arith::AddIOp::create(b, loc, left, right);
}

/// Computes the total growth of a loop's counter, as a number of `type`.
static Value spanOf(OpBuilder &b, scf::ForOp loop, Type type) {
  Location loc = loop.getLoc();
  auto extended = [&](Value bound) {
    return bound.getType() == type ? bound : Value(arith::ExtSIOp::create(b, loc, type, bound));
  };
  Value lower = extended(loop.getLowerBound()), upper = extended(loop.getUpperBound());
  Value span = arith::SubIOp::create(b, loc, upper, lower);
  return arith::MaxSIOp::create(b, loc, span, constantOf(b, loc, type, 0));
}

/// How often a loop runs; null where its step is not a constant.
static Value tripsOf(OpBuilder &b, scf::ForOp loop, Type type) {
  Location loc = loop.getLoc();
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return {};
  Value span = spanOf(b, loop, type);
  if (step.isOne())
    return span;
  int64_t width = step.getSExtValue();
  Value rounded = sum(b, loc, span, constantOf(b, loc, type, width - 1));
  return arith::DivUIOp::create(b, loc, rounded, constantOf(b, loc, type, width));
}

//===-- Carried values -----------------------------------------------------------------------===//

static std::optional<Chain> chainOf(Value value) {
  Chain chain;
  while (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    chain.steps.push_back(sum.getRhs());
    value = sum.getLhs();
  }
  chain.carried = dyn_cast<BlockArgument>(value);
  if (!chain.carried)
    return std::nullopt;
  chain.loop = dyn_cast<scf::ForOp>(chain.carried.getOwner()->getParentOp());
  if (!chain.loop || chain.carried == chain.loop.getInductionVar())
    return std::nullopt;
  for (Value step : chain.steps)
    if (!chain.loop.isDefinedOutsideOfLoop(step))
      return std::nullopt;
  return chain;
}

/// Products of 64 bits have room for those of offsets; narrower ones may wrap.
static bool isNonNegative(Value step) {
  APInt known;
  if (matchPattern(step, m_ConstantInt(&known)))
    return !known.isNegative();
  if (auto extended = step.getDefiningOp<arith::ExtSIOp>())
    return isNonNegative(extended.getIn());
  auto product = step.getDefiningOp<arith::MulIOp>();
  if (product && step.getType().isInteger(64))
    return isNonNegative(product.getLhs()) && isNonNegative(product.getRhs());
  auto argument = dyn_cast<BlockArgument>(step);
  auto kernel = argument ? dyn_cast<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp())
                         : LLVM::LLVMFuncOp();
  return kernel && kernel.getArgAttr(argument.getArgNumber(), tw::tile::kArgNonNegative);
}

/// Returns true if what the steps of a chain begin at is about as near to memory as what they lead
/// to: accesses that differ by steps have the same rest then.
static bool beginsNear(const Chain &chain, const LoopAccess &access) {
  ArrayRef<Value> steps = chain.steps;
  constexpr int64_t most = 4096; // elements of at most 8 bytes, far below the bias of resources
  APInt known;
  int64_t way = 0;
  bool areKnown = true;
  for (Value step : steps) {
    areKnown &= matchPattern(step, m_ConstantInt(&known)) && known.isSignedIntN(32);
    way += areKnown ? known.getSExtValue() : 0;
  }
  return (areKnown && std::abs(way) <= most) ||
         (access.isForward && llvm::all_of(steps, isNonNegative)) ||
         access.isAccessed(chain.carried);
}

static std::optional<LoopProgress> progressOfCarried(OpBuilder &b, Value value,
                                                     const LoopAccess &access) {
  std::optional<Chain> chain = chainOf(value);
  if (!chain)
    return std::nullopt;
  Value yielded = chain->loop.getTiedLoopYieldedValue(chain->carried)->get();
  std::optional<Chain> iteration = chainOf(yielded);
  if (!iteration || iteration->carried != chain->carried || !access.beginsAtOnce(chain->carried))
    return std::nullopt;
  Location loc = value.getLoc();
  Value start = chain->loop.getTiedLoopInit(chain->carried)->get(), rest = start;
  if (beginsNear(*chain, access))
    return LoopProgress{start, arith::SubIOp::create(b, loc, value, start)};
  for (Value step : llvm::reverse(chain->steps))
    rest = sum(b, loc, rest, step);
  return LoopProgress{rest, arith::SubIOp::create(b, loc, chain->carried, start)};
}

static void computeFinalValue(scf::ForOp loop, BlockArgument carried) {
  Value result = loop.getTiedLoopResult(carried), total;
  std::optional<Chain> iteration = chainOf(loop.getTiedLoopYieldedValue(carried)->get());
  if (result.use_empty() || !iteration || iteration->carried != carried || iteration->steps.empty())
    return;
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  Location loc = loop.getLoc();
  Value trips = tripsOf(b, loop, carried.getType());
  if (!trips)
    return;
  for (Value step : iteration->steps)
    total = total ? sum(b, loc, total, step) : step;
  Value start = loop.getTiedLoopInit(carried)->get();
  result.replaceAllUsesWith(sum(b, loc, start, product(b, loc, total, trips)));
}

void tw::amd::computeFinalValues(Operation *kernel, llvm::function_ref<bool(Value)> isUniform) {
  kernel->walk([&](scf::ForOp loop) {
    for (BlockArgument carried : loop.getRegionIterArgs())
      if (carried.getType().isInteger(64) && isUniform(carried))
        computeFinalValue(loop, carried);
  });
}

//===-- Counters -----------------------------------------------------------------------------===//

namespace {
using IsUniform = llvm::function_ref<bool(Value)>;

/// A number as a rest, and a loop's counter times a factor (null: 1).
struct Counted {
  scf::ForOp loop;
  Value rest, factor;
};
} // namespace

static std::optional<Counted> countedOf(OpBuilder &b, Value value, IsUniform isUniform,
                                        unsigned depth);

/// A counter of a loop is its first value and what is above that.
static std::optional<Counted> countedOfCounter(Value value) {
  auto counter = dyn_cast<BlockArgument>(value);
  auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || counter != loop.getInductionVar())
    return std::nullopt;
  return Counted{loop, loop.getLowerBound(), {}};
}

static std::optional<Counted> countedOfProduct(OpBuilder &b, arith::MulIOp op, IsUniform isUniform,
                                               unsigned depth) {
  Value factor = op.getRhs();
  if (!isUniform(factor))
    return std::nullopt;
  std::optional<Counted> counted = countedOf(b, op.getLhs(), isUniform, depth);
  if (!counted || !counted->loop.isDefinedOutsideOfLoop(factor))
    return std::nullopt;
  counted->rest = product(b, op.getLoc(), counted->rest, factor);
  if (counted->factor) {
    OpBuilder before(counted->loop);
    factor = product(before, op.getLoc(), counted->factor, factor);
  }
  counted->factor = factor;
  return counted;
}

static std::optional<Counted> countedOf(OpBuilder &b, Value value, IsUniform isUniform,
                                        unsigned depth) {
  if (depth == 0)
    return std::nullopt;
  if (auto op = value.getDefiningOp<arith::MulIOp>())
    return countedOfProduct(b, op, isUniform, depth - 1);
  auto op = value.getDefiningOp<arith::AddIOp>();
  if (!op)
    return isUniform(value) ? countedOfCounter(value) : std::nullopt;
  for (auto [part, other] : {std::pair(op.getLhs(), op.getRhs()), {op.getRhs(), op.getLhs()}})
    if (std::optional<Counted> counted = countedOf(b, part, isUniform, depth - 1)) {
      counted->rest = sum(b, op.getLoc(), counted->rest, other);
      return counted;
    }
  return std::nullopt;
}

/// Numbers that change with a loop's counter.
static std::optional<LoopProgress> progressOfCounted(OpBuilder &b, Value value, IsUniform isUniform,
                                                     const LoopAccess &access) {
  constexpr unsigned most = 8; // of sums and products in one another
  std::optional<Counted> counted = countedOf(b, value, isUniform, most);
  if (!counted || !access.beginsAtOnce(cast<BlockArgument>(counted->loop.getInductionVar())))
    return std::nullopt;
  scf::ForOp loop = counted->loop;
  Location loc = value.getLoc();
  Value above = arith::SubIOp::create(b, loc, loop.getInductionVar(), loop.getLowerBound());
  if (counted->factor)
    above = product(b, loc, above, counted->factor);
  return LoopProgress{counted->rest, above};
}

std::optional<LoopProgress> tw::amd::progressOf(OpBuilder &builder, Value value,
                                                IsUniform isUniform, const LoopAccess &access) {
  if (isUniform(value))
    if (std::optional<LoopProgress> progress = progressOfCarried(builder, value, access))
      return progress;
  return progressOfCounted(builder, value, isUniform, access);
}
