// Making tiles and changing their shapes: no data moves, registers are renamed.
#include "ir/Diagnostic.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static LogicalResult needsConversion(Operation *op) {
  return emitCoded(op, Code::CompilerFault)
         << "the layouts of '" << op->getName() << "' need a conversion";
}

/// The result's registers are the source's, where `wanted` says which element each one holds.
static LogicalResult rename(SimtFunction &f, Operation *op, const LinearLayout &wanted) {
  Value source = op->getOperand(0);
  std::optional<SmallVector<uint32_t>> from = wanted.registersFrom(layoutOf(source.getType()));
  if (!from)
    return needsConversion(op);
  Registers result;
  for (uint32_t reg : *from)
    result.push_back(f.registersOf(source)[reg]);
  f.setRegisters(op->getResult(0), result);
  return success();
}

/// Returns the result's layout with the dimensions that the broadcast repeats collapsed to
/// extent 1.
static LinearLayout layoutBeforeBroadcast(BroadcastOp op) {
  LinearLayout layout = layoutOf(op.getType());
  for (auto [dim, extent] : llvm::enumerate(shapeOf(op.getSource().getType())))
    if (extent == 1)
      layout = layout.withDimCollapsed(dim);
  return layout;
}

static LinearLayout untransposed(TransOp op) {
  SmallVector<int32_t> inverse(op.getOrder().size());
  for (auto [position, dim] : llvm::enumerate(op.getOrder()))
    inverse[dim] = position;
  return layoutOf(op.getType()).transposed(inverse);
}

static LogicalResult lowerArange(SimtFunction &f, ArangeOp op) {
  const LinearLayout &layout = layoutOf(op.getType());
  int64_t start = int32_t(op.getStart());
  Registers result;
  for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg) {
    Value index = f.coordinate(layout, 0, reg);
    if (start != 0)
      index = f.create<arith::AddIOp>(index, f.constantI32(start));
    result.push_back(index);
  }
  f.setRegisters(op, result);
  return success();
}

/// The registers to flip to reach the element whose index differs by `distance`, or nothing.
static std::optional<uint32_t> registersBetween(const LinearLayout &layout, uint32_t distance) {
  BitMatrix matrix;
  matrix.numRows = 32;
  matrix.columns.assign(layout.bases(Place::Register).begin(), layout.bases(Place::Register).end());
  std::optional<uint64_t> solution = matrix.solve(distance);
  return solution ? std::optional<uint32_t>(uint32_t(*solution)) : std::nullopt;
}

static LogicalResult lowerJoin(SimtFunction &f, JoinOp op) {
  const LinearLayout &layout = layoutOf(op.getType());
  LinearLayout halves = layout.withoutDim(layout.rank() - 1);
  const LinearLayout &source = layoutOf(op.getLhs().getType());
  // The new dimension's index is the lowest bit of an element: it must be a register's business.
  for (Place place : {Place::Lane, Place::Warp})
    for (uint32_t basis : layout.bases(place))
      if (basis & 1)
        return needsConversion(op);
  SmallVector<uint32_t> registers;
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp, Place::Cta})
    for (uint32_t basis : layout.bases(place))
      bases[unsigned(place)].push_back(basis >> 1);
  std::optional<SmallVector<uint32_t>> from =
      LinearLayout(source.shape(), bases).registersFrom(source);
  if (!from)
    return needsConversion(op);
  Registers result;
  for (auto [reg, sourceReg] : llvm::enumerate(*from)) {
    bool isRight = layout.apply(Place::Register, reg) & 1;
    result.push_back(f.registersOf(isRight ? op.getRhs() : op.getLhs())[sourceReg]);
  }
  f.setRegisters(op, result);
  return success();
}

static LogicalResult lowerSplit(SimtFunction &f, SplitOp op) {
  const LinearLayout &source = layoutOf(op.getSource().getType());
  const LinearLayout &layout = layoutOf(op.getLhs().getType());
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp, Place::Cta})
    for (uint32_t basis : layout.bases(place))
      bases[unsigned(place)].push_back(basis << 1);
  std::optional<SmallVector<uint32_t>> from =
      LinearLayout(source.shape(), bases).registersFrom(source);
  std::optional<uint32_t> toRight = registersBetween(source, 1);
  if (!from || !toRight)
    return needsConversion(op);
  Registers left, right;
  for (uint32_t reg : *from) {
    left.push_back(f.registersOf(op.getSource())[reg]);
    right.push_back(f.registersOf(op.getSource())[reg ^ *toRight]);
  }
  f.setRegisters(op.getLhs(), left);
  f.setRegisters(op.getRhs(), right);
  return success();
}

LogicalResult SimtFunction::lowerShape(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ArangeOp arange) { return lowerArange(*this, arange); })
      .Case([&](SplatOp splat) {
        uint32_t count = layoutOf(splat.getType()).size(Place::Register);
        setRegisters(splat, Registers(count, scalarOf(splat.getSource())));
        return success();
      })
      .Case<ExpandDimsOp, ReshapeOp>([&](Operation *shape) {
        const LinearLayout &layout = layoutOf(shape->getResult(0).getType());
        return rename(*this, shape, layout.reshaped(shapeOf(shape->getOperand(0).getType())));
      })
      .Case([&](BroadcastOp broadcast) {
        return rename(*this, broadcast, layoutBeforeBroadcast(broadcast));
      })
      .Case([&](TransOp trans) { return rename(*this, trans, untransposed(trans)); })
      .Case([&](JoinOp join) { return lowerJoin(*this, join); })
      .Case([&](SplitOp split) { return lowerSplit(*this, split); })
      .Default([](Operation *other) { return needsConversion(other); });
}
