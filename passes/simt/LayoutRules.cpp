// How the layouts of an operation's operands and results determine one another.
#include "passes/simt/LayoutRules.h"
#include "ir/Diagnostic.h"
#include "ir/layout/DerivedLayouts.h"
#include "ir/target/TargetDesc.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

Threads tw::simt::threadsOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  Threads threads{machineOf(module).warpSize};
  if (auto warps = module->getAttrOfType<IntegerAttr>(kNumWarps))
    threads.warps = unsigned(warps.getInt());
  return threads;
}

LogicalResult tw::simt::checkNumWarps(Operation *op, unsigned numWarps) {
  if (llvm::isPowerOf2_32(numWarps) && numWarps <= kMostWarps)
    return success();
  return emitCoded(op, Code::TooManyWarps)
         << "a program has 1, 2, 4, 8, 16, 32 or 64 warps, not " << numWarps;
}

//===-- Layouts that machines like -----------------------------------------------------------===//

namespace {
/// Shares of the threads per dimension, taken one dimension after the other.
struct Sharing {
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> perLane, lanes, warps;

  explicit Sharing(ArrayRef<int64_t> shape)
      : shape(shape), perLane(shape.size(), 1), lanes(perLane), warps(perLane) {}

  int64_t uncovered(unsigned dim) const {
    return std::max<int64_t>(1, shape[dim] / (perLane[dim] * lanes[dim] * warps[dim]));
  }
  /// Gives up to `limit` of `count` to `dim`; what is left.
  int64_t give(SmallVector<int64_t> &share, unsigned dim, int64_t count, int64_t limit) const {
    int64_t part = std::min({count, limit, uncovered(dim)});
    share[dim] *= part;
    return count / part;
  }
  LinearLayout layout(ArrayRef<int32_t> order, int64_t spareLanes, int64_t spareWarps) {
    // Threads beyond the tile hold copies: they lie past the last element of the slowest dimension.
    if (!order.empty()) {
      lanes[order.back()] *= spareLanes;
      warps[order.back()] *= spareWarps;
    }
    return blockedLayout(shape, perLane, lanes, warps, order);
  }
};
} // namespace

static constexpr int64_t kNoLimit = int64_t(1) << 40;

LinearLayout tw::simt::accessLayout(ArrayRef<int64_t> shape, const AccessSpread &spread,
                                    Threads threads) {
  Sharing sharing(shape);
  int64_t lanes = threads.lanes, warps = threads.warps;
  ArrayRef<int32_t> order = spread.order;
  if (order.empty())
    return sharing.layout(order, lanes, warps);
  int32_t fastest = order.front();
  sharing.give(sharing.perLane, fastest, spread.vector, kNoLimit);
  if (spread.axis && int32_t(*spread.axis) != fastest) {
    lanes = sharing.give(sharing.lanes, fastest, lanes, spread.lanesOfLine);
    for (int32_t dim : llvm::reverse(order))
      if (dim != int32_t(*spread.axis))
        warps = sharing.give(sharing.warps, dim, warps, kNoLimit);
  }
  for (int32_t dim : order)
    lanes = sharing.give(sharing.lanes, dim, lanes, kNoLimit);
  for (int32_t dim : llvm::reverse(order))
    warps = sharing.give(sharing.warps, dim, warps, kNoLimit);
  return sharing.layout(order, lanes, warps);
}

LinearLayout tw::simt::plainLayout(ArrayRef<int64_t> shape, Threads threads) {
  SmallVector<int32_t> order = rowMajorOrder(shape.size());
  return accessLayout(
      shape, {order, /*vector=*/1, /*lanesOfLine=*/threads.lanes, /*axis=*/std::nullopt}, threads);
}

LinearLayout tw::simt::dotLayout(ArrayRef<int64_t> shape, Threads threads) {
  Sharing sharing(shape);
  unsigned rank = shape.size(), row = rank - 2, column = rank - 1;
  int64_t numElements = shape[row] * shape[column];
  // 4 x 4 per lane while that leaves work for all; larger tiles repeat it.
  int64_t each = std::clamp<int64_t>(numElements / threads.count(), 1, 16);
  // The rows first: then products of as many rows share them alike whatever their columns, and what
  // is reduced along rows of one multiplies rows of the other where it is.
  int64_t rowsEach = int64_t(1) << llvm::divideCeil(llvm::Log2_64(each), 2);
  each = sharing.give(sharing.perLane, row, each, rowsEach);
  each = sharing.give(sharing.perLane, column, each, kNoLimit);
  int64_t lanes = threads.lanes, warps = threads.warps;
  lanes = sharing.give(sharing.lanes, column, lanes, threads.lanes / 4);
  lanes = sharing.give(sharing.lanes, row, lanes, kNoLimit);
  lanes = sharing.give(sharing.lanes, column, lanes, kNoLimit);
  if (rank == 3)
    warps = sharing.give(sharing.warps, 0, warps, kNoLimit);
  warps = sharing.give(sharing.warps, row, warps, kNoLimit);
  warps = sharing.give(sharing.warps, column, warps, kNoLimit);
  return sharing.layout(rowMajorOrder(rank), lanes, warps);
}

/// Gives the first of the places the smallest steps along an axis and the others the larger ones.
static void orderAlong(uint32_t mask, ArrayRef<LinearLayout::Bases *> ofPlaces) {
  SmallVector<uint32_t *> places;
  for (LinearLayout::Bases *bases : ofPlaces)
    for (uint32_t &basis : *bases)
      if (basis != 0 && (basis & ~mask) == 0)
        places.push_back(&basis);
  SmallVector<uint32_t> steps;
  for (uint32_t *place : places)
    steps.push_back(*place);
  llvm::sort(steps);
  for (auto [place, step] : llvm::zip(places, steps))
    *place = step;
}

LinearLayout tw::simt::withoutWarpsAlong(const LinearLayout &layout, unsigned axis) {
  uint32_t mask = layout.maskOf(axis);
  LinearLayout::Bases registers(layout.bases(Place::Register));
  LinearLayout::Bases lanes(layout.bases(Place::Lane));
  LinearLayout::Bases warps(layout.bases(Place::Warp));
  bool hasCopies = false;
  for (uint32_t &warp : warps) {
    if ((warp & mask) == 0)
      continue;
    auto other = llvm::find_if(llvm::reverse(registers),
                               [&](uint32_t basis) { return basis != 0 && (basis & mask) == 0; });
    if (other != registers.rend()) {
      std::swap(warp, *other);
      continue;
    }
    registers.push_back(std::exchange(warp, 0));
    hasCopies = true;
  }
  if (hasCopies)
    orderAlong(mask, {&registers, &lanes});
  return layout.withPlace(Place::Register, std::move(registers))
      .withPlace(Place::Lane, std::move(lanes))
      .withPlace(Place::Warp, std::move(warps))
      .withoutFreeRegisters();
}

LinearLayout tw::simt::withNeighboursAlong(const LinearLayout &layout, unsigned axis,
                                           unsigned lanesBefore) {
  uint32_t mask = layout.maskOf(axis);
  LinearLayout::Bases registers(layout.bases(Place::Register));
  LinearLayout::Bases lanes(layout.bases(Place::Lane));
  LinearLayout::Bases warps(layout.bases(Place::Warp));
  orderAlong(mask, {&registers, &lanes, &warps});
  size_t numBefore = std::min<size_t>(lanes.size(), llvm::Log2_32(lanesBefore));
  LinearLayout::Bases ordered(ArrayRef(lanes).take_front(numBefore));
  auto isAlong = [=](uint32_t basis) { return (basis & mask) != 0; };
  llvm::copy_if(llvm::drop_begin(lanes, numBefore), std::back_inserter(ordered), isAlong);
  llvm::copy_if(llvm::drop_begin(lanes, numBefore), std::back_inserter(ordered),
                std::not_fn(isAlong));
  return layout.withPlace(Place::Register, std::move(registers))
      .withPlace(Place::Lane, std::move(ordered))
      .withPlace(Place::Warp, std::move(warps));
}

//===-- Operations ---------------------------------------------------------------------------===//

bool tw::simt::isRecomputable(Operation *op) {
  if (auto assembly = dyn_cast<InlineAsmOp>(op))
    return assembly.getIsPure();
  return isElementwise(op) || isa<ArangeOp, arith::ConstantOp, ShapeOp, JoinOp, SplitOp>(op);
}

bool tw::simt::isZeroTile(Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    tile = splat.getSource();
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_PosZeroFloat());
}

bool tw::simt::feedsMma(Value tile) {
  llvm::SetVector<Value> reached;
  reached.insert(tile);
  for (size_t next = 0; next < reached.size(); ++next)
    for (OpOperand &use : reached[next].getUses()) {
      Operation *user = use.getOwner();
      if (auto mma = dyn_cast<MmaOp>(user); mma && use.get() != mma.getAcc())
        return true;
      if (isRecomputable(user) || isa<ConvertLayoutOp>(user))
        reached.insert_range(user->getResults());
    }
  return false;
}

std::optional<OperandDepth> tw::simt::depthOfOperand(Value tile) {
  using Place = std::pair<Value, unsigned>; // of the tile's dimension in others
  for (unsigned dim = 0, rank = shapeOf(tile.getType()).size(); dim < rank; ++dim) {
    llvm::SetVector<Place> places;
    places.insert({tile, dim});
    for (size_t next = 0; next < places.size(); ++next) {
      auto [value, at] = places[next];
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        unsigned numDims = shapeOf(value.getType()).size();
        if (auto mma = dyn_cast<MmaOp>(user); mma && use.getOperandNumber() < 2) {
          bool isLeft = use.getOperandNumber() == 0;
          tile::MmaAttr instruction = mma.getInstruction();
          if (at == (isLeft ? numDims - 1 : numDims - 2))
            return OperandDepth{dim, isLeft ? instruction.getA() : instruction.getB()};
        } else if (auto transpose = dyn_cast<TransOp>(user)) {
          places.insert(
              {transpose.getResult(), unsigned(llvm::find(transpose.getOrder(), int32_t(at)) -
                                               transpose.getOrder().begin())});
        } else if (isElementwise(user) || isa<ConvertLayoutOp>(user)) {
          for (Value result : user->getResults())
            places.insert({result, at});
        }
      }
    }
  }
  return std::nullopt;
}

bool tw::simt::containsProduct(Operation *op) {
  auto stopAtProduct = [](Operation *inner) {
    return isa<MmaOp, DotOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(stopAtProduct).wasInterrupted();
}

static SmallVector<int32_t> inverseOf(ArrayRef<int32_t> order) {
  SmallVector<int32_t> inverse(order.size());
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from] = int32_t(to);
  return inverse;
}

/// The layout of the tiles that lie side by side along a last dimension of extent 2: each thread
/// must have both, in two registers.
static std::optional<LinearLayout> halfOf(const LinearLayout &pair) {
  LinearLayout::Bases registers;
  for (uint32_t basis : pair.bases(Place::Register)) {
    if (basis != 1 && (basis & 1))
      return std::nullopt;
    if (basis != 1)
      registers.push_back(basis);
  }
  if (registers.size() + 1 != pair.numBits(Place::Register))
    return std::nullopt;
  for (Place place : {Place::Lane, Place::Warp, Place::Cta})
    if (llvm::any_of(pair.bases(place), [](uint32_t basis) { return basis & 1; }))
      return std::nullopt;
  return pair.withPlace(Place::Register, std::move(registers)).withoutDim(pair.rank() - 1);
}

/// A layout whose broadcast dimensions, collapsed, give `source`: lanes and warps that hold copies
/// share the new elements, registers take the rest.
static LinearLayout broadcastLayout(const LinearLayout &source, ArrayRef<int64_t> shape) {
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  LinearLayout whole(shape, {});
  for (unsigned place = 0; place < kNumPlaces; ++place)
    for (uint32_t basis : source.bases(Place(place)))
      bases[place].push_back(whole.elementAt(source.coordinatesOf(basis)));
  SmallVector<uint32_t> fresh;
  for (unsigned dim = shape.size(); dim-- > 0;)
    if (source.shape()[dim] != shape[dim])
      for (unsigned bit = 0; bit < whole.numBitsOf(dim); ++bit)
        fresh.push_back(1u << (whole.firstBitOf(dim) + bit));
  ArrayRef<uint32_t> rest = fresh;
  for (Place place : {Place::Lane, Place::Warp})
    for (uint32_t &basis : bases[unsigned(place)])
      if (basis == 0 && !rest.empty()) {
        basis = rest.front();
        rest = rest.drop_front();
      }
  bases[unsigned(Place::Register)].append(rest.begin(), rest.end());
  return LinearLayout(shape, std::move(bases));
}

std::optional<LinearLayout> tw::simt::operandLayout(Operation *op, const LinearLayout &result) {
  if (isElementwise(op))
    return result;
  if (op->getNumOperands() == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0).getType());
  return TypeSwitch<Operation *, std::optional<LinearLayout>>(op)
      .Case<ExpandDimsOp, ReshapeOp>([&](auto) { return result.reshaped(shape); })
      .Case([&](TransOp op) { return result.transposed(inverseOf(op.getOrder())); })
      .Case<BroadcastOp>([&](auto) {
        LinearLayout source = result;
        for (unsigned dim = 0; dim < shape.size(); ++dim)
          if (shape[dim] != result.shape()[dim])
            source = source.withDimCollapsed(dim);
        return source.withoutFreeRegisters();
      })
      .Case<JoinOp>([&](auto) { return halfOf(result); })
      .Case<SplitOp>([&](auto) { return pairOf(result); })
      .Default([](auto) { return std::nullopt; });
}

std::optional<LinearLayout> tw::simt::resultLayout(Operation *op, const LinearLayout &operand) {
  if (isElementwise(op))
    return operand;
  if (op->getNumResults() == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0).getType());
  return TypeSwitch<Operation *, std::optional<LinearLayout>>(op)
      .Case<ExpandDimsOp, ReshapeOp>([&](auto) { return operand.reshaped(shape); })
      .Case([&](TransOp op) { return operand.transposed(op.getOrder()); })
      .Case<BroadcastOp>([&](auto) { return broadcastLayout(operand, shape); })
      .Case<JoinOp>([&](auto) { return pairOf(operand); })
      .Case<SplitOp>([&](auto) {
        std::optional<LinearLayout> half = halfOf(operand);
        return half ? half : operand.withoutDim(operand.rank() - 1).withoutFreeRegisters();
      })
      .Default([](auto) { return std::nullopt; });
}
