// The pass `load-blocks`: warps load operands of matrix instructions from global memory as these
// take them, on machines that load blocks of arrays. Nothing goes through shared memory.
#include "passes/simt/product/LoadBlocks.h"
#include "ir/Diagnostic.h"
#include "ir/simt/BlockLayouts.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/simt/JoinRests.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/product/AsyncOperands.h"
#include "runtime/arguments/BlockArrays.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/MapVector.h"

namespace tw {
#define GEN_PASS_DEF_LOADBLOCKS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

//===-- Which tiles --------------------------------------------------------------------------===//

/// Returns true if nothing but products needs a tile.
static bool feedsProductsOnly(Value tile) {
  return llvm::all_of(tile.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tile::DotOp, MmaOp>(user))
      return use.getOperandNumber() < 2; // neither sums nor scales
    // Products may take bytes behind their extension.
    return isa<tile::TransOp, arith::ExtUIOp, arith::ExtSIOp>(user) &&
           feedsProductsOnly(user->getResult(0));
  });
}

/// Returns a power of two that a coordinate is a multiple of.
static int64_t divisibilityOf(const IndexFacts &facts, const Polynomial &coordinate) {
  int64_t least = int64_t(1) << 30;
  for (const Monomial &monomial : coordinate.all()) {
    int64_t divisibility = powerOfTwoIn(monomial.factor);
    for (Value leaf : monomial.leaves)
      divisibility = std::min(divisibility * facts.of(leaf).axes.front().divisibility, least);
    least = std::min(least, divisibility);
  }
  return least;
}

/// Returns a coordinate that is a number, 0 or more; none of others.
static std::optional<int64_t> constantOf(const Polynomial &coordinate) {
  std::optional<Monomial> only = coordinate.single();
  if (coordinate.isZero())
    return 0;
  return only && only->isConstant() ? std::optional(only->factor) : std::nullopt;
}

/// Returns true if the address of a block's array includes a coordinate, for which the array has no
/// extent: then it is an array that begins there.
static bool isInAddress(const BoxPlace &place, size_t dim) {
  return dim > 1 || (!place.hasExtent[dim] && !constantOf(place.coordinates[dim]));
}

/// Describes what a launch checks: the array's address, extents and strides. Where the kernel does
/// not say where a dimension ends, the array ends with the tile.
static TensorMapAttr arrayOf(const BoxPlace &place, Type tile, unsigned rows) {
  MLIRContext *context = tile.getContext();
  int64_t bytes = tile::elementBytes(tile::elementTypeOf(tile));
  SmallVector<LaunchProductAttr> extents;
  for (size_t dim = 0; dim < place.map.getRank(); ++dim) {
    int64_t extent = dim > 1 ? 1 : tile::shapeOf(tile)[dim == 0 ? rows : 1 - rows];
    if (!isInAddress(place, dim))
      extent += constantOf(place.coordinates[dim]).value_or(0);
    if (dim == 0)
      extent = std::max<int64_t>(extent, block::kLeastRowBytes / bytes);
    extents.push_back(dim < 2 && place.hasExtent[dim]
                          ? place.map.getExtents()[dim]
                          : LaunchProductAttr::get(context, extent, {}));
  }
  constexpr unsigned pieceBytes = 16;
  return TensorMapAttr::get(context, place.map.getArgument(), place.map.getElementType(), extents,
                            place.map.getStrides(), /*box=*/{},
                            isInAddress(place, 1) ? unsigned(block::kBaseBytes) : pieceBytes);
}

/// Why no launch can load blocks of an array, by numbers that do not depend on it; or nothing.
static StringRef obstacleInNumbers(TensorMapAttr array, int64_t bytes) {
  auto knownBytes = [&](LaunchProductAttr number) {
    return number.getArguments().empty() ? std::optional(number.getFactor() * bytes) : std::nullopt;
  };
  std::optional<int64_t> row = knownBytes(array.getExtents()[0]),
                         pitch = knownBytes(array.getStrides()[0]);
  if (row && (*row < block::kLeastRowBytes || *row % block::kPlaceBytes != 0))
    return "rows of its array have fewer than 64 bytes, or not a multiple of 4";
  if (pitch && (*pitch % array.getSpanBytes() != 0 || *pitch >= block::kLimit))
    return array.getSpanBytes() == block::kBaseBytes
               ? "rows of its array do not begin at multiples of 64 bytes, and no mask says how "
                 "many "
                 "there are"
               : "rows of its array are 2^24 bytes apart, or more";
  if (pitch && *pitch < block::kLeastRowBytes)
    return "rows of its array are fewer than 64 bytes apart";
  if (pitch && row && *pitch < *row)
    return "rows of its array overlap";
  for (LaunchProductAttr stride : array.getStrides().drop_front())
    if (knownBytes(stride).value_or(0) % block::kBaseBytes != 0)
      return "its arrays in a batch do not begin at multiples of 64 bytes";
  return "";
}

/// Why a box cannot be loaded in blocks of elements of so many bytes, or nothing.
static StringRef obstacleOf(const IndexFacts &facts, const BoxPlace &place, TensorMapAttr array,
                            int64_t bytes) {
  if (llvm::is_contained(ArrayRef(place.hasExtent).drop_front(2), true))
    return "its mask compares the number of a matrix with how many there are";
  int64_t needed = isInAddress(place, 0) ? block::kBaseBytes : block::kPlaceBytes;
  if (bytes * divisibilityOf(facts, place.coordinates.front()) % needed != 0)
    return needed == block::kPlaceBytes ? "its rows do not begin at multiples of 4 bytes"
                                        : "its rows do not begin at multiples of 64 bytes, and no "
                                          "mask says where those of the array end";
  return obstacleInNumbers(array, bytes);
}

/// Why a loaded tile is more than what a product takes, or nothing.
static StringRef obstacleOf(LoadOp load) {
  if (!fillsWithZeros(load))
    return "its masked elements are not 0";
  if (load.getIsVolatile() || load.getCache() == tile::CacheModifier::CV)
    return "it is volatile";
  return feedsProductsOnly(load) ? "" : "others than products need it";
}

std::optional<TileOfBlocks> tw::simt::blocksOf(const IndexFacts &facts,
                                               const LoadedOperand &operand, StringRef &obstacle) {
  obstacle = "";
  LoadOp load = operand.load;
  tile::TargetAttr target = targetOf(load);
  ArrayRef<int64_t> shape = tile::shapeOf(load.getType());
  if (!target || target.getBlocks().empty() || shape.size() != 2)
    return std::nullopt;
  int64_t bytes = tile::elementBytes(tile::elementTypeOf(load.getType()));
  unsigned dim = neighbourDim(facts, load);
  auto *block = llvm::find_if(target.getBlocks(), [&](tile::BlockAttr row) {
    return row.getUse() == operand.use && row.getBits() == 8 * bytes &&
           divideIntoBlocks(row, operand.layout, dim);
  });
  if (block == target.getBlocks().end())
    return std::nullopt;
  obstacle = obstacleOf(load);
  if (!obstacle.empty())
    return std::nullopt;
  std::optional<BoxPlace> place = boxOfRows(facts, load, dim, obstacle);
  if (!place)
    return std::nullopt;
  TensorMapAttr array = arrayOf(*place, load.getType(), dim);
  obstacle = obstacleOf(facts, *place, array, bytes);
  if (!obstacle.empty())
    return std::nullopt;
  return TileOfBlocks{*block, dim, *place, array};
}

std::optional<LoadedOperand> tw::simt::loadedOperandOf(Value tile, MmaOperand operand,
                                                       tile::MmaAttr instruction,
                                                       ArrayRef<int64_t> warps,
                                                       ArrayRef<int64_t> interleave) {
  OperandSource source = sourceOf(tile);
  auto load = source.tile.getDefiningOp<LoadOp>();
  if (!load)
    return std::nullopt;
  LinearLayout layout =
      mmaLayout(instruction, operand, tile::shapeOf(tile.getType()), warps, interleave);
  if (source.isTransposed)
    layout = layout.transposed({1, 0});
  return LoadedOperand{load, operand == MmaOperand::A ? tile::BlockUse::A : tile::BlockUse::B,
                       layout};
}

/// Returns an operand of a product, where it is a loaded tile.
static std::optional<LoadedOperand> operandOf(MmaOp mma, MmaOperand which,
                                              ArrayRef<int64_t> interleave) {
  if (mma.getAsync())
    return std::nullopt;
  return loadedOperandOf(mma->getOperand(unsigned(which)), which, mma.getInstruction(),
                         mma.getWarps(), interleave);
}

namespace {
/// A loaded tile as the first product takes it.
struct UseOfLoad {
  MmaOp mma;
  MmaOperand which;
  LoadedOperand operand;
};
} // namespace
using Uses = llvm::MapVector<Operation *, UseOfLoad>; // by the load

/// Finds the loaded operands of products below an operation.
static Uses usesIn(Operation *op) {
  Uses uses;
  op->walk([&](MmaOp mma) {
    for (MmaOperand which : {MmaOperand::A, MmaOperand::B})
      if (auto operand = operandOf(mma, which, mma.getInterleave().value_or(ArrayRef<int64_t>())))
        uses.try_emplace(operand->load, UseOfLoad{mma, which, *operand});
  });
  return uses;
}

/// Emits why an operand is not loaded in blocks, which it may be if its product had rows, columns
/// and steps of K in order.
static void explain(const IndexFacts &facts, const UseOfLoad &use) {
  auto loop = use.mma->getParentOfType<scf::ForOp>();
  if (loop && loop->hasAttr(tile::kLoopShort)) // which has the same loads as that before it
    return;
  StringRef obstacle;
  std::optional<LoadedOperand> plain = operandOf(use.mma, use.which, {});
  if (!blocksOf(facts, *plain, obstacle) && !obstacle.empty())
    emitCodedRemark(use.operand.load, Code::BoxCopies)
        << "operand through shared memory, not in blocks of its array: " << obstacle;
}

//===-- Code ---------------------------------------------------------------------------------===//

namespace {
/// Writes the load of one tile.
struct BlockWriter {
  BlockWriter(const TileOfBlocks &tile, LoadOp load)
      : tile(tile), load(load), builder(load), loc(load.getLoc()) {}
  LoadBlocksOp write(const LinearLayout &layout);

private:
  const TileOfBlocks &tile;
  LoadOp load;
  OpBuilder builder;
  Location loc;
};
} // namespace

LoadBlocksOp BlockWriter::write(const LinearLayout &layout) {
  const BoxPlace &place = tile.place;
  Type word = builder.getI32Type();
  auto product = [&](LaunchProductAttr number) {
    return emitProduct(builder, loc, load, number, word);
  };
  auto coordinate = [&](size_t dim) {
    return emitCoordinate(builder, loc,
                          isInAddress(place, dim) ? Polynomial() : place.coordinates[dim]);
  };
  Value base =
      emitArrayStart(builder, load, place, [&](size_t dim) { return isInAddress(place, dim); });
  return LoadBlocksOp::create(
      builder, loc, load.getType(), base, product(tile.array.getExtents()[0]),
      product(tile.array.getExtents()[1]), product(tile.array.getStrides().front()), coordinate(0),
      coordinate(1), tile.block, tile.dim, tile::LayoutAttr::get(load.getContext(), layout));
}

//===-- The pass -----------------------------------------------------------------------------===//

/// Returns true if a loop loads blocks only.
static bool loadsBlocksOnly(scf::ForOp loop) {
  Uses uses = usesIn(loop);
  IndexFacts facts(loop->getParentOfType<FunctionOpInterface>());
  StringRef obstacle;
  return uses.size() == countTileLoads(loop) && llvm::all_of(uses, [&](auto &entry) {
           return blocksOf(facts, entry.second.operand, obstacle).has_value();
         });
}

static void loadBlocks(FunctionOpInterface function) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    joinRest(loop, [&] { return loadsBlocksOnly(loop); });
  // All are read before any is written: facts are of the function as it is.
  IndexFacts facts(function);
  std::vector<std::pair<LoadedOperand, TileOfBlocks>> found;
  for (auto &[op, use] : usesIn(function)) {
    StringRef obstacle;
    if (std::optional<TileOfBlocks> tile = blocksOf(facts, use.operand, obstacle))
      found.push_back({use.operand, *tile});
    else
      explain(facts, use);
  }
  for (auto &[operand, tile] : found) {
    BlockWriter writer(tile, operand.load);
    addTensorMap(function->getParentOfType<ModuleOp>(), tile.array);
    operand.load.getResult().replaceAllUsesWith(writer.write(operand.layout).getResult());
    operand.load.erase();
  }
}

namespace {
struct LoadBlocks : tw::impl::LoadBlocksBase<LoadBlocks> {
  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target || target.getBlocks().empty())
      return;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal())
        loadBlocks(function);
  }
};
} // namespace
