// Fragments of matrix instructions ("Matrix Fragments for mma" of the ISA). All are built alike: a
// lane holds 32 bits of neighbours along K, four lanes fill a row of 16 bytes, eight rows a matrix.
#include "ir/simt/MmaLayouts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static unsigned bitsOf(Type type) {
  return isa<FloatTF32Type>(type) ? 32 : type.getIntOrFloatBitWidth();
}

/// Bits of an index along the dimensions of a fragment, in the order in which they are handed out.
namespace {
struct Bits {
  explicit Bits(ArrayRef<int64_t> shape) : whole(shape, {}), next(shape.size(), 0) {}
  void give(LinearLayout::Bases &bases, unsigned dim, unsigned count) {
    for (unsigned bit = 0; bit < count; ++bit)
      bases.push_back(1u << (whole.firstBitOf(dim) + next[dim]++));
  }
  void giveRest(LinearLayout::Bases &bases, unsigned dim) {
    give(bases, dim, whole.numBitsOf(dim) - next[dim]);
  }
  LinearLayout whole;
  SmallVector<unsigned> next;
};
} // namespace

LinearLayout tw::simt::mmaFragment(tile::MmaAttr instruction, MmaOperand operand) {
  static constexpr unsigned kLanesOfRow = 2, kRows = 3; // bits: 4 lanes of a row, 8 rows
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  LinearLayout::Bases &registers = bases[unsigned(Place::Register)];
  LinearLayout::Bases &lanes = bases[unsigned(Place::Lane)];
  int64_t m = instruction.getM(), n = instruction.getN(), k = instruction.getK();
  SmallVector<int64_t> shape;
  if (operand == MmaOperand::Accumulator) {
    shape = {m, n};
    Bits bits(shape);
    bits.give(registers, 1, 1);
    bits.give(lanes, 1, kLanesOfRow);
    bits.give(lanes, 0, kRows);
    bits.giveRest(registers, 0);
    bits.giveRest(registers, 1);
    return LinearLayout(shape, std::move(bases));
  }
  bool isA = operand == MmaOperand::A;
  shape = isA ? SmallVector<int64_t>{m, k} : SmallVector<int64_t>{k, n};
  unsigned depth = isA ? 1 : 0, row = isA ? 0 : 1;
  Bits bits(shape);
  unsigned elementBits = bitsOf(isA ? instruction.getA() : instruction.getB());
  bits.give(registers, depth, elementBits < 32 ? llvm::Log2_32(32 / elementBits) : 0);
  bits.give(lanes, depth, kLanesOfRow);
  bits.give(lanes, row, kRows);
  bits.giveRest(registers, row);
  bits.giveRest(registers, depth);
  return LinearLayout(shape, std::move(bases));
}

// Bits of an index that lanes hold: of a row or column, and of K.
static constexpr unsigned kLaneBits = 3, kLaneBitsOfDepth = 2;

int64_t tw::simt::mostInterleaved(int64_t extent, int64_t fragmentExtent, int64_t warps) {
  int64_t repeated = std::max<int64_t>(1, extent / (fragmentExtent * warps));
  return repeated * (fragmentExtent >> kLaneBits);
}

int64_t tw::simt::mostInterleavedAlongDepth(int64_t depth) { return depth >> kLaneBitsOfDepth; }

namespace {
struct BitRange {
  unsigned first = 0, count = 0;
  bool contains(unsigned bit) const { return bit >= first && bit < first + count; }
};
} // namespace

/// The layout with a dimension's index permuted: its lowest bits become the first that neither
/// lanes nor warps hold.
static LinearLayout interleavedAlong(const LinearLayout &layout, unsigned dim, int64_t neighbours,
                                     BitRange lanes, BitRange warps) {
  SmallVector<unsigned> lowest, rest; // old bits in their new order
  for (unsigned bit = 0; bit < layout.numBitsOf(dim); ++bit) {
    bool isHeld = lanes.contains(bit) || warps.contains(bit);
    bool isTaken = !isHeld && int64_t(2) << lowest.size() <= neighbours;
    (isTaken ? lowest : rest).push_back(bit);
  }
  lowest.append(rest);
  unsigned first = layout.firstBitOf(dim);
  LinearLayout result = layout;
  for (Place place : {Place::Register, Place::Lane, Place::Warp}) {
    LinearLayout::Bases bases;
    for (uint32_t basis : layout.bases(place)) {
      uint32_t moved = basis & ~layout.maskOf(dim);
      for (auto [now, before] : llvm::enumerate(lowest))
        moved |= (basis >> (first + before) & 1) << (first + now);
      bases.push_back(moved);
    }
    result = result.withPlace(place, std::move(bases));
  }
  return result;
}

static LinearLayout plainMmaLayout(tile::MmaAttr instruction, MmaOperand operand,
                                   ArrayRef<int64_t> shape, ArrayRef<int64_t> warps) {
  LinearLayout fragment = mmaFragment(instruction, operand);
  unsigned rank = shape.size();
  if (operand == MmaOperand::Accumulator)
    return tiledLayout(fragment, shape, warps);
  unsigned shared = operand == MmaOperand::A ? rank - 1 : rank - 2; // dimension that it lacks
  SmallVector<int64_t> own(warps);
  own[shared] = 1;
  LinearLayout layout = tiledLayout(fragment, shape, own);
  // The warp's number counts the product's last dimension first; along the one that the operand
  // lacks, warps hold copies.
  LinearLayout::Bases bases;
  ArrayRef<uint32_t> rest = layout.bases(Place::Warp);
  for (unsigned dim = rank; dim-- > 0;)
    for (int64_t bit = 0; bit < int64_t(llvm::Log2_64(warps[dim])); ++bit) {
      bases.push_back(dim == shared ? 0 : rest.front());
      if (dim != shared)
        rest = rest.drop_front();
    }
  return layout.withPlace(Place::Warp, std::move(bases));
}

LinearLayout tw::simt::mmaLayout(tile::MmaAttr instruction, MmaOperand operand,
                                 ArrayRef<int64_t> shape, ArrayRef<int64_t> warps,
                                 ArrayRef<int64_t> interleave) {
  LinearLayout layout = plainMmaLayout(instruction, operand, shape, warps);
  if (interleave.empty())
    return layout;
  unsigned rank = shape.size(), row = rank - 2, column = rank - 1;
  auto alongProduct = [&](unsigned dim, unsigned extent) {
    BitRange ofWarps{llvm::Log2_32(extent), llvm::Log2_64(warps[dim])};
    layout = interleavedAlong(layout, dim, interleave[dim], {0, kLaneBits}, ofWarps);
  };
  if (operand != MmaOperand::B)
    alongProduct(row, instruction.getM());
  if (operand != MmaOperand::A)
    alongProduct(column, instruction.getN());
  if (operand == MmaOperand::Accumulator)
    return layout;
  unsigned bits = bitsOf(operand == MmaOperand::A ? instruction.getA() : instruction.getB());
  BitRange lanes{bits < 32 ? llvm::Log2_32(32 / bits) : 0, kLaneBitsOfDepth};
  return interleavedAlong(layout, operand == MmaOperand::A ? column : row, interleave[rank], lanes,
                          {});
}

bool tw::simt::fitsMma(tile::MmaAttr instruction, MmaOperand operand, ArrayRef<int64_t> shape) {
  LinearLayout fragment = mmaFragment(instruction, operand);
  return shape.take_back(2).front() >= fragment.shape().front() &&
         shape.back() >= fragment.shape().back();
}
