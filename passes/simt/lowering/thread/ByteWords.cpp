// Bytes in words of four: bitwise operations act on words as they are, others need the carries from
// one byte to the next kept away (Warren, Hacker's Delight, 2-18).
#include "passes/simt/lowering/thread/ByteWords.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static constexpr size_t kBytes = 4;

/// The bytes of each word of which all are among the values.
static llvm::SetVector<Value> completeWords(ArrayRef<Value> values) {
  llvm::MapVector<Value, SmallVector<Value>> words;
  for (Value value : values) {
    auto extract = value.getDefiningOp<vector::ExtractOp>();
    if (!extract || extract.hasDynamicPosition() ||
        extract.getSourceVectorType() != VectorType::get(kBytes, value.getType()))
      continue;
    SmallVector<Value> &bytes = words[extract.getSource()];
    bytes.resize(kBytes);
    bytes[extract.getStaticPosition()[0]] = value;
  }
  llvm::SetVector<Value> complete;
  for (auto &[word, bytes] : words)
    if (!llvm::is_contained(bytes, Value()))
      complete.insert(bytes.begin(), bytes.end());
  return complete;
}

SmallVector<Value> tw::simt::inWordsOfBytes(ArrayRef<Value> values) {
  llvm::SetVector<Value> ordered = completeWords(values);
  ordered.insert(values.begin(), values.end());
  return ordered.takeVector();
}

namespace {
/// Operations of words of 32 bits with constants that repeat one byte.
struct WordBuilder {
  OpBuilder &b;
  Location loc;

  Value all(uint8_t byte) {
    return arith::ConstantOp::create(b, loc,
                                     b.getI32IntegerAttr(int32_t(uint32_t(byte) * 0x01010101u)));
  }
  template <typename Op> Value make(Value lhs, Value rhs) { return Op::create(b, loc, lhs, rhs); }
  Value shifted(Value word, uint8_t amount) {
    return make<arith::ShRUIOp>(word,
                                arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(amount)));
  }
  Value add(Value word, uint8_t number) {
    Value low = make<arith::AndIOp>(word, all(0x7F));
    Value sum = make<arith::AddIOp>(low, all(number & 0x7F));
    Value upper = make<arith::XOrIOp>(word, all(number));
    return make<arith::XOrIOp>(sum, make<arith::AndIOp>(upper, all(0x80)));
  }
  Value shiftLeft(Value word, uint8_t amount) {
    Value bits = make<arith::AndIOp>(word, all(0xFF >> amount));
    return make<arith::ShLIOp>(bits,
                               arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(amount)));
  }
  Value shiftRight(Value word, uint8_t amount, bool isSigned) {
    uint8_t kept = 0xFF >> amount;
    Value bits = make<arith::AndIOp>(shifted(word, amount), all(kept));
    if (!isSigned || amount == 0)
      return bits;
    // A 1 for each negative byte, spread over the bits that came in.
    Value signs = make<arith::AndIOp>(shifted(word, 7), all(0x01));
    Value spread = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(uint8_t(~kept)));
    return make<arith::OrIOp>(bits, make<arith::MulIOp>(signs, spread));
  }
};
} // namespace

/// The operation with the constant, which is below 8 for shifts, on every byte of the word.
static Value computeWord(WordBuilder words, Operation *op, Value word, uint8_t number) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AndIOp) { return words.make<arith::AndIOp>(word, words.all(number)); })
      .Case([&](arith::OrIOp) { return words.make<arith::OrIOp>(word, words.all(number)); })
      .Case([&](arith::XOrIOp) { return words.make<arith::XOrIOp>(word, words.all(number)); })
      .Case([&](arith::AddIOp) { return words.add(word, number); })
      .Case([&](arith::SubIOp) { return words.add(word, uint8_t(-number)); })
      .Case([&](arith::ShLIOp) { return words.shiftLeft(word, number); })
      .Case<arith::ShRUIOp, arith::ShRSIOp>(
          [&](Operation *) { return words.shiftRight(word, number, isa<arith::ShRSIOp>(op)); })
      .Default([](Operation *) { return Value(); });
}

/// The one constant that all registers are.
static std::optional<uint8_t> constantOf(const Registers &registers) {
  APInt number;
  if (!llvm::all_equal(registers) || !matchPattern(registers.front(), m_ConstantInt(&number)))
    return std::nullopt;
  return uint8_t(number.getZExtValue());
}

bool tw::simt::lowerInByteWords(SimtFunction &f, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !tile::elementTypeOf(op->getResult(0).getType()).isInteger(8) ||
      !isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::AddIOp, arith::SubIOp, arith::ShLIOp,
           arith::ShRUIOp, arith::ShRSIOp>(op))
    return false;
  Registers registers = f.registersOf(op->getOperand(0));
  std::optional<uint8_t> number = constantOf(f.registersOf(op->getOperand(1)));
  llvm::SetVector<Value> complete = completeWords(registers);
  bool isWhole = llvm::all_of(registers, [&](Value value) { return complete.contains(value); });
  bool isShift = isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op);
  if (!number || complete.empty() || !isWhole || (isShift && *number > 7))
    return false;
  OpBuilder &b = f.builder;
  llvm::DenseMap<Value, Value> computed;
  for (ArrayRef<Value> rest = complete.getArrayRef(); !rest.empty();
       rest = rest.drop_front(kBytes)) {
    Value bytes = rest.front().getDefiningOp<vector::ExtractOp>().getSource();
    Value word = f.create<LLVM::BitcastOp>(b.getI32Type(), bytes);
    word = computeWord({b, f.loc}, op, word, *number);
    Value result = f.create<LLVM::BitcastOp>(bytes.getType(), word);
    for (size_t i = 0; i < kBytes; ++i)
      computed[rest[i]] = f.create<vector::ExtractOp>(result, i);
  }
  for (Value &value : registers)
    value = computed.lookup(value);
  f.setRegisters(op->getResult(0), registers);
  return true;
}
