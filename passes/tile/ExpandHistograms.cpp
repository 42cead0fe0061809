// The pass `expand-histograms`: machines with threads count by words of bits, each of 32 elements.
//
// One word says which of its elements have bit b of their value set. Those in one bin are the AND
// of such words or their complements, counted by one instruction: a thirty-second of the work of
// comparing every element with every bin, and no memory that threads would count in.
#include "ir/target/TargetDesc.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_EXPANDHISTOGRAMS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::tile;

/// Words that a thread counts at a time, one for each bin and 32 elements. They stay in registers
/// beside the words that they are made of, and beside the rest of the kernel.
static constexpr int64_t kCountedWords = 16;

namespace {
/// Makes operations on tiles of 32-bit integers.
struct Integers {
  OpBuilder &builder;
  Location loc;

  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }
  Value scalar(int32_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  Value splat(Value value, ArrayRef<int64_t> shape) {
    return SplatOp::create(builder, loc, typeOf(shape), value);
  }
  Value filled(int32_t value, ArrayRef<int64_t> shape) {
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(typeOf(shape), builder.getI32IntegerAttr(value)));
  }
  Value filled(int32_t value, Value like) { return filled(value, shapeOf(like.getType())); }
  Value arange(int64_t count) {
    return ArangeOp::create(builder, loc, typeOf({count}), 0, int32_t(count));
  }
  template <typename Op> Value apply(Value lhs, Value rhs) {
    return Op::create(builder, loc, lhs, rhs);
  }
  /// A tile of one dimension, repeated along the other one of `shape`.
  Value spread(Value tile, int newAxis, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> column(shapeOf(tile.getType()));
    column.insert(column.begin() + newAxis, 1);
    Value expanded = ExpandDimsOp::create(builder, loc, typeOf(column), tile, newAxis);
    return BroadcastOp::create(builder, loc, typeOf(shape), expanded);
  }
  template <typename Combine> Value reduce(Value tile, int axis) {
    SmallVector<int64_t> left(shapeOf(tile.getType()));
    left.erase(left.begin() + axis);
    auto reduced = ReduceOp::create(builder, loc, TypeRange(typeOf(left)), ValueRange(tile), axis,
                                    /*commutative=*/true);
    Type i32 = builder.getI32Type();
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&reduced.getCombine(), {}, {i32, i32}, {loc, loc});
    Value both = apply<Combine>(block->getArgument(0), block->getArgument(1));
    YieldOp::create(builder, loc, both);
    return reduced.getResult(0);
  }
  /// Bit `bit` of each element.
  Value bitOf(Value value, int64_t bit) {
    Value one = isTile(value) ? filled(1, value) : scalar(1);
    Value by = isTile(value) ? filled(int32_t(bit), value) : scalar(int32_t(bit));
    return apply<arith::AndIOp>(apply<arith::ShRUIOp>(value, by), one);
  }
  /// All ones where `number` lacks the bit, else 0: the exclusive or with a word of that bit has
  /// ones at the elements that are as `number` there.
  Value flipsOf(Value number, int64_t bit) {
    Value one = isTile(number) ? filled(1, number) : scalar(1);
    return apply<arith::SubIOp>(bitOf(number, bit), one);
  }
};

/// Which elements are counted, and which have each bit of a bin's number.
struct ElementWords {
  Value inside;
  SmallVector<Value> ofBit;
};
} // namespace

/// The elements as 32-bit integers; -1 in place of those of 64 bits that are in no bin.
static Value narrow(Integers &make, Value source, int64_t numBins) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getElementType().isInteger(32))
    return source;
  OpBuilder &builder = make.builder;
  auto bound = DenseElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), numBins));
  Value isInside =
      arith::CmpIOp::create(builder, make.loc, arith::CmpIPredicate::ult, source,
                            arith::ConstantOp::create(builder, make.loc, bound).getResult());
  Value low = arith::TruncIOp::create(builder, make.loc, make.typeOf(type.getShape()), source);
  return arith::SelectOp::create(builder, make.loc, isInside, low,
                                 make.filled(-1, type.getShape()));
}

/// The elements in any order as rows of 32 each, or one row if they are fewer and a power of two.
static Value rowsOf(Integers &make, Value source) {
  OpBuilder &builder = make.builder;
  int64_t count = shapeOf(source.getType()).front();
  int64_t padded = int64_t(llvm::PowerOf2Ceil(uint64_t(count)));
  int64_t length = std::min<int64_t>(padded, 32);
  if (count % length == 0)
    return ReshapeOp::create(builder, make.loc, make.typeOf({count / length, length}), source,
                             /*allow_reorder=*/true);
  // Filled up with elements in no bin. Neighbours in different rows: lanes hold neighbours of what
  // is gathered, and a row would be spread over them.
  Value index = make.arange(padded), last = make.filled(int32_t(count - 1), {padded});
  Value isReal = arith::CmpIOp::create(builder, make.loc, arith::CmpIPredicate::sle, index, last);
  Value repeated = GatherOp::create(builder, make.loc, make.typeOf({padded}), source,
                                    make.apply<arith::MinSIOp>(index, last), 0);
  Value filled =
      arith::SelectOp::create(builder, make.loc, isReal, repeated, make.filled(-1, {padded}));
  Value columns = ReshapeOp::create(builder, make.loc, make.typeOf({length, padded / length}),
                                    filled, /*allow_reorder=*/true);
  return TransOp::create(builder, make.loc, make.typeOf({padded / length, length}), columns,
                         builder.getDenseI32ArrayAttr({1, 0}));
}

static ElementWords packWords(Integers &make, Value rows, int64_t numBins) {
  OpBuilder &builder = make.builder;
  ArrayRef<int64_t> shape = shapeOf(rows.getType());
  Value place = make.spread(make.arange(shape.back()), 0, shape);
  auto pack = [&](Value bits) {
    return make.reduce<arith::OrIOp>(make.apply<arith::ShLIOp>(bits, place), 1);
  };
  Value isInside = arith::CmpIOp::create(builder, make.loc, arith::CmpIPredicate::ult, rows,
                                         make.filled(int32_t(numBins), shape));
  Value inside = arith::ExtUIOp::create(builder, make.loc, make.typeOf(shape), isInside);
  ElementWords words{pack(inside), {}};
  for (unsigned bit = 0, end = llvm::Log2_64_Ceil(uint64_t(numBins)); bit < end; ++bit)
    words.ofBit.push_back(pack(make.bitOf(rows, bit)));
  return words;
}

/// Returns, for each word, the elements that have the lower bits of each number from 0 to `width`.
static Value matchLow(Integers &make, const ElementWords &words, int64_t width) {
  SmallVector<int64_t> shape = {shapeOf(words.inside.getType()).front(), width};
  Value matches = make.spread(words.inside, 1, shape), number = make.arange(width);
  for (unsigned bit = 0, end = llvm::Log2_64(uint64_t(width)); bit < end; ++bit) {
    Value word = make.spread(words.ofBit[bit], 1, shape);
    Value flips = make.spread(make.flipsOf(number, bit), 0, shape);
    matches = make.apply<arith::AndIOp>(matches, make.apply<arith::XOrIOp>(word, flips));
  }
  return matches;
}

/// How many elements are in each of `width` bins, of those that have the upper bits of the group.
static Value countGroup(Integers &make, const ElementWords &words, Value low, Value group) {
  ArrayRef<int64_t> shape = shapeOf(low.getType());
  unsigned numLow = llvm::Log2_64(uint64_t(shape.back()));
  Value high;
  for (auto [bit, word] : llvm::enumerate(ArrayRef(words.ofBit).drop_front(numLow))) {
    Value flips = make.splat(make.flipsOf(group, int64_t(bit)), shape.front());
    Value matches = make.apply<arith::XOrIOp>(word, flips);
    high = high ? make.apply<arith::AndIOp>(high, matches) : matches;
  }
  if (high)
    low = make.apply<arith::AndIOp>(make.spread(high, 1, shape), low);
  Value counts = math::CtPopOp::create(make.builder, make.loc, low);
  return make.reduce<arith::AddIOp>(counts, 0);
}

/// Groups of bins one after the other, each of which is a row of the result.
static Value countGroups(Integers &make, const ElementWords &words, Value low, int64_t numGroups) {
  OpBuilder &builder = make.builder;
  int64_t width = shapeOf(low.getType()).back();
  SmallVector<int64_t> shape = {int64_t(llvm::PowerOf2Ceil(uint64_t(numGroups))), width};
  auto loop = scf::ForOp::create(builder, make.loc, make.scalar(0), make.scalar(int32_t(numGroups)),
                                 make.scalar(1), ValueRange(make.filled(0, shape)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value group = loop.getInductionVar();
  Value counts = make.spread(countGroup(make, words, low, group), 0, shape);
  Value isRow = arith::CmpIOp::create(builder, make.loc, arith::CmpIPredicate::eq,
                                      make.spread(make.arange(shape.front()), 1, shape),
                                      make.splat(group, shape));
  Value row = arith::SelectOp::create(builder, make.loc, isRow, counts, loop.getRegionIterArg(0));
  scf::YieldOp::create(builder, make.loc, row);
  return loop.getResult(0);
}

static void expand(HistogramOp op, int64_t numThreads) {
  OpBuilder builder(op);
  Integers make{builder, op.getLoc()};
  int64_t numBins = shapeOf(op.getType()).front();
  int64_t paddedBins = int64_t(llvm::PowerOf2Ceil(uint64_t(numBins)));
  Value rows = rowsOf(make, narrow(make, op.getSource(), numBins));
  ElementWords words = packWords(make, rows, numBins);
  int64_t numWords = shapeOf(words.inside.getType()).front();
  int64_t width = std::clamp<int64_t>(kCountedWords * numThreads / numWords, 1, paddedBins);
  width = int64_t(llvm::bit_floor(uint64_t(width)));
  Value low = matchLow(make, words, width), counts;
  if (width == paddedBins) {
    counts = countGroup(make, words, low, /*group=*/{});
  } else {
    counts = countGroups(make, words, low, llvm::divideCeil(numBins, width));
    counts = ReshapeOp::create(builder, make.loc, make.typeOf({paddedBins}), counts,
                               /*allow_reorder=*/false);
  }
  if (paddedBins != numBins)
    counts = GatherOp::create(builder, make.loc, op.getType(), counts, make.arange(numBins), 0);
  op.replaceAllUsesWith(counts);
  op.erase();
}

namespace {
struct ExpandHistograms : tw::impl::ExpandHistogramsBase<ExpandHistograms> {
  using ExpandHistogramsBase::ExpandHistogramsBase;

  void runOnOperation() override {
    int64_t numThreads = int64_t(machineOf(getOperation()).warpSize) * numWarps;
    getOperation().walk([&](HistogramOp op) { expand(op, numThreads); });
  }
};
} // namespace
