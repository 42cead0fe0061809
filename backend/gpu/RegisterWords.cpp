// Values as the registers that a GPU's memory instructions name: one register, or a vector of two
// or four.
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw::gpu;

unsigned tw::gpu::bitsOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

WordForm tw::gpu::wordFormOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  unsigned elementBits = bitsOf(vector ? vector.getElementType() : type);
  unsigned bits = elementBits * (vector ? vector.getNumElements() : 1);
  Builder b(type.getContext());
  if (bits <= 16)
    return {b.getI16Type(), 1, bits, bits / 8};
  if (elementBits == 64)
    return {b.getI64Type(), bits / 64, 64, bits / 8};
  return {b.getI32Type(), bits / 32, 32, bits / 8};
}

Value tw::gpu::toInteger(OpBuilder &b, Location loc, Value value) {
  Type type = value.getType();
  if (isa<IntegerType>(type))
    return value;
  Type integer = b.getIntegerType(bitsOf(type));
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::PtrToIntOp::create(b, loc, integer, value);
  return LLVM::BitcastOp::create(b, loc, integer, value);
}

Value tw::gpu::fromInteger(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(b, loc, type, value);
  return LLVM::BitcastOp::create(b, loc, type, value);
}

static Value indexOf(OpBuilder &b, Location loc, int64_t index) {
  return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(index));
}

static Value elementOf(OpBuilder &b, Location loc, Value vector, int64_t index) {
  return LLVM::ExtractElementOp::create(b, loc, vector, indexOf(b, loc, index));
}

static Value insert(OpBuilder &b, Location loc, Value vector, Value element, int64_t index) {
  return LLVM::InsertElementOp::create(b, loc, vector, element, indexOf(b, loc, index));
}

SmallVector<Value> tw::gpu::toWords(OpBuilder &b, Location loc, Value value) {
  WordForm form = wordFormOf(value.getType());
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    Value integer = toInteger(b, loc, value);
    if (integer.getType() != form.word)
      integer = LLVM::ZExtOp::create(b, loc, form.word, integer);
    return {integer};
  }
  // Word by word: LLVM takes a bitcast of a wide vector through the stack.
  int64_t perWord = vector.getNumElements() / form.count;
  SmallVector<Value> words;
  for (unsigned word = 0; word < form.count; ++word) {
    if (perWord == 1) {
      words.push_back(toInteger(b, loc, elementOf(b, loc, value, word)));
      continue;
    }
    Value part =
        LLVM::PoisonOp::create(b, loc, VectorType::get({perWord}, vector.getElementType()));
    for (int64_t i = 0; i < perWord; ++i)
      part = insert(b, loc, part, elementOf(b, loc, value, word * perWord + i), i);
    words.push_back(LLVM::BitcastOp::create(b, loc, form.word, part));
  }
  return words;
}

Value tw::gpu::fromWords(OpBuilder &b, Location loc, ArrayRef<Value> words, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector) {
    Value integer = words.front();
    Type bits = b.getIntegerType(bitsOf(type));
    if (integer.getType() != bits)
      integer = LLVM::TruncOp::create(b, loc, bits, integer);
    return fromInteger(b, loc, integer, type);
  }
  Type element = vector.getElementType();
  int64_t perWord = vector.getNumElements() / int64_t(words.size());
  Value result = LLVM::PoisonOp::create(b, loc, vector);
  for (auto [number, word] : llvm::enumerate(words)) {
    if (perWord == 1) {
      result = insert(b, loc, result, fromInteger(b, loc, word, element), number);
      continue;
    }
    Value part = LLVM::BitcastOp::create(b, loc, VectorType::get({perWord}, element), word);
    for (int64_t i = 0; i < perWord; ++i)
      result = insert(b, loc, result, elementOf(b, loc, part, i), number * perWord + i);
  }
  return result;
}

/// The vector whose elements these are, all of them in their order; null where there is none.
static Value vectorOf(ValueRange registers) {
  Value vector;
  for (auto [index, value] : llvm::enumerate(registers)) {
    auto extract = value.getDefiningOp<LLVM::ExtractElementOp>();
    APInt position;
    if (!extract || !matchPattern(extract.getPosition(), m_ConstantInt(&position)) ||
        position != index || (vector && extract.getVector() != vector))
      return {};
    vector = extract.getVector();
  }
  return cast<VectorType>(vector.getType()).getNumElements() == int64_t(registers.size()) ? vector
                                                                                          : Value();
}

Value tw::gpu::joinRegisters(OpBuilder &b, Location loc, ValueRange registers) {
  if (registers.size() == 1)
    return registers.front();
  if (Value vector = vectorOf(registers))
    return vector;
  auto type = VectorType::get({int64_t(registers.size())}, registers.front().getType());
  Value all = LLVM::PoisonOp::create(b, loc, type);
  for (auto [index, value] : llvm::enumerate(registers)) {
    Value position = LLVM::ConstantOp::create(b, loc, b.getI32Type(), int32_t(index));
    all = LLVM::InsertElementOp::create(b, loc, all, value, position);
  }
  return all;
}

void tw::gpu::replaceByJoined(OpBuilder &b, Location loc, ValueRange registers, Value joined) {
  if (registers.size() == 1) {
    registers.front().replaceAllUsesWith(joined);
    return;
  }
  for (auto [index, value] : llvm::enumerate(registers)) {
    Value position = LLVM::ConstantOp::create(b, loc, b.getI32Type(), int32_t(index));
    value.replaceAllUsesWith(LLVM::ExtractElementOp::create(b, loc, joined, position));
  }
}
