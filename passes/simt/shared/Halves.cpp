// Takes tiles apart into halves, by shape operations that only rename registers.
#include "passes/simt/shared/Halves.h"
#include "ir/layout/DerivedLayouts.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

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

Type Halves::halfType(Type type) const {
  LinearLayout layout = half(layoutOf(type));
  return withLayout(RankedTensorType::get(layout.shape(), elementTypeOf(type)), layout);
}

LinearLayout Halves::half(const LinearLayout &layout) const {
  LinearLayout pairs = layout.reshaped(divided).transposed(order);
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : pairs.bases(place))
      if (basis != 1 || place != Place::Register)
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
  Type type = halfType(tile.getType());
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
  return ConvertLayoutOp::create(b, staging.loc, type, tile); // within threads
}

/// The place whose bit selects the bit of an element's index and nothing else; none where the bit
/// depends on several, or on a part of one.
static std::optional<Place> placeOf(const LinearLayout &layout, uint32_t bit) {
  std::optional<Place> found;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : layout.bases(place)) {
      if ((basis & bit) == 0)
        continue;
      if (found || basis != bit)
        return std::nullopt;
      found = place;
    }
  return found;
}

/// Halves by the highest bit that registers of `from` select, and of `to` what `isPossible` takes.
static std::optional<Halves> findHalves(const LinearLayout &from, const LinearLayout &to,
                                        function_ref<bool(Place)> isPossible) {
  for (unsigned dim = 0; dim < from.rank(); ++dim)
    for (unsigned bit = from.numBitsOf(dim); bit-- > 0;) {
      uint32_t element = uint32_t(1) << (from.firstBitOf(dim) + bit);
      std::optional<Place> read = placeOf(to, element);
      if (placeOf(from, element) == Place::Register && read && isPossible(*read))
        return Halves(from.shape(), dim, bit);
    }
  return std::nullopt;
}

std::optional<Halves> tw::simt::halvesByRegisters(const LinearLayout &from,
                                                  const LinearLayout &to) {
  return findHalves(from, to, [](Place place) { return place == Place::Register; });
}

std::optional<Halves> tw::simt::halvesBySource(const LinearLayout &from, const LinearLayout &to) {
  if (std::optional<Halves> halves = halvesByRegisters(from, to))
    return halves;
  return findHalves(from, to, [](Place) { return true; });
}
