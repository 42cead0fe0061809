// Derives layouts from others.
#include "ir/layout/DerivedLayouts.h"
#include "llvm/ADT/STLExtras.h"

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<int32_t> tw::rowMajorOrder(unsigned rank) {
  SmallVector<int32_t> order;
  for (unsigned dim = rank; dim-- > 0;)
    order.push_back(int32_t(dim));
  return order;
}

LinearLayout tw::pairOf(const LinearLayout &half) {
  SmallVector<int64_t> shape(half.shape());
  shape.push_back(2);
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  bases[unsigned(Place::Register)].push_back(1);
  for (unsigned place = 0; place < kNumPlaces; ++place)
    for (uint32_t basis : half.bases(Place(place)))
      bases[place].push_back(basis << 1);
  return LinearLayout(shape, std::move(bases));
}

LinearLayout tw::dotOperandReads(const LinearLayout &product, ArrayRef<int64_t> operandShape,
                                 bool isRight) {
  // An element of the operand is at [batch, m, k] or [batch, k, n]; of the product, at [batch, m,
  // n].
  unsigned rank = product.rank(), depthDim = isRight ? rank - 2 : rank - 1;
  unsigned ownDim = isRight ? rank - 1 : rank - 2;
  std::array<LinearLayout::Bases, kNumPlaces> none;
  LinearLayout operand(operandShape, none);
  auto project = [&](uint32_t basis) {
    SmallVector<int64_t> from = product.coordinatesOf(basis), to(rank, 0);
    to[ownDim] = from[ownDim];
    if (rank == 3)
      to[0] = from[0];
    return operand.elementAt(to);
  };
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : product.bases(place))
      bases[unsigned(place)].push_back(project(basis));
  LinearLayout::Bases depth;
  for (unsigned bit = 0; bit < operand.numBitsOf(depthDim); ++bit)
    depth.push_back(uint32_t(1) << (operand.firstBitOf(depthDim) + bit));
  LinearLayout::Bases &registers = bases[unsigned(Place::Register)];
  registers.insert(isRight ? registers.end() : registers.begin(), depth.begin(), depth.end());
  return LinearLayout(operandShape, bases).withoutFreeRegisters();
}

bool tw::warpsHoldHighestBits(const LinearLayout &layout, unsigned axis) {
  unsigned first = layout.firstBitOf(axis), next = first + layout.numBitsOf(axis);
  for (uint32_t warp : llvm::reverse(layout.bases(Place::Warp)))
    if ((warp & layout.maskOf(axis)) != 0 && (next == first || warp != uint32_t(1) << --next))
      return false;
  uint32_t pieces = layout.maskOf(axis) >> next << next;
  auto touches = [&](uint32_t basis) { return (basis & pieces) != 0; };
  return llvm::none_of(layout.bases(Place::Register), touches) &&
         llvm::none_of(layout.bases(Place::Lane), touches);
}

bool tw::hasCopies(const LinearLayout &layout) {
  return layout.freeBits(Place::Lane) != 0 || layout.freeBits(Place::Warp) != 0;
}

LinearLayout tw::layoutAlong(ArrayRef<int64_t> shape, AlongAxis along) {
  unsigned axis = along.axis;
  // The axis gives its highest bits to warps, the next to lanes; the rest stays in registers.
  auto take = [](int64_t &extent, int64_t wanted) {
    int64_t taken = std::min(extent, wanted);
    extent /= taken;
    return taken;
  };
  SmallVector<int64_t> rest(shape), lanes(shape.size(), 1), warps(shape.size(), 1);
  int64_t freeLanes = along.numLanes, freeWarps = along.numWarps;
  SmallVector<int32_t> dims = rowMajorOrder(shape.size());
  auto *place = llvm::find(dims, int32_t(axis));
  std::rotate(dims.begin(), place, place + 1); // the axis first
  if (along.hasWarps) {
    lanes[axis] = take(rest[axis], freeLanes);
    warps[axis] = take(rest[axis], freeWarps);
    freeWarps /= warps[axis];
    freeLanes /= lanes[axis];
  }
  for (int32_t dim : dims) {
    if (lanes[dim] == 1) {
      lanes[dim] = take(rest[dim], freeLanes);
      freeLanes /= lanes[dim];
    }
    if (dim != int32_t(axis)) {
      int64_t taken = take(rest[dim], freeWarps);
      warps[dim] = taken;
      freeWarps /= taken;
    }
  }
  // Lanes and warps that found no place hold copies.
  lanes[axis] *= freeLanes;
  warps[axis] *= freeWarps;
  SmallVector<int64_t> perLane(shape.size(), 1);
  perLane[axis] = rest[axis];
  return blockedLayout(shape, perLane, lanes, warps, dims);
}
