// Converts values to what memory and shuffles hold, and packs narrow ones for shuffles.
#include "passes/simt/lowering/thread/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/math/ExpandArith.h"
#include "passes/simt/lowering/thread/ThreadBits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

Type tw::simt::storageType(SimtFunction &f, Type element) {
  Type memory = f.memoryType(element);
  return isFloat8(memory) ? f.builder.getI8Type() : memory;
}

Value tw::simt::toStorage(SimtFunction &f, Value value) {
  Type type = value.getType(), storage = storageType(f, type);
  if (type == storage)
    return value;
  if (type.isInteger(1))
    return f.create<arith::ExtUIOp>(storage, value);
  if (isFloat8(type))
    return f.create<arith::BitcastOp>(storage, value);
  return f.create<LLVM::PtrToIntOp>(storage, value);
}

Value tw::simt::fromStorage(SimtFunction &f, Value stored, Type element) {
  Type type = f.lowerType(element);
  if (stored.getType() == type)
    return stored;
  if (type.isInteger(1))
    return f.create<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                                   f.constantOf(stored.getType(), 0));
  if (isFloat8(type))
    return f.create<arith::BitcastOp>(type, stored);
  return f.create<LLVM::IntToPtrOp>(type, stored);
}

/// Where an element was taken from; the value itself where it was not taken from a vector.
static std::pair<Value, int64_t> originOf(Value part) {
  while (auto cast = part.getDefiningOp<arith::BitcastOp>())
    part = cast.getIn();
  auto extract = part.getDefiningOp<vector::ExtractOp>();
  if (!extract || extract.getNumIndices() != 1 || extract.hasDynamicPosition())
    return {part, -1};
  return {extract.getSource(), extract.getStaticPosition().front()};
}

/// The elements as one vector: a permutation of at most two that they were taken from, where they
/// were, is one instruction.
static Value vectorOf(SimtFunction &f, VectorType type, ArrayRef<Value> parts) {
  SmallVector<Value> sources;
  SmallVector<int64_t> indices;
  for (Value part : parts) {
    auto [source, index] = originOf(part);
    if (index < 0 || source.getType() != type)
      return f.create<vector::FromElementsOp>(type, parts);
    auto *known = llvm::find(sources, source);
    indices.push_back((known - sources.begin()) * type.getNumElements() + index);
    if (known == sources.end())
      sources.push_back(source);
  }
  if (sources.size() > 2)
    return f.create<vector::FromElementsOp>(type, parts);
  if (llvm::equal(indices, llvm::seq<int64_t>(0, type.getNumElements())))
    return sources.front();
  return f.create<vector::ShuffleOp>(type, sources.front(), sources.back(), indices);
}

SmallVector<Value> tw::simt::packWords(SimtFunction &f, ArrayRef<Value> elements) {
  OpBuilder &b = f.builder;
  Type element = elements.front().getType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits >= 32)
    return SmallVector<Value>(elements);
  SmallVector<Value> words;
  int64_t count = 32 / bits;
  auto type = VectorType::get(count, storageType(f, element));
  for (; !elements.empty(); elements = elements.drop_front(count)) {
    SmallVector<Value> parts;
    for (Value part : elements.take_front(count))
      parts.push_back(toStorage(f, part));
    words.push_back(f.create<LLVM::BitcastOp>(b.getI32Type(), vectorOf(f, type, parts)));
  }
  return words;
}

Registers tw::simt::unpackWords(SimtFunction &f, ValueRange words, Type element) {
  Type storage = storageType(f, element);
  int64_t count = std::max(1u, 32 / element.getIntOrFloatBitWidth());
  Type type = count == 1 ? storage : Type(VectorType::get(count, storage));
  Registers elements;
  for (Value word : words) {
    if (word.getType() != type)
      word = f.create<LLVM::BitcastOp>(type, word);
    for (int64_t part = 0; part < count; ++part) {
      Value value = count == 1 ? word : Value(f.create<vector::ExtractOp>(word, part));
      elements.push_back(fromStorage(f, value, element));
    }
  }
  return elements;
}

static unsigned bitsOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

/// Sends up to 4 bytes of values of one lane at once.
static void shufflePacked(SimtFunction &f, SmallVectorImpl<Value> &values, ShuffleMode mode,
                          Value lane, ArrayRef<unsigned> group) {
  if (group.size() == 1) {
    values[group[0]] = f.shuffle(mode, values[group[0]], lane);
    return;
  }
  Type element = values[group[0]].getType();
  unsigned perWord = 32 / bitsOf(element);
  SmallVector<Value> parts;
  for (unsigned i = 0; i < perWord; ++i)
    parts.push_back(values[group[i % group.size()]]);
  auto packed = VectorType::get(int64_t(perWord), element);
  auto word = VectorType::get(1, f.builder.getI32Type());
  Value vector = f.create<vector::FromElementsOp>(packed, parts);
  vector = f.create<vector::BitCastOp>(word, vector);
  Value moved = f.shuffle(mode, f.create<vector::ExtractOp>(vector, int64_t(0)), lane);
  vector = f.create<vector::FromElementsOp>(word, moved);
  vector = f.create<vector::BitCastOp>(packed, vector);
  for (auto [index, number] : llvm::enumerate(group))
    values[number] = f.create<vector::ExtractOp>(vector, int64_t(index));
}

SmallVector<Value> tw::simt::shuffleAll(SimtFunction &f, ArrayRef<Value> values, ShuffleMode mode,
                                        Value variable, ArrayRef<uint32_t> lanes) {
  std::map<uint32_t, SmallVector<unsigned>> byLane;
  for (auto [index, lane] : llvm::enumerate(lanes))
    byLane[lane].push_back(index);
  SmallVector<Value> moved(values.size());
  for (auto &[lane, numbers] : byLane) {
    if (mode == ShuffleMode::Xor && !variable && lane == 0) {
      for (unsigned number : numbers)
        moved[number] = values[number];
      continue;
    }
    Value from = variable;
    if (!variable || lane != 0)
      from = xorOf(f, variable, f.constantI32(lane));
    // A pointer travels as it is; narrower values as integers or floats of whole bytes.
    auto travels = [&](Value value) {
      return isa<LLVM::LLVMPointerType>(value.getType()) ? value : toStorage(f, value);
    };
    for (unsigned number : numbers)
      moved[number] = travels(values[number]);
    unsigned atOnce = std::max(1u, 32 / bitsOf(moved[numbers.front()].getType()));
    for (ArrayRef<unsigned> rest = numbers; !rest.empty();) {
      ArrayRef<unsigned> group = rest.take_front(atOnce);
      shufflePacked(f, moved, mode, from, group);
      rest = rest.drop_front(group.size());
    }
    for (unsigned number : numbers)
      moved[number] = fromStorage(f, moved[number], values[number].getType());
  }
  return moved;
}

SmallVector<Value> tw::simt::shuffleXor(SimtFunction &f, ArrayRef<Value> values, uint32_t lanes) {
  return shuffleAll(f, values, ShuffleMode::Xor, {}, SmallVector<uint32_t>(values.size(), lanes));
}
