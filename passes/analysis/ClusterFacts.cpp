// Follows program ids through sums, quotients and remainders.
#include "passes/analysis/ClusterFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;

int64_t ClusterFacts::spreadOf(Value value) {
  auto known = spreads.find(value);
  if (known != spreads.end())
    return known->second;
  auto argument = dyn_cast<BlockArgument>(value);
  int64_t spread = argument ? spreadOfArgument(argument) : spreadOfResult(value.getDefiningOp());
  spreads[value] = spread;
  return spread;
}

/// Uses that a grid is whole clusters.
bool ClusterFacts::isMultiple(Value value, int64_t divisor) const {
  while (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (auto count = value.getDefiningOp<tile::NumProgramsOp>())
    return cluster[count.getAxis()] % divisor == 0;
  const IndexFact &fact = facts.of(value);
  int64_t divisibility = fact.constant ? *fact.constant : fact.axes.front().divisibility;
  return divisibility != 0 && divisibility % divisor == 0;
}

/// Finds loops that all programs run equally often: the same loop, or one that begins at a
/// program's own number and goes on by blocks, as range(program_id(0), 8, num_programs(0)).
int64_t ClusterFacts::spreadOfLoop(scf::ForOp loop) {
  int64_t spread = spreadOf(loop.getLowerBound());
  if (spread == 0 || !isShared(loop.getUpperBound()) || !isShared(loop.getStep()))
    return 0;
  bool isOfBlocks = spread == 1 || (isMultiple(loop.getUpperBound(), spread) &&
                                    isMultiple(loop.getStep(), spread));
  return isOfBlocks ? spread : 0;
}

/// Guesses that a loop carries the same value everywhere if it begins so, and looks whether it
/// stays so then. Conclusions from a wrong guess are forgotten.
int64_t ClusterFacts::spreadOfArgument(BlockArgument argument) {
  Operation *owner = argument.getOwner()->getParentOp();
  if (isa<FunctionOpInterface>(owner))
    return 1;
  auto loop = dyn_cast<scf::ForOp>(owner);
  int64_t spread = loop ? spreadOfLoop(loop) : 0;
  if (spread == 0 || argument == loop.getInductionVar())
    return spread;
  unsigned number = argument.getArgNumber() - 1;
  if (tile::isTile(argument) || !isShared(loop.getInitArgs()[number]))
    return 0;
  auto before = spreads;
  size_t numAsked = asked.size();
  spreads[argument] = 1;
  if (isShared(loop.getYieldedValues()[number]))
    return 1;
  spreads = std::move(before);
  asked.truncate(numAsked);
  return 0;
}

/// Returns true if a scalar is known to be a multiple that is not negative, or asks for that.
bool ClusterFacts::isOrMayBe(Value value, int64_t divisor) {
  if (facts.of(value).isNonNegative && (divisor == 1 || isMultiple(value, divisor)))
    return true;
  if (!asking || !value.getParentRegion()->isAncestor(asking->getParentRegion()))
    return false;
  asked.push_back({value, divisor});
  return true;
}

/// A block of n values that begins at a multiple of n lies between two multiples of a divisor that
/// n divides. Values below 0 are rounded another way; all of a block are, or none.
int64_t ClusterFacts::spreadOfQuotient(Value dividend, Value divisor, bool isRemainder) {
  int64_t spread = spreadOf(dividend);
  if (spread == 0 || !isShared(divisor))
    return 0;
  if (spread == 1)
    return 1;
  if (!isOrMayBe(divisor, spread) || !isOrMayBe(dividend, 1))
    return 0;
  return isRemainder ? spread : 1;
}

int64_t ClusterFacts::spreadOfResult(Operation *op) {
  if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    return cluster[id.getAxis()];
  if (isa<tile::NumProgramsOp>(op))
    return 1;
  if (isa<tile::InlineAsmOp, tile::ExternCallOp, tile::LoadOp>(op) || op->getNumRegions() != 0 ||
      !isMemoryEffectFree(op) || llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return 0;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp>(op))
    return spreadOfQuotient(op->getOperand(0), op->getOperand(1),
                            isa<arith::RemUIOp, arith::RemSIOp>(op));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return spreadOf(op->getOperand(0));
  bool isSame = llvm::all_of(op->getOperands(), [&](Value operand) {
    return !tile::isTile(operand) && isShared(operand);
  });
  return isSame;
}

bool ClusterFacts::isReachedTogether(Operation *op) {
  for (Operation *at = op; at && !isa<FunctionOpInterface>(at); at = at->getParentOp()) {
    bool isTogether =
        llvm::TypeSwitch<Operation *, bool>(at)
            .Case([&](scf::ForOp loop) { return spreadOfLoop(loop) != 0; })
            .Case([&](scf::IfOp branch) { return isShared(branch.getCondition()); })
            .Default([&](Operation *other) { return at == op || other->getNumRegions() == 0; });
    if (!isTogether)
      return false;
  }
  return true;
}
