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
  switch (operand) {
  case MmaOperand::A:
    return instruction.getFragmentA();
  case MmaOperand::B:
    return instruction.getFragmentB();
  case MmaOperand::Accumulator:
    return instruction.getFragmentAccumulator();
  case MmaOperand::ScalesA:
  case MmaOperand::ScalesB:
    return instruction.getFragmentScales();
  }
  return "";
}

namespace {
/// A dimension of an operand: one of the instruction's, its extent, and the product's dimension,
/// counted from its last one, that it is; none for k.
struct OperandDim {
  char name;
  int64_t extent;
  std::optional<unsigned> inProduct = std::nullopt;
};
} // namespace

/// The last two dimensions of an operand.
static std::array<OperandDim, 2> dimsOf(tile::MmaAttr instruction, MmaOperand operand) {
  int64_t k = instruction.getK();
  OperandDim m = {'m', instruction.getM(), 1}, n = {'n', instruction.getN(), 0};
  auto depth = [](int64_t extent) { return OperandDim{'k', extent}; };
  switch (operand) {
  case MmaOperand::A:
    return {m, depth(k / tile::packedInStored(instruction.getA()))};
  case MmaOperand::B:
    return {depth(k / tile::packedInStored(instruction.getB())), n};
  case MmaOperand::Accumulator:
    break;
  case MmaOperand::ScalesA:
    return {m, depth(k / tile::kScaledGroup)};
  case MmaOperand::ScalesB:
    return {n, depth(k / tile::kScaledGroup)};
  }
  return {m, n};
}

LinearLayout tw::simt::mmaFragment(tile::MmaAttr instruction, MmaOperand operand) {
  std::array<OperandDim, 2> dims = dimsOf(instruction, operand);
  LinearLayout whole({dims[0].extent, dims[1].extent}, {});
  // The rows in the fragment of scales are columns where they are B's.
  auto isFirst = [&](FragmentBit bit) {
    return bit.dim == dims[0].name || (bit.dim != 'k' && dims[1].name == 'k');
  };
  auto basesOf = [&](ArrayRef<FragmentBit> bits) {
    LinearLayout::Bases bases;
    for (FragmentBit bit : bits)
      bases.push_back(bit.dim == '-' ? 0
                                     : 1u << (whole.firstBitOf(isFirst(bit) ? 0 : 1) + bit.bit));
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
  unsigned last = shape.size() - 1;
  SmallVector<int64_t> own(warps.drop_back(2));
  SmallVector<bool> hasDim(warps.size() - 2, true); // of the product
  hasDim.append({false, false});
  for (const OperandDim &dim : dimsOf(instruction, operand)) {
    own.push_back(dim.inProduct ? warps[last - *dim.inProduct] : 1);
    if (dim.inProduct)
      hasDim[last - *dim.inProduct] = true;
  }
  LinearLayout layout = tiledLayout(fragment, shape, own);
  // The warp's number counts the product's last dimension first; along the one that the operand
  // lacks, warps hold copies.
  LinearLayout::Bases bases;
  ArrayRef<uint32_t> rest = layout.bases(Place::Warp);
  for (unsigned dim = shape.size(); dim-- > 0;)
    for (int64_t bit = 0; bit < int64_t(llvm::Log2_64(warps[dim])); ++bit) {
      bases.push_back(hasDim[dim] ? rest.front() : 0);
      if (hasDim[dim])
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
  unsigned last = shape.size() - 1;
  for (auto [index, dim] : llvm::enumerate(dimsOf(instruction, operand))) {
    uint32_t held = bitsHeldByLanes(instruction, dim.name);
    unsigned inProduct = dim.inProduct ? last - *dim.inProduct : last + 1; // K comes last
    if (dim.inProduct)
      held |= uint32_t(warps[inProduct] - 1) << llvm::Log2_64(dim.extent);
    layout = interleavedAlong(layout, last - 1 + index, interleave[inProduct], held);
  }
  return layout;
}

bool tw::simt::fitsMma(tile::MmaAttr instruction, MmaOperand operand, ArrayRef<int64_t> shape) {
  LinearLayout fragment = mmaFragment(instruction, operand);
  return shape.take_back(2).front() >= fragment.shape().front() &&
         shape.back() >= fragment.shape().back();
}
