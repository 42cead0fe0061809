// Lowers products by matrix instructions: one instruction per fragment of the product and step of
// k.
#include "ir/simt/MmaLayouts.h"
#include "ir/tile/Fragment.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/simt/lowering/thread/Fragments.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <set>
#include <vector>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// One of the bytes of a word.
struct ByteOfWord {
  Value word;
  int64_t byte;
};

/// The scales of an operand, packed in words as they come: an instruction names the byte.
class ScaleWords {
public:
  ScaleWords(SimtFunction &f, Value scales, tile::MmaAttr instruction, MmaOperand operand)
      : fragments(f, scales, instruction, operand) {
    SmallVector<Value> bytes(fragments.all());
    while (bytes.size() % kBytesOfWord != 0)
      bytes.push_back(bytes.back());
    words = packWords(f, bytes);
  }
  ByteOfWord at(ArrayRef<int64_t> start) const {
    uint32_t first = fragments.firstAt(start);
    return {words[first / kBytesOfWord], first % kBytesOfWord};
  }

private:
  static constexpr unsigned kBytesOfWord = 4;
  Fragments fragments;
  SmallVector<Value> words;
};
} // namespace

/// acc += a * b in one instruction, with the scales of both or none.
static MmaFragmentOp multiply(SimtFunction &f, tile::MmaAttr instruction, ArrayRef<Value> a,
                              ArrayRef<Value> b, MutableArrayRef<Value> acc,
                              ArrayRef<ByteOfWord> scales = {}) {
  SmallVector<Value> words = packWords(f, acc);
  SmallVector<Type> types = llvm::map_to_vector(words, [](Value word) { return word.getType(); });
  auto product = f.create<MmaFragmentOp>(
      types, a, b, words, llvm::map_to_vector(scales, [](ByteOfWord each) { return each.word; }),
      instruction);
  if (!scales.empty())
    product.setScaleBytes({scales[0].byte, scales[1].byte});
  Type element = acc.front().getType();
  llvm::copy(unpackWords(f, product.getResults(), element), acc.begin());
  return product;
}

//===-- float32 operands as tf32 -------------------------------------------------------------===//

/// A float32 rounded to tf32's 10 bits of mantissa, to nearest with ties away from zero.
static Value roundToTf32(SimtFunction &f, Value value) { return f.create<RoundTf32Op>(value); }

namespace {
/// Operands of tf32 instructions: value = high + low, both exact in tf32 up to 2^-21 of the value.
struct SplitWords {
  SmallVector<Value> high, low;
};
} // namespace

static SplitWords splitToTf32(SimtFunction &f, ArrayRef<Value> elements, bool needsLow) {
  SplitWords split;
  for (Value value : elements) {
    Value high = roundToTf32(f, value);
    split.high.push_back(high);
    if (needsLow)
      split.low.push_back(roundToTf32(f, f.create<arith::SubFOp>(value, high)));
  }
  return split;
}

//===-- Whole tiles --------------------------------------------------------------------------===//

namespace {
/// Words of each fragment of an operand, made once: a fragment serves many instructions.
class OperandWords {
public:
  OperandWords(SimtFunction &f, const Fragments &fragments, MmaOp op)
      : f(f), fragments(fragments), isTf32(isa<FloatTF32Type>(op.getInstruction().getA())),
        needsLow(op.getPrecision() == tile::InputPrecision::TF32x3) {}
  const SplitWords &at(ArrayRef<int64_t> start) {
    uint32_t first = fragments.firstAt(start);
    auto [entry, isNew] = known.try_emplace(first);
    if (isNew && isTf32)
      entry->second = splitToTf32(f, fragments.elementsAt(first), needsLow);
    else if (isNew)
      entry->second.high = packWords(f, fragments.elementsAt(first));
    return entry->second;
  }

private:
  SimtFunction &f;
  const Fragments &fragments;
  bool isTf32, needsLow;
  std::map<uint32_t, SplitWords> known;
};
} // namespace

//===-- Order --------------------------------------------------------------------------------===//

namespace {
/// Moves what makes operands of instructions out of elements read from shared memory down to the
/// first instruction that needs it: widened elements take more registers than what was read.
class OperandSinking {
public:
  explicit OperandSinking(Block &block) {
    for (Operation &op : block)
      numbers[&op] = numbers.size();
  }
  void sinkTo(MmaFragmentOp fragment);

private:
  bool isMade(Operation *op);
  void collect(Value value);
  bool mayMove(Operation *op, Operation *fragment) const;

  llvm::DenseMap<Operation *, unsigned> numbers; // in the order before anything moves
  llvm::DenseMap<Operation *, bool> made;        // from reads, and from no other product
  llvm::SmallPtrSet<Operation *, 32> moving, sunk;
  SmallVector<Operation *> found;
};
} // namespace

/// Returns true if an operation takes apart what was read. Such an operation is not moved: a wide
/// read whose parts are taken far from it may become several.
static bool takesApart(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) {
    Operation *from = operand.getDefiningOp();
    return isa_and_nonnull<LoadMatrixOp, LoadTransposedOp, LLVM::LoadOp>(from);
  });
}

/// Returns true if an operation only computes, and from elements that are read in the block.
bool OperandSinking::isMade(Operation *op) {
  auto [known, isNew] = made.try_emplace(op, false);
  if (!isNew)
    return known->second;
  if (!numbers.contains(op) || op->getNumRegions() != 0 || isa<MmaFragmentOp>(op) ||
      !isMemoryEffectFree(op) || takesApart(op))
    return false;
  bool reads = false;
  for (Value operand : op->getOperands()) {
    Operation *from = operand.getDefiningOp();
    if (!from || !numbers.contains(from))
      continue;
    if (isa<MmaFragmentOp>(from))
      return false;
    reads |= takesApart(from) || isMade(from);
  }
  return made[op] = reads;
}

void OperandSinking::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || sunk.contains(op) || !isMade(op) || !moving.insert(op).second)
    return;
  found.push_back(op);
  for (Value operand : op->getOperands())
    collect(operand);
}

bool OperandSinking::mayMove(Operation *op, Operation *fragment) const {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto number = numbers.find(user);
    return user == fragment || moving.contains(user) ||
           (number != numbers.end() && !sunk.contains(user) &&
            number->second > numbers.lookup(fragment));
  });
}

void OperandSinking::sinkTo(MmaFragmentOp fragment) {
  moving.clear();
  found.clear();
  for (ValueRange operands : {fragment.getA(), fragment.getB()})
    for (Value operand : operands)
      collect(operand);
  // Parts of vectors that nobody uses go along.
  for (size_t next = 0; next < found.size(); ++next)
    for (Operation *user : found[next]->getUsers())
      if (user->use_empty() && isMade(user) && !sunk.contains(user) && moving.insert(user).second)
        found.push_back(user);
  // Users are decided before what they use.
  llvm::sort(found,
             [&](Operation *a, Operation *b) { return numbers.lookup(a) > numbers.lookup(b); });
  for (Operation *op : found)
    if (!mayMove(op, fragment))
      moving.erase(op);
  for (Operation *op : llvm::reverse(found))
    if (moving.contains(op)) {
      op->moveBefore(fragment);
      sunk.insert(op);
    }
}

LogicalResult SimtFunction::lowerMma(MmaOp op) {
  tile::MmaAttr instruction = op.getInstruction();
  Fragments a(*this, op.getA(), instruction, MmaOperand::A),
      b(*this, op.getB(), instruction, MmaOperand::B),
      acc(*this, op.getAcc(), instruction, MmaOperand::Accumulator);
  OperandWords left(*this, a, op), right(*this, b, op);
  unsigned rank = tile::shapeOf(op.getType()).size(), row = rank - 2, column = rank - 1;
  std::vector<ScaleWords> scales;
  for (auto [tile, operand] :
       llvm::zip(op.getScales(), std::array{MmaOperand::ScalesA, MmaOperand::ScalesB}))
    scales.emplace_back(*this, tile, instruction, operand);
  int64_t packedA = tile::packedInStored(instruction.getA()),
          packedB = tile::packedInStored(instruction.getB());
  std::set<int64_t> depths; // where fragments begin along k
  for (unsigned fragment = 0; fragment < a.count(); ++fragment)
    depths.insert(a.start(fragment).back() * packedA);
  unsigned size = acc.all().size() / acc.count();
  SmallVector<MmaFragmentOp> products;
  // Neighbours in time use different accumulators, so that none waits for the one before.
  for (int64_t k : depths) {
    for (unsigned fragment = 0; fragment < acc.count(); ++fragment) {
      SmallVector<int64_t> startA = acc.start(fragment), startB = startA;
      SmallVector<ByteOfWord> own; // scales
      for (auto [index, dim] : llvm::enumerate(std::array{row, column}))
        if (!scales.empty()) {
          SmallVector<int64_t> start(ArrayRef(startA).drop_back(2));
          start.append({startA[dim], k / int64_t(tile::kScaledGroup)});
          own.push_back(scales[index].at(start));
        }
      startA[column] = k / packedA;
      startB[row] = k / packedB;
      const SplitWords &x = left.at(startA), &y = right.at(startB);
      MutableArrayRef<Value> sum = acc.elementsAt(fragment * size);
      if (op.getPrecision() == tile::InputPrecision::TF32x3 && !x.low.empty()) {
        // The small products first.
        products.push_back(multiply(*this, instruction, x.low, y.high, sum));
        products.push_back(multiply(*this, instruction, x.high, y.low, sum));
      }
      products.push_back(multiply(*this, instruction, x.high, y.high, sum, own));
    }
  }
  setRegisters(op, acc.all());
  OperandSinking sinking(*builder.getInsertionBlock());
  for (MmaFragmentOp product : products)
    sinking.sinkTo(product);
  return success();
}
