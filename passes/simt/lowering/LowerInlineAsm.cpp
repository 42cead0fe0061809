// Assembly text of the user's: one copy for each group of elements of this thread, with the
// elements packed into registers.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The bits of an element of fewer than 32 bits; other elements as they are.
static Value toBits(SimtFunction &f, Value element) {
  auto type = dyn_cast<FloatType>(element.getType());
  if (!type || type.getWidth() >= 32)
    return element;
  return f.create<arith::BitcastOp>(f.builder.getIntegerType(type.getWidth()), element);
}

/// Elements as one integer, the first one lowest.
static Value packRegister(SimtFunction &f, ArrayRef<Value> elements) {
  if (elements.size() == 1)
    return toBits(f, elements.front());
  OpBuilder &b = f.builder;
  unsigned bits = elements.front().getType().getIntOrFloatBitWidth();
  Type word = b.getIntegerType(bits * elements.size());
  Value packed;
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value part = f.create<arith::ExtUIOp>(word, toBits(f, element));
    if (i > 0)
      part = f.create<arith::ShLIOp>(part, f.constantOf(word, int64_t(bits * i)));
    packed = packed ? Value(f.create<arith::OrIOp>(packed, part)) : part;
  }
  return packed;
}

/// The type of a register that holds `count` elements.
static Type registerType(SimtFunction &f, Type element, unsigned count) {
  if (!isa<IntegerType, FloatType>(element))
    return element;
  unsigned bits = element.getIntOrFloatBitWidth();
  if (count == 1 && bits >= 32)
    return element;
  return f.builder.getIntegerType(bits * count);
}

static Value unpackRegister(SimtFunction &f, Value word, Type element, unsigned index,
                            unsigned count) {
  OpBuilder &b = f.builder;
  if (word.getType() == element)
    return word;
  unsigned bits = element.getIntOrFloatBitWidth();
  if (index > 0)
    word = f.create<arith::ShRUIOp>(word, f.constantOf(word.getType(), int64_t(bits * index)));
  if (count > 1)
    word = f.create<arith::TruncIOp>(b.getIntegerType(bits), word);
  if (isa<FloatType>(element))
    word = f.create<arith::BitcastOp>(element, word);
  return word;
}

namespace {
/// The elements of one tile or scalar, and how many of them share a register.
struct AsmValue {
  Type element;
  unsigned perRegister = 1;
  Registers elements;
};
} // namespace

/// Runs the text for the elements [first, first + pack); appends to the results. What lies behind
/// the last element is that element again.
static void runGroup(SimtFunction &f, tile::InlineAsmOp op, ArrayRef<AsmValue> sources,
                     size_t first, SmallVector<AsmValue> &results) {
  unsigned pack = op.getPack();
  SmallVector<Value> operands;
  for (const AsmValue &source : sources)
    for (unsigned start = 0; start < pack; start += source.perRegister) {
      SmallVector<Value> elements;
      for (unsigned i = 0; i < source.perRegister; ++i)
        elements.push_back(
            source.elements[std::min(first + start + i, source.elements.size() - 1)]);
      operands.push_back(packRegister(f, elements));
    }
  SmallVector<Type> types;
  for (const AsmValue &result : results)
    types.append(pack / result.perRegister, registerType(f, result.element, result.perRegister));
  auto code = f.create<simt::InlineAsmOp>(types, op.getText(), op.getConstraints(), op.getIsPure(),
                                          operands);
  auto word = code.getResults().begin();
  for (AsmValue &result : results)
    for (unsigned start = 0; start < pack; start += result.perRegister, ++word)
      for (unsigned i = 0; i < result.perRegister; ++i)
        result.elements.push_back(unpackRegister(f, *word, result.element, i, result.perRegister));
}

LogicalResult SimtFunction::lowerInlineAsm(tile::InlineAsmOp op) {
  Type first = op->getResult(0).getType();
  size_t count = hasLayout(first) ? layoutOf(first).size(Place::Register) : 1;
  SmallVector<AsmValue> sources, results;
  for (Value source : op.getSources()) {
    AsmValue value{lowerType(tile::elementTypeOf(source.getType())),
                   op.getElementsPerRegister(source.getType()), registersOf(source)};
    if (value.elements.size() == 1)
      value.elements.assign(count, Value(value.elements.front()));
    sources.push_back(std::move(value));
  }
  for (Value result : op.getResults())
    results.push_back({lowerType(tile::elementTypeOf(result.getType())),
                       op.getElementsPerRegister(result.getType()),
                       {}});
  for (size_t start = 0; start < count; start += op.getPack())
    runGroup(*this, op, sources, start, results);
  for (auto [result, value] : llvm::zip(op.getResults(), results)) {
    value.elements.resize(count);
    setRegisters(result, value.elements);
  }
  return success();
}
