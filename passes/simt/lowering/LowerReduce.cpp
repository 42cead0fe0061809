// Lowers reductions inside each warp: registers of a thread first, then butterflies of shuffles.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/AxisSteps.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "runtime/codes/Codes.h"
#include <deque>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Returns true if a combination is one operation whose result is the same in any order and
/// grouping. Sums and products of floats do not qualify, since they are rounded.
static bool isAssociative(Region &region) {
  Block &block = region.front();
  Operation *yield = block.getTerminator(), *only = &block.front();
  auto takesBoth = [&] {
    return only->getNumOperands() == 2 && block.getNumArguments() == 2 &&
           llvm::is_contained(only->getOperands(), block.getArgument(0)) &&
           llvm::is_contained(only->getOperands(), block.getArgument(1));
  };
  return llvm::hasNItems(block, 2) && yield->getOperands() == only->getResults() && takesBoth() &&
         isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AddIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(only);
}

namespace {
struct Reduction {
  SimtFunction &f;
  const LinearLayout &layout;
  Region &region;
  bool isCommutative;

  /// Combines two halves of a step; `half` is that of `mine`. Where a lane has both, nobody else
  /// combines them.
  Registers combineHalves(ArrayRef<Value> mine, ArrayRef<Value> other, const AxisHalf &half,
                          bool isOfLane) {
    if (isCommutative || !half.flips) {
      bool isSwapped = !isCommutative && half.isHigh;
      return isSwapped ? f.combine(region, other, mine, isOfLane)
                       : f.combine(region, mine, other, isOfLane);
    }
    Value isHigh = isHighHalf(f, half);
    Registers low, high;
    for (auto [here, there] : llvm::zip(mine, other)) {
      low.push_back(f.create<arith::SelectOp>(isHigh, there, here));
      high.push_back(f.create<arith::SelectOp>(isHigh, here, there));
    }
    return f.combine(region, low, high);
  }

  /// Returns the flips that decide the order of two halves; null if the combination is commutative,
  /// when the order does not matter.
  Value flipsOf(const AxisStep &step) {
    return isCommutative ? Value() : axisFlips(f, layout, step);
  }

  void reduceRegisters(RegisterClasses &partial, const AxisStep &step) {
    Value flips = flipsOf(step);
    RegisterClasses before = partial;
    partial.merge(step.reg);
    for (uint32_t reg : partial.representatives())
      partial.set(reg, combineHalves(before.at(reg), before.at(reg ^ step.reg),
                                     halfOf(layout, step, flips, reg), /*isOfLane=*/true));
  }

  /// In threes: machines have minimum, maximum, sum and bitwise operations of three integers, many
  /// those of three floats, and a pair of operations on three is what their compilers look for.
  /// Each result waits behind the values that are left, so that chains stay as short as in a tree.
  Registers combineInThrees(std::deque<Registers> values) {
    while (values.size() > 1) {
      unsigned numTaken = values.size() > 2 ? 3 : 2;
      Registers combined = values.front();
      for (unsigned index = 1; index < numTaken; ++index)
        combined = f.combine(region, combined, values[index]);
      values.erase(values.begin(), values.begin() + numTaken);
      values.push_back(std::move(combined));
    }
    return values.front();
  }

  /// All steps that stay in the lane at once, for what any order suits.
  void reduceInThrees(RegisterClasses &partial, ArrayRef<AxisStep> steps) {
    RegisterClasses before = partial;
    for (const AxisStep &step : steps)
      partial.merge(step.reg);
    for (uint32_t representative : partial.representatives()) {
      SmallVector<uint32_t> members{representative};
      for (const AxisStep &step : steps)
        for (size_t index = 0, end = members.size(); index < end; ++index)
          members.push_back(members[index] ^ step.reg);
      std::deque<Registers> values;
      for (uint32_t reg : members)
        values.emplace_back(before.at(reg));
      partial.set(representative, combineInThrees(std::move(values)));
    }
  }

  /// Lanes that differ by bits of `same` hold the same values: which of them a lane reads does not
  /// matter. Neighbours in a group of 16 are mirrored, which machines have patterns for.
  void reduceLanes(RegisterClasses &partial, const AxisStep &step, uint32_t same) {
    constexpr uint32_t kGroup = 16;
    uint32_t distance = step.lane < kGroup ? step.lane | (same & (kGroup - 1)) : step.lane;
    Value flips = flipsOf(step);
    RegisterClasses before = partial;
    SmallVector<uint32_t> registers = partial.representatives();
    SmallVector<Registers> others(registers.size());
    for (size_t tile = 0; tile < before.at(0).size(); ++tile) {
      Registers sent;
      for (uint32_t reg : registers)
        sent.push_back(before.at(reg ^ step.reg)[tile]);
      for (auto [other, value] : llvm::zip(others, shuffleXor(f, sent, distance)))
        other.push_back(value);
    }
    for (auto [reg, other] : llvm::zip(registers, others))
      partial.set(reg, combineHalves(before.at(reg), other, halfOf(layout, step, flips, reg),
                                     /*isOfLane=*/false));
  }

  RegisterClasses run(ArrayRef<Registers> sources, ArrayRef<AxisStep> steps) {
    RegisterClasses partial(sources);
    SmallVector<AxisStep> ordered(steps);
    // In any order, what needs no shuffle goes first and leaves less to shuffle.
    if (isCommutative) {
      SmallVector<AxisStep> inLane, shuffled;
      for (const AxisStep &step : steps)
        (step.lane == 0 ? inLane : shuffled).push_back(step);
      if (isAssociative(region))
        reduceInThrees(partial, std::exchange(inLane, {}));
      // Registers far apart first: neighbours are pairs then, which some machines add at once.
      ordered.assign(inLane.rbegin(), inLane.rend());
      ordered.append(shuffled);
    }
    uint32_t same = 0;
    for (const AxisStep &step : ordered) {
      if (step.lane == 0)
        reduceRegisters(partial, step);
      else
        reduceLanes(partial, step, same);
      if (isCommutative && step.reg == 0)
        same |= step.lane;
    }
    return partial;
  }
};
} // namespace

/// Reduces inside warps; register r of each result is that of register `from[r]` of the sources.
static void reduceInWarps(SimtFunction &f, Operation *op, Region &region, bool isCommutative,
                          ArrayRef<AxisStep> steps, ArrayRef<uint32_t> from) {
  const LinearLayout &layout = layoutOf(op->getOperand(0).getType());
  SmallVector<Registers> sources;
  for (Value source : op->getOperands())
    sources.push_back(f.registersOf(source));
  Reduction reduction{f, layout, region, isCommutative};
  RegisterClasses partial = reduction.run(sources, steps);
  for (OpResult result : op->getResults()) {
    Registers registers;
    for (uint32_t reg : from)
      registers.push_back(partial.at(reg)[result.getResultNumber()]);
    f.setRegisters(result, registers);
  }
}

LogicalResult SimtFunction::lowerReduce(tile::ReduceOp op) {
  unsigned axis = op.getAxis();
  const LinearLayout &layout = layoutOf(op.getSources().front().getType());
  SmallVector<AxisStep> steps = axisSteps(layout, axis);
  Type type = op.getResultTypes().front();
  std::optional<SmallVector<uint32_t>> from = SmallVector<uint32_t>{0};
  if (hasLayout(type))
    from = layoutOf(type).registersFrom(layout.withoutDim(axis));
  if (steps.size() != layout.numBitsOf(axis) || !from)
    return emitCoded(op, Code::CompilerFault)
           << "a reduction between warps must go through shared memory";
  reduceInWarps(*this, op, op.getCombine(), op.getCommutative(), steps, *from);
  return success();
}

LogicalResult SimtFunction::lowerPartialReduce(PartialReduceOp op) {
  unsigned axis = op.getAxis();
  const LinearLayout &layout = layoutOf(op.getSources().front().getType());
  SmallVector<AxisStep> steps = axisSteps(layout, axis);
  // The pieces of different warps stay apart: beside the axis, the result is the source's.
  LinearLayout result = layoutOf(op.getResultTypes().front());
  unsigned numPieceBits = result.numBitsOf(axis);
  std::optional<SmallVector<uint32_t>> from =
      result.withDimCollapsed(axis).registersFrom(layout.withDimCollapsed(axis));
  if (steps.size() + numPieceBits != layout.numBitsOf(axis) || !from)
    return emitCoded(op, Code::CompilerFault)
           << "the pieces of a partial reduction are not those of its warps";
  reduceInWarps(*this, op, op.getCombine(), op.getCommutative(), steps, *from);
  return success();
}
