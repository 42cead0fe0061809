// Finds the pieces of asynchronous copies.
#include "passes/simt/pipeline/AsyncCopies.h"
#include "ir/target/TargetDesc.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Whether groups of `count` registers, which are neighbours in global memory, are neighbours in a
/// buffer, each group at a multiple of its size.
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

std::optional<VectorAccess> tw::simt::asyncPieces(const Alignment &alignment, Value ptr, Value mask,
                                                  SharedType buffer, tile::TargetAttr target) {
  tile::CopyAttr copy = laneCopyOf(target);
  if (!copy)
    return std::nullopt;
  const LinearLayout &layout = layoutOf(ptr.getType());
  unsigned bytes = pointeeBytes(ptr.getType());
  unsigned widest = *llvm::max_element(copy.getBytes());
  VectorAccess access = vectorAccess(alignment, ptr, mask, layout, 8 * widest);
  for (; access.vector >= 1; access.vector /= 2)
    if (llvm::is_contained(copy.getBytes(), access.vector * bytes) &&
        areNeighboursIn(buffer.getLayout().getValue(), layout, access.registers, access.vector))
      return access;
  return std::nullopt;
}
