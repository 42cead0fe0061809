// Matrix instructions want neighbours along K in one register. Where an operand's other dimension
// is the consecutive one, machines that load matrices transpose elements of 16 bits, and some those
// of 8 bits, while they read them; of others, lanes read neighbours of that dimension at once if
// the product's rows or columns are dealt out so.
#include "passes/simt/product/InterleaveProducts.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Fragment.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/BufferChoice.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/product/LoadBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::isElementwise;

static constexpr int64_t kWordBytes = 4;   // neighbours along K that matrices hold
static constexpr int64_t kColumnBytes = 2; // of a column of matrices of words

namespace {
/// The memory that a tile is loaded from.
struct Source {
  unsigned fastest = 0;   // the dimension in which neighbours are consecutive
  int64_t run = 1;        // so many of them
  int64_t bytes = 1;      // of an element
  unsigned joinedDim = 0; // along which tiles of loaded elements were joined
  int64_t joined = 1;     // so many neighbours come from one element or place
};
} // namespace

/// A join of neighbours along the last dimension, as `interleave` makes it.
static tile::JoinOp joinOf(tile::ReshapeOp reshape) {
  auto join = reshape.getSource().getDefiningOp<tile::JoinOp>();
  if (!join)
    return {};
  SmallVector<int64_t> shape(tile::shapeOf(join.getLhs().getType()));
  shape.back() *= 2;
  return tile::shapeOf(reshape.getType()) == ArrayRef(shape) ? join : tile::JoinOp();
}

/// Follows a tile through operations on its elements to a load.
static std::optional<Source> sourceOf(const IndexFacts &facts, Value tile,
                                      SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = tile.getDefiningOp();
  // What was seen before led nowhere.
  if (!op || !seen.insert(op).second)
    return std::nullopt;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    AccessShape shape = accessShape(facts, load.getPtr(), load.getMask());
    unsigned fastest = unsigned(shape.order.front());
    return Source{fastest, shape.run, pointeeBytes(load.getPtr().getType()), fastest, 1};
  }
  if (auto transpose = dyn_cast<tile::TransOp>(op)) {
    std::optional<Source> source = sourceOf(facts, transpose.getSource(), seen);
    if (source)
      for (unsigned *dim : {&source->fastest, &source->joinedDim})
        *dim = unsigned(llvm::find(transpose.getOrder(), int32_t(*dim)) -
                        transpose.getOrder().begin());
    return source;
  }
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    tile::JoinOp join = joinOf(reshape);
    std::optional<Source> source = join ? sourceOf(facts, join.getLhs(), seen) : std::nullopt;
    unsigned last = tile::shapeOf(reshape.getType()).size() - 1;
    if (!source || (source->joined != 1 && source->joinedDim != last))
      return std::nullopt;
    source->joinedDim = last;
    source->joined *= 2;
    return source;
  }
  if (!isElementwise(op))
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      if (std::optional<Source> source = sourceOf(facts, operand, seen))
        return source;
  return std::nullopt;
}

namespace {
/// The interleaving of its rows or columns, and of K, that one operand wants or refuses.
struct Wish {
  int64_t neighbours = 1, depth = 1; // that it wants; 1: none
  bool refuses = false, refusesDepth = false;
  bool isTransposed = false; // while it is read
};
} // namespace

namespace {
/// How a machine's lanes read operands from shared memory.
struct OperandReads {
  MatrixReads matrices;
  int64_t laneBytes; // the most that a lane reads at once otherwise

  /// How many elements that are consecutive along K a lane should read at once.
  int64_t alongDepth(const Source &source, int64_t usedBytes) const {
    bool areWords = matrices == MatrixReads::Words && usedBytes <= kWordBytes;
    // Matrices bring words of neighbours along K, in the order that the instructions want.
    if (areWords && source.bytes >= usedBytes)
      return 1;
    int64_t wanted = (areWords ? kWordBytes : laneBytes) / source.bytes;
    return std::clamp<int64_t>(wanted, 1, source.run);
  }
  /// The same along the other dimension.
  int64_t acrossDepth(const Source &source, int64_t usedBytes) const {
    bool areColumns =
        matrices == MatrixReads::Words && usedBytes <= kColumnBytes && source.bytes <= kColumnBytes;
    int64_t wanted = (areColumns ? kColumnBytes : laneBytes) / source.bytes;
    return std::clamp<int64_t>(wanted, 1, source.run);
  }
  /// Returns true if the elements need no interleaving, since they are transposed.
  bool areTransposed(const Source &source, int64_t usedBytes) const {
    return canTurn(matrices, usedBytes) && source.bytes == usedBytes && source.joined == 1;
  }
};
} // namespace

/// Returns true if warps load the operand in blocks of its array where the product's rows are so
/// interleaved.
static bool isLoadedInBlocks(const IndexFacts &facts, const SelectedProduct &product,
                             MmaOperand operand, Value tile, int64_t rows) {
  if (tile::shapeOf(tile.getType()).size() != 2)
    return false;
  Operation *extension = tile.getDefiningOp(); // of bytes that the instruction takes as they are
  bool takesBytes = tile::registerBits(operand == MmaOperand::A ? product.instruction.getA()
                                                                : product.instruction.getB()) == 8;
  if (takesBytes && isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp>(extension))
    tile = extension->getOperand(0);
  std::optional<LoadedOperand> loaded =
      loadedOperandOf(tile, operand, product.instruction, product.warps, {rows, 1, 1});
  StringRef obstacle;
  return loaded && blocksOf(facts, *loaded, obstacle);
}

/// Returns the wish of an operand that is loaded in blocks: lanes have columns and steps of K in
/// order, and a block has many rows of A if those of a warp are neighbours. None of other operands.
static std::optional<Wish> wishForBlocks(const IndexFacts &facts, const SelectedProduct &product,
                                         MmaOperand operand, Value tile) {
  if (!isLoadedInBlocks(facts, product, operand, tile, /*rows=*/1))
    return std::nullopt;
  int64_t rows = 1;
  if (operand == MmaOperand::A && !product.feedsProduct)
    rows = mostInterleaved(product.instruction, operand, tile::shapeOf(tile.getType())[0],
                           product.warps[0]);
  if (rows == 1 || !isLoadedInBlocks(facts, product, operand, tile, rows))
    return Wish{.refuses = true, .refusesDepth = true};
  return Wish{.neighbours = rows, .refusesDepth = true};
}

static Wish wishOf(const OperandReads &reads, const IndexFacts &facts,
                   const SelectedProduct &product, MmaOperand operand) {
  bool isA = operand == MmaOperand::A;
  tile::DotOp dot = product.dot;
  Value tile = isA ? dot.getA() : dot.getB();
  SmallPtrSet<Operation *, 16> seen;
  std::optional<Source> source = sourceOf(facts, tile, seen);
  if (!source || (isA && product.isFedByProduct))
    return {.refuses = true, .refusesDepth = true};
  unsigned rank = tile::shapeOf(tile.getType()).size();
  unsigned own = isA ? rank - 2 : rank - 1, depth = isA ? rank - 1 : rank - 2;
  if (std::optional<Wish> wish = wishForBlocks(facts, product, operand, tile))
    return *wish;
  Type used = isA ? product.instruction.getA() : product.instruction.getB();
  int64_t usedBytes = tile::registerBits(used) / 8;
  Wish wish;
  (source->joinedDim == own ? wish.neighbours : wish.depth) *= source->joined;
  if (source->run > 1 && source->fastest == own)
    wish.neighbours *= reads.acrossDepth(*source, usedBytes);
  if (source->run > 1 && source->fastest == depth)
    wish.depth *= reads.alongDepth(*source, usedBytes);
  wish.isTransposed =
      source->run > 1 && source->fastest == own && reads.areTransposed(*source, usedBytes);
  wish.refuses = product.feedsProduct || wish.isTransposed;
  return wish;
}

/// Returns true if values may flow from one product's accumulator to the other's.
static bool mayShareAccumulator(const SelectedProduct &left, const SelectedProduct &right) {
  auto typeOf = [](tile::DotOp dot) { return dot.getType(); };
  return typeOf(left.dot) == typeOf(right.dot) && left.instruction == right.instruction &&
         left.warps == right.warps;
}

/// A product's warps, rows and columns changed over if warps would read as much but fewer of the
/// elements that are transposed: columns come in half as wide reads as others.
static SmallVector<int64_t> warpsForColumns(const SelectedProduct &product, const Wish &ofA,
                                            const Wish &ofB) {
  tile::DotOp dot = product.dot;
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType()).take_back(2);
  SmallVector<int64_t> warps = product.warps;
  int64_t &rows = warps[warps.size() - 2], &columns = warps.back();
  tile::MmaAttr instruction = product.instruction;
  bool isFree =
      !product.feedsProduct && !product.isFedByProduct && instruction.getM() == instruction.getN();
  // Square products only: then one way reads as much as the other.
  if (isFree && shape[0] == shape[1] && ofA.isTransposed != ofB.isTransposed &&
      (ofB.isTransposed ? rows > columns : columns > rows))
    std::swap(rows, columns);
  return warps;
}

using Wishes = std::array<Wish, 2>; // for rows and columns

/// Products that may share an accumulator change together or not at all.
static void chooseWarpsForColumns(std::vector<SelectedProduct> &products, ArrayRef<Wishes> wishes) {
  std::vector<SmallVector<int64_t>> wanted;
  for (auto [product, own] : llvm::zip(products, wishes))
    wanted.push_back(warpsForColumns(product, own[0], own[1]));
  std::vector<SelectedProduct> before = products;
  for (auto [product, one] : llvm::zip(products, wanted)) {
    bool agrees = true;
    for (auto [other, another] : llvm::zip(before, wanted))
      agrees &= !mayShareAccumulator(product, other) || one == another;
    if (agrees)
      product.warps = one;
  }
}

void tw::simt::interleaveProducts(FunctionOpInterface function, const IndexFacts &facts,
                                  std::vector<SelectedProduct> &products) {
  MatrixReads matrices = matrixReadsOf(targetOf(function));
  OperandReads reads{matrices, machineOf(function).banks.accessBytes};
  auto wishes = llvm::map_to_vector(products, [&](const SelectedProduct &product) {
    return Wishes{wishOf(reads, facts, product, MmaOperand::A),
                  wishOf(reads, facts, product, MmaOperand::B)};
  });
  if (areColumns(matrices))
    chooseWarpsForColumns(products, wishes);
  for (auto [product, own] : llvm::zip(products, wishes)) {
    ArrayRef<int64_t> shape = tile::shapeOf(product.dot.getType());
    product.interleave.assign(shape.size() + 1, 1);
    if (product.async)
      continue;
    for (unsigned which : {0, 1}) {
      unsigned dim = shape.size() - 2 + which;
      int64_t wanted = 1;
      bool isRefused = false;
      for (auto [other, wish] : llvm::zip(products, wishes))
        if (mayShareAccumulator(product, other)) {
          wanted = std::max(wanted, wish[which].neighbours);
          isRefused |= wish[which].refuses || other.async;
        }
      if (!isRefused)
        product.interleave[dim] = std::min(
            wanted, mostInterleaved(product.instruction, which == 0 ? MmaOperand::A : MmaOperand::B,
                                    shape[dim], product.warps[dim]));
    }
    int64_t depth = tile::shapeOf(product.dot.getA().getType()).back();
    bool hasScales = !product.dot.getScales().empty(); // of neighbours
    if (!hasScales && !own[0].refusesDepth && !own[1].refusesDepth)
      product.interleave.back() = std::min(std::max(own[0].depth, own[1].depth),
                                           mostInterleavedAlongDepth(product.instruction, depth));
  }
}
