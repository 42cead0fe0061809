// Finds the boxes of strided arrays among loads and stores.
#include "passes/simt/Boxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/analysis/UnusedElements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

/// Limits of maps: addresses and strides of whole pieces, and coordinates of 32 bits with a sign.
static constexpr int64_t kPieceBytes = 16, kMostExtent = int64_t(1) << 31, kMostBoxExtent = 256;
static constexpr size_t kMostRank = 5;

namespace {
/// A dimension of the array.
struct MapDim {
  Monomial stride;                // in elements
  std::optional<Monomial> extent; // none: as large as coordinates are
  Polynomial coordinate;
  int64_t box = 1;
};

/// Reads one load or store.
struct BoxReader {
  BoxReader(const IndexFacts &facts, Operation *op, const OperandSlabs &slabs, StringRef &obstacle,
            bool isGuarded)
      : facts(facts), access(op), slabs(slabs), obstacle(obstacle), isGuarded(isGuarded) {}

  std::optional<BoxPlace> read();
  bool readPointers(const std::optional<StridedTile> &tile);
  bool readOffset(const Polynomial &offset);
  bool moveFurther(MapDim &dim, const Polynomial &index);
  bool takeUniform(const IndexLimit &limit);
  bool takeLimit(const IndexLimit &limit);
  void moveConstant(IndexLimit &limit);
  bool readMask(Value mask);
  bool readWraps(ArrayRef<IndexLimit> wraps);
  bool checkStrides();
  bool checkCoordinates();
  bool hasWholeRows();
  MapDim &dimOfTile(unsigned dim) { return dims[dim == slabs.dim ? 0 : 1]; }
  TensorMapAttr describe();
  bool fail(StringRef reason) {
    obstacle = reason;
    return false;
  }

  const IndexFacts &facts;
  tile::MemoryAccess access;
  OperandSlabs slabs;
  StringRef &obstacle;
  bool isGuarded; // a launch refuses arrays that no map describes
  Value base;
  // Reserved: references to dimensions stay.
  SmallVector<MapDim, kMostRank> dims; // that of the slabs' rows first, then the tile's other one
};
} // namespace

//===-- Addresses ----------------------------------------------------------------------------===//

/// Returns true if a loop is around an operation, within or as `op`'s ancestors.
static bool isInLoop(Operation *op) {
  return op && (isa<LoopLikeOpInterface>(op) || op->getParentOfType<LoopLikeOpInterface>());
}

bool tw::simt::mayFollow(Operation *later, Operation *op) {
  for (Operation *at = op; at && at->getBlock(); at = at->getParentOp())
    if (Operation *other = at->getBlock()->findAncestorOpInBlock(*later))
      return isInLoop(at->getParentOp()) || (other != at && at->isBeforeInBlock(other)) ||
             (other == at && isa<LoopLikeOpInterface>(at));
  return true;
}

bool tw::simt::mayOrder(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getIsVolatile();
  if (isa<tile::InlineAsmOp, tile::ExternCallOp>(op))
    return !isMemoryEffectFree(op);
  return tile::isAtomic(op) && !op->use_empty();
}

/// Returns true if the kernel, or another program that it waits for, may write what the load reads
/// before it does: copies of boxes are ordered with neither.
static bool mayBeWritten(LoadOp load) {
  auto function = load->getParentOfType<FunctionOpInterface>();
  WalkResult result = function->walk([&](Operation *op) -> WalkResult {
    if (op == function || !mayFollow(load, op))
      return WalkResult::advance();
    auto access = dyn_cast<tile::MemoryAccess>(op);
    bool isWriting = access && access.isOrdered() && mayAlias(load.getPtr(), access.getPointers());
    return isWriting || mayOrder(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Adds what the address does not change by inside of the tile to coordinates: to the dimension
/// with the largest stride that divides it. What only further strides divide becomes a dimension of
/// its own, in which the box has one element: a matrix of a batch.
bool BoxReader::readOffset(const Polynomial &offset) {
  for (const Monomial &monomial : offset.all()) {
    MapDim *best = nullptr;
    for (MapDim &dim : dims) {
      bool isFar = !dim.stride.isConstant() || dim.stride.factor != 1;
      bool isBetter = !best || dim.stride.leaves.size() > best->stride.leaves.size() ||
                      (dim.stride.leaves.size() == best->stride.leaves.size() &&
                       dim.stride.factor > best->stride.factor);
      if (isFar && isBetter && monomial.dividedBy(dim.stride))
        best = &dim;
    }
    Monomial stride{1};
    for (Value leaf : monomial.leaves)
      if (isOfLaunch(leaf))
        stride.leaves.push_back(leaf);
    if (!best && !monomial.isFixed() && !stride.isConstant()) {
      if (dims.size() == kMostRank)
        return fail("its address has more strides than a tensor map has dimensions");
      dims.push_back(MapDim{.stride = stride, .extent = {}, .coordinate = {}});
      best = &dims.back();
    }
    // Such a sum may need 64 bits.
    if (!best && monomial.isFixed() && !monomial.isConstant())
      return fail("its address has a term of arguments that no stride divides");
    if (!best)
      best = &dims.front();
    best->coordinate.add(*monomial.dividedBy(best->stride));
  }
  return true;
}

bool BoxReader::readPointers(const std::optional<StridedTile> &tile) {
  if (!tile || !tile->base || tile->steps.size() != 2)
    return fail("its addresses are not sums of multiples along the tile's dimensions");
  base = tile->base;
  if (facts.of(base).axes.front().divisibility < kPieceBytes)
    return fail("its array is not known to begin at a multiple of 16 bytes");
  ArrayRef<int64_t> shape = tile::shapeOf(access.getPointers().getType());
  unsigned rows = slabs.dim, others = 1 - rows;
  std::optional<Monomial> stride = tile->steps[others].single();
  if (!tile->steps[rows].isOne() || !stride || !stride->isFixed() || stride->factor < 0)
    return fail("a launch does not give the strides of its array");
  int64_t span = std::min<int64_t>(slabs.spanBytes, shape[rows] * slabs.elementBytes);
  dims.push_back({Monomial{1}, std::nullopt, {}, span / slabs.elementBytes});
  dims.push_back({*stride, std::nullopt, {}, std::min(shape[others], kMostBoxExtent)});
  return readOffset(tile->offset);
}

//===-- Extents ------------------------------------------------------------------------------===//

/// Moves what is added to an index, behind its comparison with an extent, to dimensions of their
/// own: the number of a matrix, in a batch of so many rows each.
bool BoxReader::moveFurther(MapDim &dim, const Polynomial &index) {
  Polynomial added = dim.coordinate;
  added.add(index, -1);
  for (const Monomial &monomial : added.all()) {
    Monomial rows{1};
    llvm::copy_if(monomial.leaves, std::back_inserter(rows.leaves), isOfLaunch);
    if (rows.isConstant() || monomial.isFixed() || dims.size() == kMostRank)
      return false;
    Monomial stride = dim.stride;
    stride.leaves.append(rows.leaves);
    dims.push_back(MapDim{
        .stride = stride, .extent = {}, .coordinate = Polynomial(*monomial.dividedBy(rows))});
  }
  dim.coordinate = index;
  return true;
}

/// Takes an extent of a dimension in which the box has one element, with which the kernel compares
/// the number of a matrix.
bool BoxReader::takeUniform(const IndexLimit &limit) {
  for (MapDim &dim : MutableArrayRef(dims).drop_front(2))
    if (limit.index == dim.coordinate && limit.extent.factor >= 1 &&
        (!dim.extent || Polynomial(*dim.extent) == Polynomial(limit.extent))) {
      dim.extent = limit.extent;
      return true;
    }
  return false;
}

/// Takes an extent of the array, with which the kernel compares, or divides, an index.
bool BoxReader::takeLimit(const IndexLimit &limit) {
  MapDim &dim = dimOfTile(*limit.dim);
  if (!dim.extent && !(limit.index == dim.coordinate) && !moveFurther(dim, limit.index))
    return false;
  bool isSame = !dim.extent || Polynomial(*dim.extent) == Polynomial(limit.extent);
  if (!(limit.index == dim.coordinate) || !isSame || limit.extent.factor < 1)
    return false;
  dim.extent = limit.extent;
  return true;
}

/// `64 + i < 256` is read as `i < 192`: moves a constant of the coordinate back to both sides.
void BoxReader::moveConstant(IndexLimit &limit) {
  if (!limit.dim)
    return;
  Polynomial apart = dimOfTile(*limit.dim).coordinate;
  apart.add(limit.index, -1);
  std::optional<Monomial> shift = apart.single();
  if (!shift || !shift->isConstant() || !limit.extent.isConstant())
    return;
  limit.index.add(apart);
  limit.extent.factor += shift->factor;
}

bool BoxReader::readMask(Value mask) {
  SmallVector<IndexLimit> limits;
  bool isOfLimits = collectLimits(facts, mask, limits);
  llvm::for_each(limits, [&](IndexLimit &limit) { moveConstant(limit); });
  // Limits along dimensions of the tile find out which others the array has.
  auto take = [&](bool isUniform) {
    return llvm::all_of(limits, [&](const IndexLimit &limit) {
      return limit.dim.has_value() == isUniform ||
             (isUniform ? takeUniform(limit) : takeLimit(limit));
    });
  };
  if (isOfLimits && take(/*isUniform=*/false) && take(/*isUniform=*/true))
    return true;
  return fail("its mask is more than comparisons of indices with the array's extents");
}

/// Rows that begin again at an extent are filled instead, where no result of theirs is stored.
bool BoxReader::readWraps(ArrayRef<IndexLimit> wraps) {
  for (const IndexLimit &wrap : wraps) {
    bool isMasked = dimOfTile(*wrap.dim).extent.has_value();
    bool isLoad = isa<LoadOp>(access.getOperation());
    bool mayBeUsed = !isMasked && !(isLoad && isUnusedBeyond(facts, access->getResult(0), wrap));
    if (!takeLimit(wrap) || mayBeUsed)
      return fail("its indices begin again at an extent, beyond which results may be used");
  }
  return true;
}

//===-- Checks -------------------------------------------------------------------------------===//

/// Strides of whole pieces are known, or may be such where a launch looks: what is known of an
/// argument is whether it is a multiple of 16.
bool BoxReader::checkStrides() {
  const int64_t leastOfArguments = isGuarded ? kPieceBytes / 2 : 1;
  for (const MapDim &dim : ArrayRef(dims).drop_front()) {
    int64_t divisibility = powerOfTwoIn(dim.stride.factor) * slabs.elementBytes;
    for (Value leaf : dim.stride.leaves)
      divisibility *= std::clamp<int64_t>(facts.of(leaf).axes.front().divisibility,
                                          leastOfArguments, kPieceBytes);
    if (divisibility % kPieceBytes != 0)
      return fail("a stride of its array is not known to be a multiple of 16 bytes");
  }
  return true;
}

/// Coordinates below 0 would be filled, and wider ones cut off.
bool BoxReader::checkCoordinates() {
  for (const MapDim &dim : dims)
    for (const Monomial &monomial : dim.coordinate.all()) {
      bool isNarrow = llvm::all_of(monomial.leaves, [](Value leaf) {
        return leaf.getType().isIndex() || leaf.getType().getIntOrFloatBitWidth() <= 32;
      });
      if (monomial.isWide() || !isNarrow || monomial.factor >= kMostExtent)
        return fail("its indices are computed in 64 bits");
      if (!monomial.isNonNegative(facts))
        return fail("its indices are not known to be from 0 on");
    }
  return true;
}

/// Returns a power of two that divides a number; greater ones need not be known.
static int64_t divisibilityOf(const IndexFacts &facts, const Monomial &monomial) {
  constexpr int64_t most = 1 << 20;
  int64_t divisibility = std::min(powerOfTwoIn(monomial.factor), most);
  for (Value leaf : monomial.leaves)
    divisibility =
        std::min(divisibility * std::min(facts.of(leaf).axes.front().divisibility, most), most);
  return divisibility;
}

/// Returns true if the rows of the tile are within the array as a whole, or not at all.
bool BoxReader::hasWholeRows() {
  const MapDim &dim = dims.front();
  int64_t width = tile::shapeOf(access.getPointers().getType())[slabs.dim];
  auto isMultiple = [&](const Monomial &of) { return divisibilityOf(facts, of) % width == 0; };
  if (!dim.extent || (isMultiple(*dim.extent) && llvm::all_of(dim.coordinate.all(), isMultiple)))
    return true;
  std::optional<Monomial> first = dim.coordinate.single();
  return dim.extent->isConstant() && first && first->isConstant() &&
         first->factor + width <= dim.extent->factor;
}

//===-- The box ------------------------------------------------------------------------------===//

static LaunchProductAttr productOf(MLIRContext *context, const Monomial &monomial) {
  SmallVector<unsigned> arguments;
  for (Value leaf : monomial.leaves)
    arguments.push_back(cast<BlockArgument>(leaf).getArgNumber());
  llvm::sort(arguments);
  return LaunchProductAttr::get(context, monomial.factor, arguments);
}

TensorMapAttr BoxReader::describe() {
  MLIRContext *context = access.getContext();
  SmallVector<LaunchProductAttr> extents, strides;
  SmallVector<int64_t> box;
  for (const MapDim &dim : dims) {
    extents.push_back(productOf(context, dim.extent.value_or(Monomial{kMostExtent})));
    box.push_back(dim.box);
    if (&dim != dims.begin())
      strides.push_back(productOf(context, dim.stride));
  }
  return TensorMapAttr::get(context, cast<BlockArgument>(base).getArgNumber(),
                            cast<tile::PtrType>(base.getType()).getPointee(), extents, strides, box,
                            slabs.spanBytes);
}

std::optional<BoxPlace> BoxReader::read() {
  std::optional<StridedTile> tile = stridedTileOf(facts, access.getPointers());
  Value mask = access.getAccessMask();
  if (!readPointers(tile) || (mask && !readMask(mask)) || !readWraps(tile->wraps) ||
      !checkStrides() || !checkCoordinates())
    return std::nullopt;
  BoxPlace place{describe(), {}, {}, hasWholeRows()};
  for (const MapDim &dim : dims) {
    place.coordinates.push_back(dim.coordinate);
    place.hasExtent.push_back(dim.extent.has_value());
  }
  return place;
}

static std::optional<BoxPlace> boxOf(const IndexFacts &facts, LoadOp load,
                                     const OperandSlabs &slabs, StringRef &obstacle,
                                     bool isGuarded) {
  if (mayBeWritten(load)) {
    obstacle = "the kernel, or a program that it waits for, may write what is read";
    return std::nullopt;
  }
  return BoxReader(facts, load, slabs, obstacle, isGuarded).read();
}

std::optional<BoxPlace> tw::simt::boxOfLoad(const IndexFacts &facts, LoadOp load,
                                            const OperandSlabs &slabs, StringRef &obstacle) {
  return boxOf(facts, load, slabs, obstacle, /*isGuarded=*/true);
}

std::optional<BoxPlace> tw::simt::boxOfRows(const IndexFacts &facts, LoadOp load, unsigned dim,
                                            StringRef &obstacle) {
  constexpr int64_t mostSpan = 128;
  ArrayRef<int64_t> shape = tile::shapeOf(load.getType());
  int64_t bytes = tile::elementBytes(tile::elementTypeOf(load.getType()));
  OperandSlabs slabs{.dim = dim,
                     .spanBytes = unsigned(std::min(mostSpan, shape[dim] * bytes)),
                     .elementBytes = unsigned(bytes)};
  std::optional<BoxPlace> place = boxOf(facts, load, slabs, obstacle, /*isGuarded=*/false);
  if (place)
    place->map = TensorMapAttr::get(load.getContext(), place->map.getArgument(),
                                    place->map.getElementType(), place->map.getExtents(),
                                    place->map.getStrides(), /*box=*/{}, kPieceBytes);
  return place;
}

std::optional<BoxPlace> tw::simt::boxOfStore(const IndexFacts &facts, Operation *store,
                                             const OperandSlabs &slabs, StringRef &obstacle) {
  // Where a launch refused the array, its loads would lose their boxes, too.
  return BoxReader(facts, store, slabs, obstacle, /*isGuarded=*/false).read();
}

TensorMapAttr tw::simt::mapOfSlabs(TensorMapAttr map, int64_t numSlabs, int64_t numRows) {
  MLIRContext *context = map.getContext();
  SmallVector<int64_t> box(map.getBox());
  if (numSlabs < 2 || numSlabs > kMostBoxExtent || box[1] != numRows || map.getRank() == kMostRank)
    return nullptr;
  SmallVector<LaunchProductAttr> extents(map.getExtents()), strides(map.getStrides());
  auto constant = [&](int64_t value) { return LaunchProductAttr::get(context, value, {}); };
  extents.insert(extents.begin() + 2, constant(numSlabs));
  strides.insert(strides.begin() + 1, constant(box[0]));
  box.insert(box.begin() + 2, numSlabs);
  return TensorMapAttr::get(context, map.getArgument(), map.getElementType(), extents, strides, box,
                            map.getSpanBytes());
}

Value tw::simt::emitCoordinate(OpBuilder &builder, Location loc, const Polynomial &coordinate,
                               Type type) {
  if (!type)
    type = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  };
  Value sum;
  for (const Monomial &monomial : coordinate.all()) {
    Value product;
    for (Value leaf : monomial.leaves) {
      if (leaf.getType().isIndex())
        leaf = arith::IndexCastOp::create(builder, loc, type, leaf);
      else if (leaf.getType() != type)
        leaf = arith::ExtSIOp::create(builder, loc, type, leaf);
      product = product ? arith::MulIOp::create(builder, loc, product, leaf).getResult() : leaf;
    }
    if (!product)
      product = constant(monomial.factor);
    else if (monomial.factor != 1)
      product = arith::MulIOp::create(builder, loc, product, constant(monomial.factor));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, product).getResult() : product;
  }
  return sum ? sum : constant(0);
}

Value tw::simt::emitProduct(OpBuilder &builder, Location loc, Operation *op,
                            LaunchProductAttr product, Type type) {
  auto kernel = op->getParentOfType<FunctionOpInterface>();
  unsigned bits = type.getIntOrFloatBitWidth();
  Value result =
      arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, product.getFactor()));
  for (unsigned number : product.getArguments()) {
    Value argument = kernel.getArgument(number);
    unsigned ownBits = argument.getType().getIntOrFloatBitWidth();
    if (ownBits < bits)
      argument = arith::ExtSIOp::create(builder, loc, type, argument);
    else if (ownBits > bits)
      argument = arith::TruncIOp::create(builder, loc, type, argument);
    result = arith::MulIOp::create(builder, loc, result, argument);
  }
  return result;
}

Value tw::simt::emitArrayStart(OpBuilder &builder, Operation *op, const BoxPlace &place,
                               function_ref<bool(size_t)> isInAddress) {
  Location loc = op->getLoc();
  Value base = op->getParentOfType<FunctionOpInterface>().getArgument(place.map.getArgument());
  Type wide = builder.getI64Type();
  Value offset;
  for (size_t dim = 0; dim < place.map.getRank(); ++dim) {
    if (!isInAddress(dim))
      continue;
    Value term = emitCoordinate(builder, loc, place.coordinates[dim], wide);
    if (dim > 0)
      term = arith::MulIOp::create(
          builder, loc, term, emitProduct(builder, loc, op, place.map.getStrides()[dim - 1], wide));
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term).getResult() : term;
  }
  return offset ? tile::AddPtrOp::create(builder, loc, base.getType(), base, offset).getResult()
                : base;
}

int32_t tw::simt::addTensorMap(ModuleOp module, TensorMapAttr map) {
  SmallVector<Attribute> maps(tensorMapsOf(module));
  auto *found = llvm::find(maps, map);
  int32_t number = found - maps.begin();
  if (found == maps.end())
    maps.push_back(map);
  module->setAttr(kTensorMaps, ArrayAttr::get(module.getContext(), maps));
  return number;
}

Value tw::simt::makePhases(OpBuilder &builder, Location loc, unsigned numSlots, unsigned count) {
  MLIRContext *context = builder.getContext();
  auto layout = LayoutAttr::get(context, LinearLayout({1}, {}));
  auto type = SharedType::get(context, {1}, builder.getI64Type(), layout);
  Value phases = AllocSharedOp::create(builder, loc, type, "barriers of loads", /*offset=*/nullptr,
                                       builder.getI64IntegerAttr(numSlots));
  PhaseInitOp::create(builder, loc, phases, numSlots, count);
  return phases;
}
