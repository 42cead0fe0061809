// Reads linear forms as sums that grow with a loop's iterations.
#include "passes/analysis/LoopForms.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/IndexTransfer.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::tile;

//===-- Steps --------------------------------------------------------------------------------===//

/// Returns what each iteration adds to what a loop counts or carries.
static std::optional<int64_t> stepOfArgument(const IndexFacts &facts, BlockArgument argument,
                                             scf::ForOp loop) {
  if (argument.getOwner() != loop.getBody())
    return std::nullopt;
  if (argument.getArgNumber() == 0)
    return integerOf(loop.getStep());
  const LinearForm &next = facts.of(loop.getTiedLoopYieldedValue(argument)->get()).form;
  bool isSum = next.terms.size() == 1 && next.terms[0] == LinearForm::Term{argument, 1};
  return isSum && next.low == next.high ? std::optional(next.low) : std::nullopt;
}

static std::optional<int64_t> stepOf(const IndexFacts &facts, Value value, scf::ForOp loop,
                                     unsigned depth) {
  if (loop.isDefinedOutsideOfLoop(value))
    return 0;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return stepOfArgument(facts, argument, loop);
  if (depth == 0)
    return std::nullopt;
  const LinearForm &form = facts.of(value).form;
  if (!form.isLeaf(value)) {
    int64_t total = 0;
    for (const LinearForm::Term &term : form.terms) {
      std::optional<int64_t> step = stepOf(facts, term.leaf, loop, depth - 1);
      int64_t growth = 0;
      if (!step || llvm::MulOverflow(*step, term.factor, growth) ||
          llvm::AddOverflow(total, growth, total))
        return std::nullopt;
    }
    return total;
  }
  Operation *op = value.getDefiningOp();
  bool isSame =
      isPure(op) && op->getNumRegions() == 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
        return stepOf(facts, operand, loop, depth - 1) == 0;
      });
  return isSame ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<int64_t> tw::stepOf(const IndexFacts &facts, Value value, scf::ForOp loop) {
  constexpr unsigned kMostNested = 8; // operations in one another that are not sums
  return ::stepOf(facts, value, loop, kMostNested);
}

//===-- Where elements meet ------------------------------------------------------------------===//

namespace {
struct AxisStep {
  int64_t step, extent;
};
} // namespace

/// Returns the steps along all dimensions, without their signs; nothing where one is not known.
static std::optional<SmallVector<AxisStep>> stepsOf(const IndexFacts &facts, Value pointers) {
  SmallVector<AxisStep> steps;
  for (auto [axis, extent] : llvm::zip(facts.of(pointers).axes, shapeOf(pointers.getType()))) {
    // The spans of larger steps might overflow.
    if (!axis.change.isConstant() || !llvm::isInt<40>(axis.change.step))
      return std::nullopt;
    steps.push_back({std::abs(axis.change.step), extent});
  }
  return steps;
}

bool tw::areDistinct(const IndexFacts &facts, Value pointers) {
  std::optional<SmallVector<AxisStep>> steps = stepsOf(facts, pointers);
  if (!steps)
    return false;
  llvm::sort(*steps, [](AxisStep a, AxisStep b) { return a.step < b.step; });
  int64_t span = 0;
  for (AxisStep axis : *steps) {
    if (axis.extent > 1 && axis.step <= span)
      return false;
    span += axis.step * (axis.extent - 1);
  }
  return true;
}

bool tw::mayMeetLaterIterations(const IndexFacts &facts, Value pointers, Operation *loop) {
  auto counted = dyn_cast<scf::ForOp>(loop);
  std::optional<int64_t> step = counted ? stepOf(facts, pointers, counted) : std::nullopt;
  if (!step)
    return true;
  if (*step == 0)
    return false;
  std::optional<SmallVector<AxisStep>> steps = stepsOf(facts, pointers);
  if (!steps)
    return true;
  int64_t span = 0;
  for (AxisStep axis : *steps)
    span += axis.step * (axis.extent - 1);
  return span >= std::abs(*step);
}

//===-- Exact sums ---------------------------------------------------------------------------===//

/// Returns true if the numbers of all iterations have less than 62 bits. A loop between two scalars
/// has at most twice as many iterations as these can count.
static bool isComputable(const LoopForm &form) {
  constexpr int64_t kLimit = int64_t(1) << (60 - kWideScalarBits - 1);
  return form.slope > -kLimit && form.slope < kLimit;
}

void LoopForms::require(FormGuard guard) {
  if (!llvm::is_contained(guards, guard))
    guards.push_back(std::move(guard));
}

bool LoopForms::addInvariant(LinearForm &form, Value scalar, int64_t factor) {
  std::optional<int64_t> number = integerOf(scalar);
  LinearForm leaf = number ? LinearForm::ofConstant(*number) : LinearForm::ofLeaf(scalar);
  constexpr int64_t bound = int64_t(1) << kWideScalarBits;
  if (!number && integerBits(scalar.getType()) > kWideScalarBits)
    require({{leaf, 0}, -bound, bound - 1});
  std::optional<LinearForm> product = scaled(leaf, factor);
  std::optional<LinearForm> sum = product ? combine(form, *product, 1) : std::nullopt;
  if (sum)
    form = *sum;
  return sum.has_value();
}

bool LoopForms::addTerm(LoopForm &form, const LinearForm::Term &term) {
  if (isa<RankedTensorType>(term.leaf.getType()))
    return false;
  if (loop.isDefinedOutsideOfLoop(term.leaf))
    return addInvariant(form.start, term.leaf, term.factor);
  auto argument = dyn_cast<BlockArgument>(term.leaf);
  std::optional<int64_t> step = argument ? stepOfArgument(facts, argument, loop) : std::nullopt;
  int64_t growth = 0;
  if (!step || llvm::MulOverflow(*step, term.factor, growth) ||
      llvm::AddOverflow(form.slope, growth, form.slope))
    return false;
  // The loop's counter never wraps.
  bool isCarried = argument.getArgNumber() > 0;
  Value start = isCarried ? loop.getTiedLoopInit(argument)->get() : loop.getLowerBound();
  return (!isCarried || requireExact(argument)) && addInvariant(form.start, start, term.factor);
}

std::optional<LoopForm> LoopForms::of(const LinearForm &form) {
  LoopForm result{form, 0};
  result.start.terms.clear();
  for (const LinearForm::Term &term : form.terms)
    if (!addTerm(result, term))
      return std::nullopt;
  return isComputable(result) ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<LoopForm> LoopForms::ofInvariant(Value scalar) {
  LoopForm result;
  return addInvariant(result.start, scalar, 1) ? std::optional(std::move(result)) : std::nullopt;
}

bool LoopForms::require(Value value, int64_t min, int64_t max) {
  std::optional<LoopForm> form = of(facts.of(value).form);
  if (form)
    require({*form, min, max});
  return form.has_value();
}

bool LoopForms::requireNonNegative(Value value) {
  const LinearForm &form = facts.of(value).form;
  return (form.terms.empty() && form.low >= 0) ||
         require(value, 0, std::numeric_limits<int64_t>::max());
}

bool LoopForms::requireExact(Value value) {
  const LinearForm &form = facts.of(value).form;
  if (form.terms.empty() || !exact.insert(value).second)
    return true;
  Operation *op = value.getDefiningOp();
  bool isCarried = !op && !loop.isDefinedOutsideOfLoop(value) && value != loop.getInductionVar();
  if (op ? form.isLeaf(value) : !isCarried)
    return true;
  unsigned bits = integerBits(value.getType());
  bool mayWrap = bits <= 62;
  for (Value operand : op ? op->getOperands() : ValueRange()) {
    bool isLeaf = isLeafFor(op, operand);
    if (!isLeaf && !requireExact(operand))
      return false;
    // What an operation hands on as it is fits where it fitted before.
    bool isSame = isLeaf ? form.isLeaf(operand) : form == facts.of(operand).form;
    mayWrap &= !isSame || integerBits(operand.getType()) > bits;
  }
  if (isa_and_nonnull<arith::ExtUIOp>(op) && !requireNonNegative(op->getOperand(0)))
    return false;
  return !mayWrap || require(value, llvm::minIntN(bits), llvm::maxIntN(bits));
}
