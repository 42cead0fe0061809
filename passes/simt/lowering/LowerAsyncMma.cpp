// Lowers products by matrix instructions of several warps, and the waiting for them.
#include "ir/Diagnostic.h"
#include "ir/layout/OperandSlabs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/lowering/thread/Fragments.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "runtime/codes/Codes.h"

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
  /// Some of its blocks' steps.
  GroupOperand part(size_t first, size_t count) const;
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
  if (op.getPartialDepth())
    columns = std::min(columns, columnsOfPartialSums(instruction));
  numColumnBlocks = shape[1] / columns;
}

/// Checks that an operand begins where its pieces change places as the machine expects, and that
/// what is added for a slot and for a warp's rows is whole pieces: machines name addresses by the
/// number of a piece, and add such numbers.
static LogicalResult checkPlace(MmaAsyncOp op, const SharedStart &start, const OperandSlabs &slabs,
                                SharedType buffer, int64_t bytesOfGroup) {
  constexpr uint64_t pieceBytes = 16;
  uint64_t bytesOfSlot = start.slotBytes ? bytesOf(buffer) : 0;
  if (start.bytes % slabs.groupBytes() == 0 &&
      (bytesOfSlot | uint64_t(bytesOfGroup)) % pieceBytes == 0)
    return success();
  return emitCoded(op, Code::CompilerFault)
         << "an operand begins at " << start.bytes << " in shared memory, with slots of "
         << bytesOf(buffer) << " bytes: instructions need multiples of " << slabs.groupBytes()
         << ", and slots of whole pieces of " << pieceBytes;
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
  int64_t bytesOfGroup = group ? offsetOf(blocks.rowsOfGroup, 0) : 0;
  if (failed(checkPlace(op, *start, slabs, type, bytesOfGroup)))
    return failure();
  Value offset;
  if (group)
    offset = f.create<arith::MulIOp>(group, f.constantI32(bytesOfGroup));
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

GroupOperand GroupOperand::part(size_t first, size_t count) const {
  constexpr size_t wordsOfFragment = 4;
  GroupOperand result = {values, slabs, {}};
  if (slabs)
    result.offsets.assign(offsets.begin() + first, offsets.begin() + first + count);
  else
    result.values.assign(values.begin() + first * wordsOfFragment,
                         values.begin() + (first + count) * wordsOfFragment);
  return result;
}

static GroupMmaOp startGroup(SimtFunction &f, MmaAsyncOp op, const GroupOperand &a,
                             const GroupOperand &b, ArrayRef<Type> types, ValueRange acc,
                             int64_t columns, int64_t steps, bool isZeroed = false) {
  return f.create<GroupMmaOp>(types, a.values, b.values.front(), acc, op.getInstruction(), columns,
                              steps, a.slabs, b.slabs, a.offsets, b.offsets, isZeroed);
}

/// Multiplies block by block, and of each so many steps of k at a time as its sum may have. The sum
/// begins at 0, is waited for, and is added to the accumulator, whose words are replaced. All sums
/// are in the same registers: given others, ptxas 13.0 starts products ahead until it must spill.
static void addPartialSums(SimtFunction &f, MmaAsyncOp op, const Blocks &blocks,
                           const GroupOperand &a, const GroupOperand &b,
                           MutableArrayRef<Value> words) {
  size_t numBlocks = blocks.numRowBlocks * blocks.numColumnBlocks;
  size_t wordsOfBlock = words.size() / numBlocks;
  SmallVector<Type> types(wordsOfBlock, f.builder.getF32Type());
  int64_t most = int64_t(*op.getPartialDepth()) / blocks.depth;
  ValueRange sums;
  for (size_t block = 0; block < numBlocks; ++block)
    for (int64_t first = 0; first < blocks.steps; first += most) {
      int64_t count = std::min(most, blocks.steps - first);
      GroupOperand left = a.part(block / blocks.numColumnBlocks * blocks.steps + first, count),
                   right = b.part(block % blocks.numColumnBlocks * blocks.steps + first, count);
      auto group = startGroup(f, op, left, right, types, sums, blocks.columns, count,
                              /*isZeroed=*/!sums.empty());
      sums = f.create<GroupWaitOp>(types, /*pending=*/0, group.getResults()).getResults();
      bool begins = first == 0 && isZeroTile(op.getAcc());
      for (auto [word, sum] : llvm::zip(words.slice(block * wordsOfBlock, wordsOfBlock), sums))
        word = begins ? sum : Value(f.create<arith::AddFOp>(word, sum));
    }
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
  if (op.getPartialDepth())
    addPartialSums(*this, op, blocks, *a, *b, words);
  else
    words = llvm::to_vector_of<Value>(
        startGroup(*this, op, *a, *b, types,
                   isZeroTile(op.getAcc()) ? ValueRange() : ValueRange(words), blocks.columns,
                   blocks.steps)
            .getResults());
  Registers results(elements.size());
  Type element = elements.front().getType();
  for (auto [reg, value] : llvm::zip(order, unpackWords(*this, words, element)))
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
