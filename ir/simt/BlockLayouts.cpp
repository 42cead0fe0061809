// Divides tiles into blocks of arrays that warps load, and checks the operations that do so.
#include "ir/simt/BlockLayouts.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Fragment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

std::optional<BlockParts> tw::simt::divideIntoBlocks(tile::BlockAttr block,
                                                     const LinearLayout &layout, unsigned dim) {
  tile::Fragment fragment = *tile::parseFragment(block.getFragment());
  auto inTile = [&](tile::FragmentBit bit) {
    return 1u << (layout.firstBitOf(bit.dim == 'n' ? dim : 1 - dim) + bit.bit);
  };
  bool isWithin = layout.rank() == 2 && layout.shape()[dim] >= block.getN() &&
                  layout.shape()[1 - dim] >= block.getM();
  if (!isWithin || !llvm::equal(llvm::map_range(fragment.lanes, inTile), layout.bases(Place::Lane)))
    return std::nullopt;
  BlockParts parts{{0}, {}};
  uint32_t within = 0; // bits of a register's number
  ArrayRef<uint32_t> bases = layout.bases(Place::Register);
  for (tile::FragmentBit bit : fragment.registers) {
    const uint32_t *basis = llvm::find(bases, inTile(bit));
    if (basis == bases.end())
      return std::nullopt;
    uint32_t registerBit = 1u << (basis - bases.begin());
    within |= registerBit;
    for (size_t i = 0, count = parts.registers.size(); i < count; ++i)
      parts.registers.push_back(parts.registers[i] | registerBit);
  }
  for (uint32_t start = 0; start < layout.size(Place::Register); ++start)
    if ((start & within) == 0)
      parts.starts.push_back(start);
  return parts;
}

LogicalResult LoadBlocksOp::verify() {
  auto pointer = dyn_cast<tile::PtrType>(getBase().getType());
  tile::LayoutAttr layout = getLayout();
  Type type = getType();
  ArrayRef<int64_t> shape = tile::shapeOf(type);
  if (!pointer || pointer.getPointee() != tile::elementTypeOf(type) ||
      tile::elementBytes(pointer.getPointee()) * 8 != getBlock().getBits())
    return emitOpError("loads elements of the array's type, of as many bits as the block's");
  if (shape.size() != 2 || getDim() > 1 || layout.getValue().shape() != shape ||
      (hasLayout(type) && layoutOf(type) != layout.getValue()) ||
      !divideIntoBlocks(getBlock(), layout.getValue(), getDim()))
    return emitOpError("has a layout whose registers are blocks");
  return success();
}

LogicalResult LoadBlockOp::verify() {
  size_t numRegisters = tile::parseFragment(getBlock().getFragment())->registers.size();
  if (getNumResults() * 32 == getBlock().getBits() << numRegisters)
    return success();
  return emitOpError("gives a lane's part of the block in words of 32 bits");
}
