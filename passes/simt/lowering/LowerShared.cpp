// Lowers writes and reads of whole tiles in shared memory, and gathers from it.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/simt/lowering/SharedTile.h"
#include "passes/simt/lowering/Storage.h"
#include "passes/simt/lowering/ThreadBits.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The layout of a tile, or of a scalar as the only element of a buffer of `shape`.
static LinearLayout layoutIn(Type value, ArrayRef<int64_t> shape) {
  return hasLayout(value) ? layoutOf(value) : LinearLayout(shape, {});
}

LogicalResult SimtFunction::lowerStoreShared(StoreSharedOp op) {
  FailureOr<uint64_t> firstByte = sharedBytesOf(op.getBuffer(), op);
  if (failed(firstByte))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  LinearLayout layout = layoutIn(op.getValue().getType(), buffer.getShape());
  // Copies of an element are equal, but writing each would be a race: its owner writes it.
  Value owner = hasLayout(op.getValue().getType()) ? isOwner(layout) : isZero(thread);
  SharedTile tile(*this, buffer, *firstByte, layout);
  OpBuilder::InsertionGuard guard(builder);
  if (owner) {
    auto branch = scf::IfOp::create(builder, loc, owner);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  tile.store(registersOf(op.getValue()));
  return success();
}

LogicalResult SimtFunction::lowerLoadShared(LoadSharedOp op) {
  FailureOr<uint64_t> firstByte = sharedBytesOf(op.getBuffer(), op);
  if (failed(firstByte))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  SharedTile tile(*this, buffer, *firstByte, layoutIn(op.getType(), buffer.getShape()));
  setRegisters(op, tile.load());
  return success();
}

/// The byte offset of the element at `index` along the axis, and at the coordinates of register
/// `reg` of `layout` along the others.
static Value gatherOffset(SimtFunction &f, const LinearLayout &layout, uint32_t reg, Value index,
                          const LinearLayout &buffer, const BitMatrix &byteOffsets, unsigned axis) {
  // Where an element of the indices' tile is in the buffer, at index 0 along the axis.
  auto offsetOf = [&](uint32_t element) {
    SmallVector<int64_t> coordinates = layout.coordinatesOf(element);
    coordinates[axis] = 0;
    return uint32_t(byteOffsets.apply(buffer.elementAt(coordinates)));
  };
  Value offset;
  for (auto [place, number] : {std::pair{Place::Lane, f.lane}, std::pair{Place::Warp, f.warp}}) {
    SmallVector<uint32_t> bases;
    for (uint32_t basis : layout.bases(place))
      bases.push_back(offsetOf(basis));
    if (llvm::any_of(bases, [](uint32_t basis) { return basis != 0; }))
      offset = xorOf(f, offset, f.placeIndex(bases, number, ~0u));
  }
  if (uint32_t constant = offsetOf(layout.apply(Place::Register, reg)))
    offset = xorOf(f, offset, f.constantI32(constant));
  SmallVector<uint32_t> ofIndex;
  for (unsigned bit = 0; bit < buffer.numBitsOf(axis); ++bit)
    ofIndex.push_back(uint32_t(byteOffsets.columns[buffer.firstBitOf(axis) + bit]));
  // Bits beyond the buffer's extent do not count: no index reads outside the buffer.
  return ofIndex.empty() ? offset : xorOf(f, offset, linearImage(f, index, ofIndex));
}

static Value toI32(SimtFunction &f, Value integer) {
  Type type = f.builder.getI32Type();
  unsigned bits = integer.getType().getIntOrFloatBitWidth();
  if (bits > 32)
    return arith::TruncIOp::create(f.builder, f.loc, type, integer);
  if (bits < 32)
    return arith::ExtUIOp::create(f.builder, f.loc, type, integer);
  return integer;
}

LogicalResult SimtFunction::lowerGatherShared(GatherSharedOp op) {
  FailureOr<uint64_t> firstByte = sharedBytesOf(op.getBuffer(), op);
  if (failed(firstByte))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  Type element = buffer.getElementType(), storage = storageType(*this, element);
  const LinearLayout &layout = layoutOf(op.getType());
  BitMatrix byteOffsets = byteOffsetsIn(buffer);
  Registers indices = registersOf(op.getIndices()), result;
  for (auto [reg, index] : llvm::enumerate(indices)) {
    Value offset = gatherOffset(*this, layout, reg, toI32(*this, index),
                                buffer.getLayout().getValue(), byteOffsets, op.getAxis());
    Value loaded = LLVM::LoadOp::create(builder, loc, storage, sharedAddress(*firstByte, offset),
                                        bytesInShared(element));
    result.push_back(fromStorage(*this, loaded, element));
  }
  setRegisters(op, result);
  return success();
}
