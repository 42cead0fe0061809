// Large tiles go through shared memory in parts, one after the other through the same bytes: halves
// that every thread has in different registers, before and after.
#include "ir/layout/DerivedLayouts.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/shared/Staging.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// Smaller tiles go whole: each part costs two barriers.
static constexpr uint64_t kWholeBytes = 32 << 10;

/// The most that the slots of one loop occupy. Tiles that go through shared memory before or after
/// the loop take the same place, where they are not larger.
static uint64_t bytesOfLargestPipeline(ModuleOp module) {
  llvm::DenseMap<Operation *, uint64_t> ofLoops;
  uint64_t largest = 0;
  module.walk([&](AllocSharedOp alloc) {
    Operation *loop = alloc;
    while (loop && !isa<scf::ForOp>(loop))
      loop = loop->getNextNode();
    if (alloc.getSlots() && loop)
      largest = std::max(largest, ofLoops[loop] += bytesOf(alloc));
  });
  return largest;
}

namespace {
/// A tile's halves by one bit of its elements' indices: along a new last dimension of extent 2.
struct Halves {
  Halves(ArrayRef<int64_t> shape, unsigned dim, unsigned bit);
  /// Of one half, where the bit only selects a register of `layout`.
  LinearLayout half(const LinearLayout &layout) const;
  std::pair<Value, Value> split(Staging &staging, Value tile) const;
  Value join(Staging &staging, Value first, Value second, Type type) const;

  SmallVector<int64_t> whole, divided; // shapes; the latter's dimension `two` is the bit
  SmallVector<int32_t> order, inverse; // of the divided shape's dimensions: `two` last, and back
};
} // namespace

Halves::Halves(ArrayRef<int64_t> shape, unsigned dim, unsigned bit) : whole(shape) {
  int64_t low = int64_t(1) << bit;
  for (auto [each, extent] : llvm::enumerate(shape))
    if (each == dim)
      divided.append({extent / (2 * low), 2, low});
    else
      divided.push_back(extent);
  int32_t two = dim + 1, rank = divided.size();
  for (int32_t each = 0; each < rank; ++each)
    if (each != two)
      order.push_back(each);
  order.push_back(two);
  inverse.resize(rank);
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from] = to;
}

LinearLayout Halves::half(const LinearLayout &layout) const {
  LinearLayout pairs = layout.reshaped(divided).transposed(order);
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : pairs.bases(place))
      if (basis != 1)
        bases[unsigned(place)].push_back(basis >> 1);
  return LinearLayout(pairs.shape().drop_back(), bases);
}

std::pair<Value, Value> Halves::split(Staging &staging, Value tile) const {
  const LinearLayout &layout = layoutOf(tile.getType());
  auto typeWith = [&](const LinearLayout &other) {
    return withLayout(RankedTensorType::get(other.shape(), elementTypeOf(tile.getType())), other);
  };
  OpBuilder &b = staging.builder;
  LinearLayout reshaped = layout.reshaped(divided);
  Value parts = ReshapeOp::create(b, staging.loc, typeWith(reshaped), tile, false);
  parts = TransOp::create(b, staging.loc, typeWith(reshaped.transposed(order)), parts, order);
  Type type = typeWith(half(layout));
  auto split = SplitOp::create(b, staging.loc, type, type, parts);
  return {split.getLhs(), split.getRhs()};
}

Value Halves::join(Staging &staging, Value first, Value second, Type type) const {
  auto typeWith = [&](const LinearLayout &other) {
    return withLayout(RankedTensorType::get(other.shape(), elementTypeOf(type)), other);
  };
  OpBuilder &b = staging.builder;
  LinearLayout pairs = pairOf(layoutOf(first.getType()));
  LinearLayout restored = pairs.transposed(inverse);
  Value tile = JoinOp::create(b, staging.loc, typeWith(pairs), first, second);
  tile = TransOp::create(b, staging.loc, typeWith(restored), tile, inverse);
  tile = ReshapeOp::create(b, staging.loc, typeWith(restored.reshaped(whole)), tile, false);
  if (tile.getType() == type)
    return tile;
  return ConvertLayoutOp::create(b, staging.loc, type, tile); // of registers' numbers
}

/// Whether the bit of an element's index selects one register of the layout and nothing else.
static bool isRegister(const LinearLayout &layout, uint32_t bit) {
  unsigned registers = 0;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : layout.bases(place)) {
      if ((basis & bit) == 0)
        continue;
      if (place != Place::Register || basis != bit)
        return false;
      ++registers;
    }
  return registers == 1;
}

/// The halves by the highest possible bit, so that neighbours stay together.
static std::optional<Halves> findHalves(const LinearLayout &from, const LinearLayout &to) {
  for (unsigned dim = 0; dim < from.rank(); ++dim)
    for (unsigned bit = from.numBitsOf(dim); bit-- > 0;) {
      uint32_t element = uint32_t(1) << (from.firstBitOf(dim) + bit);
      if (isRegister(from, element) && isRegister(to, element))
        return Halves(from.shape(), dim, bit);
    }
  return std::nullopt;
}

Value Staging::inParts(Value tile, Type type, StringRef purpose) {
  unsigned bytes = elementBytes(elementTypeOf(type));
  std::optional<Halves> halves;
  if (uint64_t(numElementsOf(type)) * bytes > mostBytesOfPart)
    halves = findHalves(layoutOf(tile.getType()), layoutOf(type));
  if (!halves)
    return throughShared(tile, type, purpose);
  auto [first, second] = halves->split(*this, tile);
  LinearLayout to = halves->half(layoutOf(type));
  Type half = withLayout(RankedTensorType::get(to.shape(), elementTypeOf(type)), to);
  first = inParts(first, half, purpose);
  second = inParts(second, half, purpose);
  return halves->join(*this, first, second, type);
}

uint64_t tw::simt::mostBytesOfPart(ModuleOp module) {
  // Half of the memory is for others, whatever loops take.
  TargetAttr target = targetOf(module);
  uint64_t most = target ? target.getSharedBytes() / 2 : UINT64_MAX;
  return std::max(kWholeBytes, std::min(most, bytesOfLargestPipeline(module)));
}
