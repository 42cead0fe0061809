// Finds the pieces of asynchronous copies, and buffers that suit them.
#include "passes/simt/layout/AsyncCopies.h"
#include "ir/layout/DerivedLayouts.h"
#include "ir/target/TargetDesc.h"
#include "passes/simt/LayoutRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Returns true if groups of `count` registers, which are neighbours in global memory, are
/// neighbours in a buffer, each group at a multiple of its size.
static bool areNeighboursIn(const LinearLayout &buffer, const LinearLayout &layout,
                            ArrayRef<uint32_t> registers, unsigned count) {
  // A buffer's layout is a bijection (the type's verifier): it has an inverse.
  BitMatrix offsets{buffer.numInputBits(), *buffer.rightInverse()};
  auto offsetOf = [&](Place place, uint32_t coordinate) {
    return offsets.apply(layout.apply(place, coordinate));
  };
  for (size_t index = 1; index < registers.size(); index *= 2) {
    uint64_t offset = offsetOf(Place::Register, registers[index]);
    if (index < count ? offset != index : offset % count != 0)
      return false;
  }
  for (Place place : {Place::Lane, Place::Warp})
    for (unsigned bit = 0; bit < layout.numBits(place); ++bit)
      if (offsetOf(place, 1u << bit) % count != 0)
        return false;
  return true;
}

bool tw::simt::fillsWithZeros(tile::LoadOp load) {
  return !load.getOther() || isZeroTile(load.getOther());
}

std::optional<VectorAccess> tw::simt::asyncPieces(const IndexFacts &facts, Value ptr, Value mask,
                                                  SharedType buffer, tile::TargetAttr target) {
  tile::CopyAttr copy = laneCopyOf(target);
  if (!copy)
    return std::nullopt;
  const LinearLayout &layout = layoutOf(ptr.getType());
  unsigned bytes = pointeeBytes(ptr.getType());
  unsigned widest = *llvm::max_element(copy.getBytes());
  VectorAccess access = vectorAccess(facts, ptr, mask, layout, 8 * widest);
  for (; access.vector >= 1; access.vector /= 2)
    if (llvm::is_contained(copy.getBytes(), access.vector * bytes) &&
        areNeighboursIn(buffer.getLayout().getValue(), layout, access.registers, access.vector))
      return access;
  return std::nullopt;
}

//===-- Lane after lane ----------------------------------------------------------------------===//

tile::CopyAttr tw::simt::packedCopyOf(tile::TargetAttr target) {
  for (tile::CopyAttr copy : target ? target.getCopies() : ArrayRef<tile::CopyAttr>())
    if (copy.getKind() == tile::CopyKind::LaneAfterLane && copy.getWait() == tile::WaitKind::Counts)
      return copy;
  return nullptr;
}

std::optional<VectorAccess> tw::simt::packedPieces(const IndexFacts &facts, Value ptr, Value mask,
                                                   tile::TargetAttr target) {
  tile::CopyAttr copy = packedCopyOf(target);
  if (!copy)
    return std::nullopt;
  unsigned widest = *llvm::max_element(copy.getBytes());
  VectorAccess access = vectorAccess(facts, ptr, mask, layoutOf(ptr.getType()), 8 * widest);
  if (!llvm::is_contained(copy.getBytes(), access.vector * pointeeBytes(ptr.getType())))
    return std::nullopt;
  return access;
}

std::optional<LinearLayout> tw::simt::packedBuffer(const LinearLayout &layout, unsigned dim,
                                                   unsigned vector) {
  LinearLayout::Bases offsets;
  for (uint32_t index = 1; index < vector; index *= 2)
    offsets.push_back(index << layout.firstBitOf(dim));
  size_t numInPiece = offsets.size();
  llvm::append_range(offsets, layout.bases(Place::Lane));
  for (Place place : {Place::Warp, Place::Register})
    llvm::copy_if(layout.bases(place), std::back_inserter(offsets), [&](uint32_t basis) {
      return basis != 0 && !llvm::is_contained(ArrayRef(offsets).take_front(numInPiece), basis);
    });
  LinearLayout buffer = LinearLayout(layout.shape(), {}).withPlace(Place::Offset, offsets);
  bool isWhole = buffer.isSurjective() && offsets.size() == llvm::Log2_32(layout.numElements());
  return isWhole ? std::optional(buffer) : std::nullopt;
}

std::optional<LinearLayout> tw::simt::packedLayout(const LinearLayout &buffer, unsigned dim,
                                                   unsigned vector, unsigned numLanes,
                                                   unsigned numWarps) {
  ArrayRef<uint32_t> offsets = buffer.bases(Place::Offset);
  unsigned pieceBits = llvm::Log2_32(vector), laneBits = llvm::Log2_32(numLanes);
  if (offsets.size() < pieceBits + laneBits)
    return std::nullopt;
  for (unsigned bit = 0; bit < pieceBits; ++bit)
    if (offsets[bit] != 1u << (buffer.firstBitOf(dim) + bit))
      return std::nullopt;
  ArrayRef<uint32_t> rest = offsets.drop_front(pieceBits + laneBits);
  size_t warpBits = llvm::Log2_32(numWarps), ofWarps = std::min(warpBits, rest.size());
  LinearLayout::Bases registers(offsets.take_front(pieceBits)), warps(rest.take_front(ofWarps));
  llvm::append_range(registers, rest.drop_front(ofWarps));
  warps.resize(warpBits, 0); // more warps than pieces: they hold copies
  return LinearLayout(buffer.shape(), {})
      .withPlace(Place::Register, registers)
      .withPlace(Place::Lane, LinearLayout::Bases(offsets.slice(pieceBits, laneBits)))
      .withPlace(Place::Warp, warps);
}

SmallVector<Type> tw::simt::readTypesOf(tile::LoadOp load) {
  llvm::SetVector<Type> types;
  for (OpOperand &use : load->getUses()) {
    Operation *user = use.getOwner();
    if (isa<ConvertLayoutOp>(user))
      types.insert(user->getResult(0).getType());
    else if (auto dot = dyn_cast<tile::DotOp>(user); dot && use.getOperandNumber() < 2)
      types.insert(withLayout(
          load.getType(), dotOperandReads(layoutOf(dot.getType()), tile::shapeOf(load.getType()),
                                          /*isRight=*/use.getOperandNumber() == 1)));
    else
      types.insert(load.getType());
  }
  return types.takeVector();
}
