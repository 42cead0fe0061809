// Exchanges between the lanes of a wave: data-parallel primitives (DPP) that the instruction which
// uses the value takes as an operand, where a pattern is one; else a permutation through the queue
// of LDS, which uses no memory there.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// This thread's number in its wave, which is whole: layouts ask for the same number.
static Value laneOf(Lowering &lowering) {
  if (lowering.lane)
    return lowering.lane;
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&lowering.kernel->getRegion(0).front());
  lowering.lane = LLVM::AndOp::create(b, lowering.loc, threadId(lowering),
                                      constantI32(lowering, lowering.arch.warpSize - 1));
  return lowering.lane;
}

//===-- What users make of exchanges ---------------------------------------------------------===//

/// The distance of an exchange with another lane by an exclusive or; 0 where it is none.
static unsigned distanceOf(simt::ShuffleOp op) {
  APInt distance;
  bool isExchange = op.getMode() == simt::ShuffleMode::Xor &&
                    matchPattern(op.getLane(), m_ConstantInt(&distance));
  return isExchange && distance.ult(64) ? unsigned(distance.getZExtValue()) : 0;
}

/// The operand of a commutative operation beside another one; null where it is none.
static Value operandBeside(Operation *op, Value operand) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !op->hasTrait<OpTrait::IsCommutative>())
    return {};
  return op->getOperand(op->getOperand(0) == operand ? 1 : 0);
}

/// An exchange whose value and own operand are combined to `value`, in either order; null: none.
static simt::ShuffleOp combinedExchange(Value value) {
  Operation *op = value.getDefiningOp();
  for (unsigned side = 0; op && side < 2 && op->getNumOperands() == 2; ++side) {
    auto exchange = op->getOperand(side).getDefiningOp<simt::ShuffleOp>();
    if (exchange && distanceOf(exchange) != 0 &&
        operandBeside(op, exchange.getResult()) == exchange.getValue())
      return exchange;
  }
  return {};
}

/// Returns true if all lanes of a row of 16 have the same value: they combined theirs with those of
/// other lanes until each had the combination of all. Combining over distances d, e, ... makes the
/// value the same in lanes that differ by exclusive ors of these, and four independent distances
/// reach all 16 lanes.
static bool isOfWholeRow(Value value) {
  SmallVector<unsigned, 4> basis; // by descending greatest bit
  while (simt::ShuffleOp exchange = combinedExchange(value)) {
    unsigned distance = distanceOf(exchange);
    for (unsigned known : basis)
      distance = std::min(distance, distance ^ known);
    if (distance > 15)
      return false;
    if (distance != 0)
      basis.push_back(distance);
    llvm::sort(basis, std::greater<>());
    value = exchange.getValue();
  }
  return basis.size() == 4;
}

/// Returns the operation that combines the value of an exchange with the own one, if nothing else
/// uses the exchange; null: none.
static Operation *onlyCombination(simt::ShuffleOp op) {
  Operation *user = op->hasOneUse() ? *op->user_begin() : nullptr;
  return user && operandBeside(user, op.getResult()) == op.getValue() ? user : nullptr;
}

static bool isWord(Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 32; }

/// Finds the exchange of rows in front of one of halves, where lanes combine what they have until
/// all have the combination of the whole wave, and nobody needs that of a half; null: none.
static simt::ShuffleOp rowsBeforeHalves(simt::ShuffleOp halves) {
  Value half = halves.getValue();
  simt::ShuffleOp rows = combinedExchange(half);
  bool isWhole = distanceOf(halves) == 32 && rows && distanceOf(rows) == 16 &&
                 isWord(half.getType()) && isOfWholeRow(rows.getValue());
  bool isAlone = isWhole && onlyCombination(rows) && onlyCombination(halves) && half.hasNUses(2);
  return isAlone ? rows : nullptr;
}

void tw::amd::noteRows(Lowering &lowering) {
  // From RDNA 1 on, waves of 32 lanes have two rows, which change places by one instruction.
  bool broadcastsRows = lowering.arch.generation == 9 && !lowering.arch.hasRowExchange;
  lowering.kernel->walk([&](simt::ShuffleOp op) {
    if (distanceOf(op) == 16 && isOfWholeRow(op.getValue()))
      lowering.ofWholeRows.insert(op);
    if (simt::ShuffleOp rows = broadcastsRows ? rowsBeforeHalves(op) : nullptr)
      lowering.broadcasts.insert_range(SmallVector<Operation *>{rows, op});
  });
}

//===-- Exchanges ----------------------------------------------------------------------------===//

namespace {
/// Control words of DPP ("DPP Control Values" of the instruction sets).
enum DppControl : int64_t {
  kXor1 = 0xB1,         // quad_perm [1, 0, 3, 2]
  kXor2 = 0x4E,         // quad_perm [2, 3, 0, 1]
  kXor3 = 0x1B,         // quad_perm [3, 2, 1, 0]
  kRotateBy8 = 0x128,   // row_ror:8
  kMirror = 0x140,      // row_mirror: xor 15
  kHalfMirror = 0x141,  // row_half_mirror: xor 7
  kBroadcast15 = 0x142, // row_bcast:15: the last lane of each row to the next row
  kBroadcast31 = 0x143, // row_bcast:31: the last lane of the lower half to the upper
  kRowXor = 0x160,      // row_xmask:n, from RDNA 1 on
};
} // namespace

/// The value of another lane by one DPP control. All lanes are read from, so nothing keeps the old
/// value.
static Value movedBy(Lowering &lowering, Value word, int64_t control) {
  Type i1 = lowering.builder.getI1Type();
  Value all = constantI32(lowering, 15);
  Value old = LLVM::PoisonOp::create(lowering.builder, lowering.loc, word.getType());
  return callIntrinsic(
      lowering, "amdgcn.update.dpp.i32", word.getType(),
      {old, word, constantI32(lowering, control), all, all, constantOf(lowering, i1, 1)});
}

/// The control words whose patterns one after another are an exclusive or below 16.
static SmallVector<int64_t> controlsOf(const AmdArch &arch, unsigned distance) {
  switch (distance) {
  case 1:
    return {kXor1};
  case 2:
    return {kXor2};
  case 3:
    return {kXor3};
  case 7:
    return {kHalfMirror};
  case 8:
    return {kRotateBy8};
  case 15:
    return {kMirror};
  }
  if (arch.generation > 9)
    return {kRowXor + int64_t(distance)};
  switch (distance) {
  case 4:
    return {kHalfMirror, kXor3};
  case 5:
    return {kHalfMirror, kXor2};
  case 6:
    return {kHalfMirror, kXor1};
  case 12:
    return {kMirror, kXor3};
  case 13:
    return {kMirror, kXor2};
  case 14:
    return {kMirror, kXor1};
  case 9:
    return {kRotateBy8, kXor1};
  case 10:
    return {kRotateBy8, kXor2};
  default:
    return {kRotateBy8, kXor3}; // 11
  }
}

/// A word beside that of the other row or half, with both operands of the instruction the word: one
/// of the results has the own where the other has the other's.
static std::pair<Value, Value> swapRows(Lowering &lowering, Value word, unsigned distance) {
  OpBuilder &b = lowering.builder;
  Type i32 = b.getI32Type();
  Type pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
  Value no = constantOf(lowering, b.getI1Type(), 0);
  Value both =
      callIntrinsic(lowering, distance == 16 ? "amdgcn.permlane16.swap" : "amdgcn.permlane32.swap",
                    pair, {word, word, no, no});
  return {LLVM::ExtractValueOp::create(b, lowering.loc, both, int64_t(0)),
          LLVM::ExtractValueOp::create(b, lowering.loc, both, int64_t(1))};
}

/// Rows of 16 lanes change places, or halves of a wave of 64.
static Value acrossRows(Lowering &lowering, Value word, unsigned distance) {
  OpBuilder &b = lowering.builder;
  Type i32 = b.getI32Type();
  if (lowering.arch.hasRowExchange) {
    auto [first, second] = swapRows(lowering, word, distance);
    Value bit =
        LLVM::AndOp::create(b, lowering.loc, laneOf(lowering), constantI32(lowering, distance));
    Value isLower = LLVM::ICmpOp::create(b, lowering.loc, LLVM::ICmpPredicate::eq, bit,
                                         constantI32(lowering, 0));
    return LLVM::SelectOp::create(b, lowering.loc, isLower, second, first);
  }
  if (lowering.arch.generation > 9) {
    Value no = constantOf(lowering, b.getI1Type(), 0);
    Value old = LLVM::PoisonOp::create(b, lowering.loc, i32);
    return callIntrinsic(lowering, "amdgcn.permlanex16.i32", i32,
                         {old, word, constantI32(lowering, 0x76543210),
                          constantI32(lowering, int32_t(0xfedcba98)), no, no});
  }
  return callIntrinsic(lowering, "amdgcn.ds.swizzle", i32, {word, constantI32(lowering, 0x401F)});
}

/// Reads the word of a lane by its number.
static Value readLane(Lowering &lowering, Value word, Value lane) {
  OpBuilder &b = lowering.builder;
  if (matchPattern(lane, m_Constant()))
    return callIntrinsic(lowering, "amdgcn.readlane", b.getI32Type(), {word, lane});
  Value bytes = LLVM::ShlOp::create(b, lowering.loc, lane, constantI32(lowering, 2));
  return callIntrinsic(lowering, "amdgcn.ds.bpermute", b.getI32Type(), {bytes, word});
}

/// Another lane by a constant exclusive or.
static Value exchange(Lowering &lowering, Value word, unsigned distance) {
  bool crossesHalves = distance & 32, crossesRows = distance & 16;
  bool isSwap = lowering.arch.hasRowExchange || (distance & 32) == 0;
  if (!isSwap || (crossesHalves && crossesRows && !lowering.arch.hasRowExchange)) {
    OpBuilder &b = lowering.builder;
    Value lane =
        LLVM::XOrOp::create(b, lowering.loc, laneOf(lowering), constantI32(lowering, distance));
    return readLane(lowering, word, lane);
  }
  if (crossesHalves)
    word = acrossRows(lowering, word, 32);
  if (crossesRows)
    word = acrossRows(lowering, word, 16);
  if (distance & 15)
    for (int64_t control : controlsOf(lowering.arch, distance & 15))
      word = movedBy(lowering, word, control);
  return word;
}

/// Combines rows without LDS where each has one value: the last row gets the combination of all,
/// other rows get anything, and all lanes read the last lane's.
static Value combineBroadcasts(Lowering &lowering, simt::ShuffleOp op) {
  if (!lowering.broadcasts.contains(op))
    return {};
  OpBuilder &b = lowering.builder;
  Type type = op.getType(), i32 = b.getI32Type();
  bool isOfHalves = distanceOf(op) == 32;
  Value moved = movedBy(lowering, toInteger(b, lowering.loc, op.getValue()),
                        isOfHalves ? kBroadcast31 : kBroadcast15);
  if (isOfHalves) {
    Value whole = onlyCombination(op)->getResult(0);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(whole);
    Value word = toInteger(b, lowering.loc, whole);
    Value last = callIntrinsic(lowering, "amdgcn.readlane.i32", i32,
                               {word, constantI32(lowering, lowering.arch.warpSize - 1)});
    Value shared = fromInteger(b, lowering.loc, last, type);
    whole.replaceAllUsesExcept(shared, (word == whole ? last : word).getDefiningOp());
  }
  return fromInteger(b, lowering.loc, moved, type);
}

/// An exchange of rows whose only user combines its value with the own one, in whatever order: the
/// user takes both results of the instruction as they are.
static Value combineRows(Lowering &lowering, simt::ShuffleOp op) {
  unsigned distance = distanceOf(op);
  Type type = op.getType();
  Operation *user = onlyCombination(op);
  if (!lowering.arch.hasRowExchange || (distance != 16 && distance != 32) || !isWord(type) || !user)
    return {};
  OpBuilder &b = lowering.builder;
  auto [first, second] = swapRows(lowering, toInteger(b, lowering.loc, op.getValue()), distance);
  user->setOperand(user->getOperand(0) == op.getResult() ? 1 : 0,
                   fromInteger(b, lowering.loc, second, type));
  return fromInteger(b, lowering.loc, first, type);
}

/// The other row of lanes that have one value each: any lane of it will do.
static Value otherRow(Lowering &lowering, Value word) {
  OpBuilder &b = lowering.builder;
  Value no = constantOf(lowering, b.getI1Type(), 0), first = constantI32(lowering, 0);
  return callIntrinsic(
      lowering, "amdgcn.permlanex16.i32", b.getI32Type(),
      {LLVM::PoisonOp::create(b, lowering.loc, b.getI32Type()), word, first, first, no, no});
}

Value tw::amd::lowerShuffle(Lowering &lowering, simt::ShuffleOp op) {
  if (Value combined = combineRows(lowering, op))
    return combined;
  if (Value combined = combineBroadcasts(lowering, op))
    return combined;
  bool isOfRows = lowering.arch.generation > 9 && lowering.ofWholeRows.contains(op);
  unsigned distance = distanceOf(op);
  APInt none;
  bool isOwn = op.getMode() == simt::ShuffleMode::Xor &&
               matchPattern(op.getLane(), m_ConstantInt(&none)) && none.isZero();
  return gpu::lowerShuffle(lowering, op, [&](Value word, Value lane) {
    if (isOwn)
      return word;
    if (isOfRows)
      return otherRow(lowering, word);
    if (distance != 0 && distance < lowering.arch.warpSize)
      return exchange(lowering, word, distance);
    return readLane(
        lowering, word,
        laneToRead(lowering, op.getMode(), laneOf(lowering), lane, lowering.arch.warpSize));
  });
}
