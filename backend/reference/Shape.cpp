// The meaning of operations that make tiles and move elements without computing on them.
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/codes/Codes.h"
#include <chrono>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

static LogicalResult runProgramId(Program &program, Operation &op) {
  uint32_t id = program.id[cast<tile::ProgramIdOp>(op).getAxis()];
  program.set(op.getResult(0), {Element{id}});
  return success();
}

static LogicalResult runNumPrograms(Program &program, Operation &op) {
  uint32_t count = program.launch.grid.programs[cast<tile::NumProgramsOp>(op).getAxis()];
  program.set(op.getResult(0), {Element{count}});
  return success();
}

/// One processor runs all programs.
static LogicalResult runMachine(Program &program, Operation &op) {
  bool isClock = cast<tile::MachineOp>(op).getFact() == tile::MachineFact::Clock;
  if (isClock)
    program.launch.loops->noteEffect();
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  uint64_t nanoseconds = std::chrono::nanoseconds(now).count();
  program.set(op.getResult(0), {Element{isClock ? nanoseconds : 0}});
  return success();
}

static LogicalResult runArange(Program &program, Operation &op) {
  auto arange = cast<tile::ArangeOp>(op);
  TileValue result;
  for (int64_t i = int32_t(arange.getStart()); i < int32_t(arange.getEnd()); ++i)
    result.push_back({uint32_t(i)});
  program.set(arange, std::move(result));
  return success();
}

static LogicalResult runSplat(Program &program, Operation &op) {
  Element source = program.valueOf(op.getOperand(0))[0];
  program.set(op.getResult(0), TileValue(tile::numElementsOf(op.getResult(0).getType()), source));
  return success();
}

/// expand_dims, reshape: the same elements in the same order.
static LogicalResult runCopy(Program &program, Operation &op) {
  assignValues(program, op.getResults(), op.getOperands());
  return success();
}

/// Fills the result with the source element that `sourceIndexOf` names for each result index.
template <typename Function>
static void rearrange(Program &program, Value source, Value target, Function sourceIndexOf) {
  const TileValue &elements = program.valueOf(source);
  ArrayRef<int64_t> sourceShape = tile::shapeOf(source.getType());
  ArrayRef<int64_t> targetShape = tile::shapeOf(target.getType());
  TileValue result(tile::numElementsOf(target.getType()));
  for (size_t position = 0; position < result.size(); ++position) {
    SmallVector<int64_t> index = sourceIndexOf(unflatten(position, targetShape));
    result[position] = elements[flatten(index, sourceShape)];
  }
  program.set(target, std::move(result));
}

/// broadcast, trans: every element by the index that it has in the source.
static LogicalResult runRearranged(Program &program, Operation &op) {
  SmallVector<int> dims = *cast<tile::ShapeOp>(op).getSourceDims();
  size_t rank = tile::shapeOf(op.getOperand(0).getType()).size();
  rearrange(program, op.getOperand(0), op.getResult(0), [&](const SmallVector<int64_t> &index) {
    SmallVector<int64_t> sourceIndex(rank, 0);
    for (auto [dim, sourceDim] : llvm::enumerate(dims))
      if (sourceDim >= 0)
        sourceIndex[sourceDim] = index[dim];
    return sourceIndex;
  });
  return success();
}

static LogicalResult runHistogram(Program &program, Operation &op) {
  auto histogram = cast<tile::HistogramOp>(op);
  unsigned width = elementWidth(histogram.getSource().getType().getElementType());
  TileValue counts(histogram.getType().getNumElements());
  for (const Element &element : program.valueOf(histogram.getSource())) {
    int64_t value = signExtend(element.bits, width);
    if (value >= 0 && size_t(value) < counts.size())
      ++counts[value].bits;
  }
  program.set(histogram, std::move(counts));
  return success();
}

static LogicalResult runJoin(Program &program, Operation &op) {
  const TileValue &lhs = program.valueOf(op.getOperand(0));
  const TileValue &rhs = program.valueOf(op.getOperand(1));
  TileValue result;
  for (auto [left, right] : llvm::zip(lhs, rhs))
    result.append({left, right});
  program.set(op.getResult(0), std::move(result));
  return success();
}

static LogicalResult runSplit(Program &program, Operation &op) {
  const TileValue &source = program.valueOf(op.getOperand(0));
  TileValue lhs, rhs;
  for (size_t position = 0; position < source.size(); position += 2) {
    lhs.push_back(source[position]);
    rhs.push_back(source[position + 1]);
  }
  program.set(op.getResult(0), std::move(lhs));
  program.set(op.getResult(1), std::move(rhs));
  return success();
}

static LogicalResult runGather(Program &program, Operation &op) {
  auto gather = cast<tile::GatherOp>(op);
  const TileValue &source = program.valueOf(gather.getSource());
  const TileValue &indices = program.valueOf(gather.getIndices());
  ArrayRef<int64_t> sourceShape = gather.getSource().getType().getShape();
  ArrayRef<int64_t> shape = gather.getIndices().getType().getShape();
  unsigned width = elementWidth(gather.getIndices().getType().getElementType());
  int64_t extent = sourceShape[gather.getAxis()];
  TileValue result(indices.size());
  for (size_t position = 0; position < indices.size(); ++position) {
    int64_t chosen = signExtend(indices[position].bits, width);
    if (chosen < 0 || chosen >= extent)
      return failAt(program, op, Code::GatherIndex,
                    "gather index " + std::to_string(chosen) + " is outside an axis of extent " +
                        std::to_string(extent),
                    position, shape);
    SmallVector<int64_t> index = unflatten(position, shape);
    index[gather.getAxis()] = chosen;
    result[position] = source[flatten(index, sourceShape)];
  }
  program.set(gather, std::move(result));
  return success();
}

static LogicalResult runSelect(Program &program, Operation &op) {
  auto select = cast<arith::SelectOp>(op);
  const TileValue &condition = program.valueOf(select.getCondition());
  const TileValue &onTrue = program.valueOf(select.getTrueValue());
  const TileValue &onFalse = program.valueOf(select.getFalseValue());
  TileValue result(onTrue.size());
  for (size_t position = 0; position < result.size(); ++position) {
    bool isTrue = condition[condition.size() == 1 ? 0 : position].bits != 0;
    result[position] = isTrue ? onTrue[position] : onFalse[position];
  }
  program.set(select, std::move(result));
  return success();
}

void tw::reference::addShapeMeanings(Meanings &meanings) {
  meanings["tile.program_id"].structured = runProgramId;
  meanings["tile.num_programs"].structured = runNumPrograms;
  meanings["tile.machine"].structured = runMachine;
  meanings["tile.arange"].structured = runArange;
  meanings["tile.splat"].structured = runSplat;
  for (const char *name : {"tile.expand_dims", "tile.reshape"})
    meanings[name].structured = runCopy;
  meanings["tile.broadcast"].structured = runRearranged;
  meanings["tile.trans"].structured = runRearranged;
  meanings["tile.join"].structured = runJoin;
  meanings["tile.split"].structured = runSplit;
  meanings["tile.gather"].structured = runGather;
  meanings["tile.histogram"].structured = runHistogram;
  meanings["arith.select"].structured = runSelect;
}
