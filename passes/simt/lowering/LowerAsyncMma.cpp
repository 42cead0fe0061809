// Lowers products by matrix instructions of several warps, and the waiting for them.
#include "ir/layout/OperandSlabs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/lowering/thread/Fragments.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "passes/simt/lowering/thread/Storage.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::AsyncMmaAttr;

namespace {
/// The blocks of a product that single instructions compute, and their steps of k.
struct Blocks {
  explicit Blocks(MmaAsyncOp op);
  int64_t rowsOfGroup; // of the warps that compute an instruction together
  int64_t rows;        // of all warps, from one block to the next below
  int64_t columns, steps, depth;
  int64_t numRowBlocks, numColumnBlocks;
};

/// An operand as instructions read it.
struct GroupOperand {
  SmallVector<Value> values; // the address of its slabs, or words
  SlabsAttr slabs;           // null of words
  SmallVector<int64_t> offsets;
};
} // namespace

Blocks::Blocks(MmaAsyncOp op) {
  AsyncMmaAttr instruction = op.getInstruction();
  tile::MmaAttr mma = instruction.getMma();
  ArrayRef<int64_t> shape = tile::shapeOf(op.getType());
  int64_t numWarps = layoutOf(op.getType()).size(Place::Warp);
  auto b = op.getB().getType().getShape();
  rowsOfGroup = int64_t(mma.getM()) * instruction.getWarps();
  rows = int64_t(mma.getM()) * numWarps;
  columns = std::min<int64_t>(shape[1], instruction.getColumns());
  depth = mma.getK();
  steps = b[op.getTransposedB() ? 1 : 0] / depth;
  numRowBlocks = shape[0] / rows;
  numColumnBlocks = shape[1] / columns;
}

/// An operand in shared memory: the rows of A from those of the warps of `group` on, which may be
/// null for the first, or B.
static FailureOr<GroupOperand> operandIn(SimtFunction &f, MmaAsyncOp op, MmaOperand which,
                                         Value group, const Blocks &blocks) {
  bool isA = which == MmaOperand::A;
  Value buffer = isA ? op.getA() : Value(op.getB());
  FailureOr<SharedStart> start = sharedStartOf(f, buffer, op);
  if (failed(start))
    return failure();
  auto type = cast<SharedType>(buffer.getType());
  OperandSlabs slabs = *slabsOf(type.getLayout().getValue(), bytesInShared(type.getElementType()),
                                op.getInstruction().getSpanBytes());
  // A lies as [M, K], B as [K, N].
  unsigned depthDim = (isA ? 1 : 0) ^ unsigned(isA ? op.getTransposedA() : op.getTransposedB());
  bool isAcross = slabs.dim != depthDim;
  auto offsetOf = [&](int64_t outer, int64_t depth) {
    return int64_t(isAcross ? slabs.offsetOf(depth, outer) : slabs.offsetOf(outer, depth));
  };
  GroupOperand operand;
  operand.slabs =
      SlabsAttr::get(op.getContext(), slabs.spanBytes, unsigned(slabs.slabBytes), isAcross);
  int64_t count = isA ? blocks.numRowBlocks : blocks.numColumnBlocks;
  for (int64_t block = 0; block < count; ++block)
    for (int64_t step = 0; step < blocks.steps; ++step)
      operand.offsets.push_back(
          offsetOf(block * (isA ? blocks.rows : blocks.columns), step * blocks.depth));
  Value offset;
  if (group)
    offset = f.create<arith::MulIOp>(group, f.constantI32(offsetOf(blocks.rowsOfGroup, 0)));
  operand.values.push_back(sharedAddressIn(f, *start, offset));
  return operand;
}

/// A left operand in registers, block by block and step by step.
static GroupOperand operandInRegisters(SimtFunction &f, MmaAsyncOp op, const Blocks &blocks) {
  Fragments fragments(f, op.getA(), op.getInstruction().getMma(), MmaOperand::A);
  GroupOperand operand;
  for (int64_t block = 0; block < blocks.numRowBlocks; ++block)
    for (int64_t step = 0; step < blocks.steps; ++step) {
      uint32_t first = fragments.firstAt({block * blocks.rows, step * blocks.depth});
      llvm::append_range(operand.values, packWords(f, fragments.elementsAt(first)));
    }
  return operand;
}

/// Taken from the first lane, so that a machine knows the address to be that of all lanes.
Value SimtFunction::groupOfWarp(unsigned warpsOfGroup) {
  return emitInPrologue([&]() -> Value {
    Value group = create<arith::ShRUIOp>(warp, constantI32(llvm::Log2_32(warpsOfGroup)));
    return shuffle(ShuffleMode::Index, group, constantI32(0));
  });
}

LogicalResult SimtFunction::lowerMmaAsync(MmaAsyncOp op) {
  Blocks blocks(op);
  tile::MmaAttr mma = op.getInstruction().getMma();
  FailureOr<GroupOperand> a, b;
  if (isa<SharedType>(op.getA().getType()))
    a = operandIn(*this, op, MmaOperand::A,
                  blocks.rows == blocks.rowsOfGroup ? Value()
                                                    : groupOfWarp(op.getInstruction().getWarps()),
                  blocks);
  else
    a = operandInRegisters(*this, op, blocks);
  b = operandIn(*this, op, MmaOperand::B, /*group=*/nullptr, blocks);
  if (failed(a) || failed(b))
    return failure();
  Fragments acc(*this, op.getAcc(), mma, MmaOperand::Accumulator);
  SmallVector<uint32_t> order; // of the accumulator's registers
  for (int64_t row = 0; row < blocks.numRowBlocks; ++row)
    for (int64_t column = 0; column < tile::shapeOf(op.getType())[1]; column += mma.getN()) {
      uint32_t first = acc.firstAt({row * blocks.rows, column});
      for (uint32_t reg = 0; reg < acc.all().size() / acc.count(); ++reg)
        order.push_back(first + reg);
    }
  SmallVector<Value> elements =
      llvm::map_to_vector(order, [&](uint32_t reg) { return acc.all()[reg]; });
  SmallVector<Value> words = packWords(*this, elements);
  SmallVector<Type> types(ValueRange(words).getTypes());
  auto group = create<GroupMmaOp>(types, a->values, b->values.front(),
                                  isZeroTile(op.getAcc()) ? ValueRange() : ValueRange(words),
                                  op.getInstruction(), blocks.columns, blocks.steps, a->slabs,
                                  b->slabs, a->offsets, b->offsets);
  Registers results(elements.size());
  Type element = elements.front().getType();
  for (auto [reg, value] : llvm::zip(order, unpackWords(*this, group.getResults(), element)))
    results[reg] = value;
  setRegisters(op, results);
  return success();
}

LogicalResult SimtFunction::lowerMmaWait(MmaWaitOp op) {
  SmallVector<Value> words;
  for (Value acc : op.getAccs())
    llvm::append_range(words, packWords(*this, registersOf(acc)));
  SmallVector<Type> types(ValueRange(words).getTypes());
  auto wait = create<GroupWaitOp>(types, op.getPending(), words);
  ValueRange done = wait.getResults();
  for (auto [acc, result] : llvm::zip(op.getAccs(), op.getResults())) {
    const Registers &before = registersOf(acc);
    Type element = before.front().getType();
    size_t count = before.size() / std::max(1u, 32 / element.getIntOrFloatBitWidth());
    setRegisters(result, unpackWords(*this, done.take_front(count), element));
    done = done.drop_front(count);
  }
  return success();
}
