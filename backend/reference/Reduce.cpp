// The meaning of reductions, scans and matrix products.
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tw;
using namespace tw::reference;

namespace {
/// How a tile's elements fall into lines along one axis: element k of line (outer, inner) is at
/// `outer * length * stride + k * stride + inner`.
struct AxisLines {
  int64_t numOuter = 1, length = 1, stride = 1;

  AxisLines(ArrayRef<int64_t> shape, int64_t axis) : length(shape[axis]) {
    for (int64_t extent : shape.take_front(axis))
      numOuter *= extent;
    for (int64_t extent : shape.drop_front(axis + 1))
      stride *= extent;
  }
  int64_t numLines() const { return numOuter * stride; }
  int64_t position(int64_t line, int64_t k) const {
    return (line / stride * length + k) * stride + line % stride;
  }
};
} // namespace

/// One element of each source.
using Row = llvm::SmallVector<Element, 2>;

static Row rowAt(ArrayRef<const TileValue *> sources, int64_t position) {
  Row row;
  for (const TileValue *source : sources)
    row.push_back((*source)[position]);
  return row;
}

/// `left` becomes the region's combination of `left` and `right`.
static LogicalResult combineRows(Program &program, Block &combine, Row &left, const Row &right) {
  for (size_t i = 0; i < left.size(); ++i) {
    program.set(combine.getArgument(i), {left[i]});
    program.set(combine.getArgument(left.size() + i), {right[i]});
  }
  if (failed(runBlock(program, combine)))
    return failure();
  for (auto [element, value] : llvm::zip(left, combine.getTerminator()->getOperands()))
    element = program.valueOf(value)[0];
  return success();
}

/// Copies: running the region adds values to the program and would move what references point to.
static llvm::SmallVector<TileValue> copyOperands(Program &program, Operation &op) {
  llvm::SmallVector<TileValue> copies;
  for (Value operand : op.getOperands())
    copies.push_back(program.valueOf(operand));
  return copies;
}

static llvm::SmallVector<const TileValue *> pointersTo(ArrayRef<TileValue> values) {
  llvm::SmallVector<const TileValue *> pointers;
  for (const TileValue &value : values)
    pointers.push_back(&value);
  return pointers;
}

/// Folds each line from left to right; other orders are right as far as the combination is
/// associative.
static LogicalResult runReduce(Program &program, Operation &op) {
  auto reduce = cast<tile::ReduceOp>(op);
  llvm::SmallVector<TileValue> copies = copyOperands(program, op);
  llvm::SmallVector<const TileValue *> sources = pointersTo(copies);
  AxisLines lines(tile::shapeOf(reduce.getSources()[0].getType()), reduce.getAxis());
  llvm::SmallVector<TileValue> results(sources.size(), TileValue(lines.numLines()));
  for (int64_t line = 0; line < lines.numLines(); ++line) {
    Row folded = rowAt(sources, lines.position(line, 0));
    for (int64_t k = 1; k < lines.length; ++k)
      if (failed(combineRows(program, reduce.getCombine().front(), folded,
                             rowAt(sources, lines.position(line, k)))))
        return failure();
    for (auto [result, element] : llvm::zip(results, folded))
      result[line] = element;
  }
  for (auto [target, result] : llvm::zip(op.getResults(), results))
    program.set(target, std::move(result));
  return success();
}

/// A reverse scan is the scan of the reversed line, reversed.
static LogicalResult runScan(Program &program, Operation &op) {
  auto scan = cast<tile::ScanOp>(op);
  llvm::SmallVector<TileValue> copies = copyOperands(program, op);
  llvm::SmallVector<const TileValue *> sources = pointersTo(copies);
  AxisLines lines(tile::shapeOf(scan.getSources()[0].getType()), scan.getAxis());
  llvm::SmallVector<TileValue> results(copies);
  for (int64_t line = 0; line < lines.numLines(); ++line) {
    Row prefix;
    for (int64_t step = 0; step < lines.length; ++step) {
      int64_t k = scan.getReverse() ? lines.length - 1 - step : step;
      int64_t position = lines.position(line, k);
      Row row = rowAt(sources, position);
      if (step == 0)
        prefix = row;
      else if (failed(combineRows(program, scan.getCombine().front(), prefix, row)))
        return failure();
      for (auto [result, element] : llvm::zip(results, prefix))
        result[position] = element;
    }
  }
  for (auto [target, result] : llvm::zip(op.getResults(), results))
    program.set(target, std::move(result));
  return success();
}

/// One element of a dot, given its start value and the operands' elements along K.
static uint64_t dotElement(Type acc, Type a, Type b, uint64_t start, int64_t depth,
                           llvm::function_ref<uint64_t(int64_t)> lhs,
                           llvm::function_ref<uint64_t(int64_t)> rhs) {
  if (isa<FloatType>(acc)) {
    double sum = toDouble(acc, start);
    for (int64_t k = 0; k < depth; ++k)
      sum += toDouble(a, lhs(k)) * toDouble(b, rhs(k));
    return fromDouble(acc, sum);
  }
  uint64_t sum = start;
  for (int64_t k = 0; k < depth; ++k)
    sum += uint64_t(signExtend(lhs(k), elementWidth(a))) *
           uint64_t(signExtend(rhs(k), elementWidth(b)));
  return truncateToWidth(sum, elementWidth(acc));
}

/// Floats accumulate in double and are rounded once; integers are signed and wrap.
static LogicalResult runDot(Program &program, Operation &op) {
  auto dot = cast<tile::DotOp>(op);
  const TileValue &a = program.valueOf(dot.getA()), &b = program.valueOf(dot.getB());
  ArrayRef<int64_t> aShape = dot.getA().getType().getShape();
  ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back(), depth = aShape.back();
  Type aType = dot.getA().getType().getElementType();
  Type bType = dot.getB().getType().getElementType();
  Type accType = dot.getAcc().getType().getElementType();
  TileValue result = program.valueOf(dot.getAcc());
  for (int64_t position = 0; position < int64_t(result.size()); ++position) {
    int64_t column = position % columns, row = position / columns; // row counts over all batches
    int64_t batch = row / rows;
    result[position].bits = dotElement(
        accType, aType, bType, result[position].bits, depth,
        [&](int64_t k) { return a[row * depth + k].bits; },
        [&](int64_t k) { return b[(batch * depth + k) * columns + column].bits; });
  }
  program.set(dot.getResult(), std::move(result));
  return success();
}

void tw::reference::addReduceMeanings(Meanings &meanings) {
  meanings["tile.reduce"].structured = runReduce;
  meanings["tile.scan"].structured = runScan;
  meanings["tile.dot"].structured = runDot;
}
