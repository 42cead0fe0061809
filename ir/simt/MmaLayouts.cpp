// Layouts of products' operands and accumulators, from what their matrix instructions say.
#include "ir/simt/MmaLayouts.h"
#include "ir/tile/Fragment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::Fragment;
using tile::FragmentBit;

//===-- Fragments ----------------------------------------------------------------------------===//

static StringRef textOf(tile::MmaAttr instruction, MmaOperand operand) {
  return operand == MmaOperand::A   ? instruction.getFragmentA()
         : operand == MmaOperand::B ? instruction.getFragmentB()
                                    : instruction.getFragmentAccumulator();
}

/// The dimensions of an operand, and their extents.
static std::pair<std::array<char, 2>, SmallVector<int64_t>> dimsOf(tile::MmaAttr instruction,
                                                                   MmaOperand operand) {
  int64_t m = instruction.getM(), n = instruction.getN(), k = instruction.getK();
  if (operand == MmaOperand::A)
    return {{'m', 'k'}, {m, k}};
  if (operand == MmaOperand::B)
    return {{'k', 'n'}, {k, n}};
  return {{'m', 'n'}, {m, n}};
}

LinearLayout tw::simt::mmaFragment(tile::MmaAttr instruction, MmaOperand operand) {
  auto [dims, shape] = dimsOf(instruction, operand);
  LinearLayout whole(shape, {});
  auto basesOf = [&](ArrayRef<FragmentBit> bits) {
    LinearLayout::Bases bases;
    for (FragmentBit bit : bits)
      bases.push_back(
          bit.dim == '-' ? 0 : 1u << (whole.firstBitOf(bit.dim == dims[0] ? 0 : 1) + bit.bit));
    return bases;
  };
  Fragment fragment = *tile::parseFragment(textOf(instruction, operand));
  return whole.withPlace(Place::Register, basesOf(fragment.registers))
      .withPlace(Place::Lane, basesOf(fragment.lanes));
}

/// The bits of an index along a dimension that lanes hold, in any operand: a mask.
static uint32_t bitsHeldByLanes(tile::MmaAttr instruction, char dim) {
  uint32_t mask = 0;
  for (MmaOperand operand : {MmaOperand::A, MmaOperand::B, MmaOperand::Accumulator}) {
    Fragment fragment = *tile::parseFragment(textOf(instruction, operand));
    for (FragmentBit bit : fragment.lanes)
      if (bit.dim == dim)
        mask |= 1u << bit.bit;
  }
  return mask;
}

int64_t tw::simt::mostInterleaved(tile::MmaAttr instruction, MmaOperand operand, int64_t extent,
                                  int64_t warps) {
  bool isA = operand == MmaOperand::A;
  int64_t fragmentExtent = isA ? instruction.getM() : instruction.getN();
  int64_t repeated = std::max<int64_t>(1, extent / (fragmentExtent * warps));
  uint32_t held = bitsHeldByLanes(instruction, isA ? 'm' : 'n');
  return repeated * (fragmentExtent >> llvm::popcount(held));
}

int64_t tw::simt::mostInterleavedAlongDepth(tile::MmaAttr instruction, int64_t depth) {
  return depth >> llvm::popcount(bitsHeldByLanes(instruction, 'k'));
}

//===-- Whole tiles --------------------------------------------------------------------------===//

/// The layout with a dimension's index permuted: its lowest bits become the first that are not in
/// `held`, the mask of those that lanes and warps hold.
static LinearLayout interleavedAlong(const LinearLayout &layout, unsigned dim, int64_t neighbours,
                                     uint32_t held) {
  SmallVector<unsigned> lowest, rest; // old bits in their new order
  for (unsigned bit = 0; bit < layout.numBitsOf(dim); ++bit) {
    bool isTaken = !(held >> bit & 1) && int64_t(2) << lowest.size() <= neighbours;
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
  auto alongProduct = [&](unsigned dim, unsigned extent, char name) {
    uint32_t ofWarps = uint32_t(warps[dim] - 1) << llvm::Log2_32(extent);
    layout = interleavedAlong(layout, dim, interleave[dim],
                              bitsHeldByLanes(instruction, name) | ofWarps);
  };
  if (operand != MmaOperand::B)
    alongProduct(row, instruction.getM(), 'm');
  if (operand != MmaOperand::A)
    alongProduct(column, instruction.getN(), 'n');
  if (operand == MmaOperand::Accumulator)
    return layout;
  return interleavedAlong(layout, operand == MmaOperand::A ? column : row, interleave[rank],
                          bitsHeldByLanes(instruction, 'k'));
}

bool tw::simt::fitsMma(tile::MmaAttr instruction, MmaOperand operand, ArrayRef<int64_t> shape) {
  LinearLayout fragment = mmaFragment(instruction, operand);
  return shape.take_back(2).front() >= fragment.shape().front() &&
         shape.back() >= fragment.shape().back();
}
