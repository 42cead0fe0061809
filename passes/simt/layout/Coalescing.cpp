// Which registers of a tile of pointers one access can cover.
#include "passes/simt/layout/Coalescing.h"
#include "ir/tile/Tile.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

unsigned tw::simt::pointeeBytes(Type pointers) {
  auto pointer = cast<tile::PtrType>(tile::elementTypeOf(pointers));
  return tile::elementBytes(pointer.getPointee());
}

/// Returns what pointers and masks allow along one dimension.
static AccessShape shapeAlong(const IndexFacts &facts, Value ptr, Value mask, unsigned dim) {
  const AxisFacts &axis = facts.of(ptr).axes[dim];
  AccessShape shape;
  shape.run = axis.run;
  shape.aligned = std::max<int64_t>(1, axis.divisibility / pointeeBytes(ptr.getType()));
  shape.masked = mask ? facts.of(mask).axes[dim].constancy : axis.run;
  return shape;
}

AccessShape tw::simt::accessShape(const IndexFacts &facts, Value ptr, Value mask) {
  unsigned rank = tile::shapeOf(ptr.getType()).size();
  SmallVector<int32_t, 4> order = llvm::to_vector<4>(llvm::seq<int32_t>(0, rank));
  const IndexFact &pointers = facts.of(ptr);
  llvm::sort(order, [&](int32_t left, int32_t right) {
    int64_t leftRun = pointers.axes[left].run, rightRun = pointers.axes[right].run;
    return leftRun != rightRun ? leftRun > rightRun : left > right;
  });
  AccessShape shape;
  if (rank != 0)
    shape = shapeAlong(facts, ptr, mask, order.front());
  shape.order = std::move(order);
  return shape;
}

/// The register bits that step by 1, 2, 4 ... elements along `dim`, as far as no lane, warp or
/// other register steps by as little: then each thread's registers are aligned groups.
static SmallVector<unsigned> neighbourBits(const LinearLayout &layout, unsigned dim) {
  SmallVector<unsigned> bits;
  ArrayRef<uint32_t> registers = layout.bases(Place::Register);
  for (unsigned step = 0; step < layout.numBitsOf(dim); ++step) {
    uint32_t element = 1u << (layout.firstBitOf(dim) + step);
    const uint32_t *found = llvm::find(registers, element);
    if (found == registers.end())
      break;
    unsigned users = 0;
    for (Place place : {Place::Register, Place::Lane, Place::Warp, Place::Cta})
      users += llvm::count_if(layout.bases(place), [&](uint32_t b) { return b & element; });
    if (users != 1)
      break;
    bits.push_back(found - registers.begin());
  }
  return bits;
}

/// All registers, those that differ in `fastest` bits only side by side.
static SmallVector<uint32_t, 16> registersInOrder(unsigned numBits, ArrayRef<unsigned> fastest) {
  SmallVector<unsigned> bits(fastest);
  for (unsigned bit : llvm::seq(numBits))
    if (!llvm::is_contained(fastest, bit))
      bits.push_back(bit);
  SmallVector<uint32_t, 16> registers(1, 0);
  for (unsigned bit : bits)
    for (unsigned known = 0, size = registers.size(); known < size; ++known)
      registers.push_back(registers[known] | 1u << bit);
  return registers;
}

SmallVector<uint32_t, 16> tw::simt::neighbourGroups(const LinearLayout &layout, unsigned dim,
                                                    unsigned vector) {
  SmallVector<unsigned> bits = neighbourBits(layout, dim);
  bits.truncate(std::min<size_t>(bits.size(), llvm::Log2_32(vector)));
  return registersInOrder(layout.numBits(Place::Register), bits);
}

VectorAccess tw::simt::vectorAccess(const IndexFacts &facts, Value ptr, Value mask,
                                    const LinearLayout &layout, unsigned maxBits) {
  VectorAccess best;
  SmallVector<unsigned> bestBits;
  int64_t limit = std::max<int64_t>(1, maxBits / (8 * pointeeBytes(ptr.getType())));
  for (unsigned dim = 0; dim < layout.rank(); ++dim) {
    SmallVector<unsigned> bits = neighbourBits(layout, dim);
    int64_t vector = shapeAlong(facts, ptr, mask, dim).vector();
    vector = std::min({vector, limit, int64_t(1) << bits.size()});
    if (vector <= best.vector)
      continue;
    bits.truncate(llvm::Log2_64(vector));
    best.vector = unsigned(vector);
    best.dim = dim;
    bestBits = bits;
  }
  best.registers = registersInOrder(layout.numBits(Place::Register), bestBits);
  return best;
}
