// Where the elements of a tile of pointers meet, by walking definitions.
#include "passes/analysis/LoopStep.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contiguity.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

static std::optional<int64_t> integerOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  auto splat = value.getDefiningOp<SplatOp>();
  return splat ? integerOf(splat.getSource()) : std::nullopt;
}

static std::optional<int64_t> plus(std::optional<int64_t> lhs, std::optional<int64_t> rhs,
                                   int64_t sign = 1) {
  return lhs && rhs ? std::optional(*lhs + sign * *rhs) : std::nullopt;
}

static std::optional<int64_t> times(std::optional<int64_t> step, std::optional<int64_t> factor) {
  if (step == 0)
    return 0;
  return step && factor ? std::optional(*step * *factor) : std::nullopt;
}

static std::optional<int64_t> stepOf(Value value, scf::ForOp loop);

/// The step of what the loop counts or carries.
static std::optional<int64_t> stepOfArgument(BlockArgument argument, scf::ForOp loop) {
  if (argument.getOwner() != loop.getBody())
    return std::nullopt;
  if (argument.getArgNumber() == 0)
    return integerOf(loop.getStep());
  Operation *next =
      loop.getBody()->getTerminator()->getOperand(argument.getArgNumber() - 1).getDefiningOp();
  if (!next || !isa<AddPtrOp, arith::AddIOp>(next) || next->getOperand(0) != argument)
    return std::nullopt;
  return integerOf(next->getOperand(1));
}

/// By how much all elements grow from one iteration to the next, in elements of the pointee;
/// nothing where they do not grow alike, or by a number that is not known. Sums that overflow are
/// taken not to: they are outside of every array anyway.
static std::optional<int64_t> stepOf(Value value, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(value) || matchPattern(value, m_Constant()))
    return 0;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return stepOfArgument(argument, loop);
  auto of = [&](Value operand) { return stepOf(operand, loop); };
  Operation *op = value.getDefiningOp();
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<ShapeOp, HintOp, arith::ExtSIOp, arith::IndexCastOp>(
          [&](Operation *) { return of(op->getOperand(0)); })
      .Case<arith::AddIOp, AddPtrOp>(
          [&](Operation *) { return plus(of(op->getOperand(0)), of(op->getOperand(1))); })
      .Case([&](arith::SubIOp) { return plus(of(op->getOperand(0)), of(op->getOperand(1)), -1); })
      .Case([&](arith::MulIOp mul) {
        std::optional<int64_t> product = times(of(mul.getLhs()), integerOf(mul.getRhs()));
        bool isInvariant = of(mul.getLhs()) == 0 && of(mul.getRhs()) == 0;
        return isInvariant ? std::optional<int64_t>(0) : product;
      })
      .Case<ArangeOp, ProgramIdOp, NumProgramsOp>([](Operation *) { return 0; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The distance between the first and the last element of a tile of pointers, in elements.
static std::optional<int64_t> spanOf(Value pointers, scf::ForOp loop) {
  // What a loop carries and moves as a whole keeps the span that it began with.
  auto argument = dyn_cast<BlockArgument>(pointers);
  if (argument && argument.getOwner() == loop.getBody() && argument.getArgNumber() > 0)
    pointers = loop.getInitArgs()[argument.getArgNumber() - 1];
  Contiguity contiguity;
  int64_t span = 0;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(pointers.getType()))) {
    AxisChange change = contiguity.along(pointers, dim);
    if (change.kind != AxisChange::Constant)
      return std::nullopt;
    span += std::abs(change.step) * (extent - 1);
  }
  return span;
}

bool tw::areDistinct(Value pointers) {
  Contiguity contiguity;
  SmallVector<std::pair<int64_t, int64_t>> steps; // with the extents
  for (auto [dim, extent] : llvm::enumerate(shapeOf(pointers.getType()))) {
    AxisChange change = contiguity.along(pointers, dim);
    if (change.kind != AxisChange::Constant)
      return false;
    if (extent > 1)
      steps.push_back({std::abs(change.step), extent});
  }
  llvm::sort(steps);
  int64_t span = 0;
  for (auto [step, extent] : steps) {
    if (step <= span)
      return false;
    span += step * (extent - 1);
  }
  return true;
}

bool tw::mayMeetLaterIterations(Value pointers, Operation *loop) {
  auto counted = dyn_cast<scf::ForOp>(loop);
  std::optional<int64_t> step = counted ? stepOf(pointers, counted) : std::nullopt;
  if (!step)
    return true;
  if (*step == 0)
    return false;
  std::optional<int64_t> span = spanOf(pointers, counted);
  return !span || *span >= std::abs(*step);
}
