// Verifiers and simplifications of the `simt` operations: what the lowering may rely on.
#include "ir/layout/OperandSlabs.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Fragment.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::AsyncMmaAttr;
using tw::tile::elementBytes;
using tw::tile::elementTypeOf;
using tw::tile::MmaAttr;
using tw::tile::shapeOf;
using tw::tile::withElementType;

//===-- Layouts ------------------------------------------------------------------------------===//

SmallVector<unsigned> tw::simt::warpBitsAlong(const LinearLayout &layout, unsigned axis) {
  SmallVector<unsigned> bits;
  uint32_t mask = layout.maskOf(axis), free = layout.freeBits(Place::Warp);
  ArrayRef<uint32_t> bases = layout.bases(Place::Warp);
  for (unsigned bit = 0; bit < bases.size(); ++bit)
    if ((bases[bit] & mask) && !(free >> bit & 1))
      bits.push_back(bit);
  llvm::sort(bits, [&](unsigned a, unsigned b) { return bases[a] < bases[b]; });
  return bits;
}

/// Returns true if each basis of lanes and warps runs either along the axis or along other
/// dimensions only.
static bool separatesAxis(const LinearLayout &layout, unsigned axis) {
  uint32_t mask = layout.maskOf(axis);
  auto isMixed = [&](uint32_t basis) { return (basis & mask) && (basis & ~mask); };
  return llvm::none_of(layout.bases(Place::Lane), isMixed) &&
         llvm::none_of(layout.bases(Place::Warp), isMixed);
}

RankedTensorType tw::simt::partiallyReducedType(Type tile, unsigned axis) {
  const LinearLayout &layout = layoutOf(tile);
  if (!separatesAxis(layout, axis))
    return {};
  SmallVector<unsigned> pieces = warpBitsAlong(layout, axis);
  SmallVector<int64_t> shape(layout.shape());
  shape[axis] = 1;
  LinearLayout collapsed = layout.withDimCollapsed(axis).withoutFreeRegisters();
  shape[axis] = int64_t(1) << pieces.size();
  // The collapsed axis has no bits; making room for the pieces moves the bits of earlier
  // dimensions.
  unsigned first = collapsed.firstBitOf(axis), count = pieces.size();
  uint32_t below = (uint32_t(1) << first) - 1;
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (unsigned place = 0; place < kNumPlaces; ++place)
    for (uint32_t basis : collapsed.bases(Place(place)))
      bases[place].push_back((basis & below) | ((basis & ~below) << count));
  for (auto [piece, bit] : llvm::enumerate(pieces))
    bases[unsigned(Place::Warp)][bit] = uint32_t(1) << (first + piece);
  return withLayout(RankedTensorType::get(shape, elementTypeOf(tile)), LinearLayout(shape, bases));
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element, LayoutAttr layout,
                                 unsigned pad, unsigned interval) {
  const LinearLayout &value = layout.getValue();
  if (!element.isIntOrFloat() && !isa<tile::PtrType>(element))
    return emitError() << "a buffer holds numbers or pointers of tiles, not " << element;
  if (ArrayRef<int64_t>(value.shape()) != shape)
    return emitError() << "the layout is of another shape than the buffer";
  for (Place place : {Place::Register, Place::Lane, Place::Warp, Place::Cta, Place::Step})
    if (value.numBits(place) != 0)
      return emitError() << "a buffer's layout is of offsets only";
  if (!value.isSurjective() || !value.isInjective())
    return emitError() << "a buffer holds every element once";
  constexpr unsigned piece = 16;
  if (pad % piece != 0 || interval % piece != 0 || (interval != 0) != (pad != 0) ||
      (interval != 0 && !llvm::isPowerOf2_32(interval)))
    return emitError() << "padding is of 16 bytes or a multiple, behind a power of two of them";
  return success();
}

//===-- Conversions --------------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  Type source = getSource().getType(), result = getType();
  if (!hasLayout(source) || !hasLayout(result))
    return emitOpError("converts between tiles with layouts");
  if (shapeOf(source) != shapeOf(result) || elementTypeOf(source) != elementTypeOf(result))
    return emitOpError("shape and element type must stay");
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  auto inner = getSource().getDefiningOp<ConvertLayoutOp>();
  if (!inner)
    return {};
  if (inner.getSource().getType() == getType())
    return inner.getSource();
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

/// Creates splats, constants and aranges in the wanted layout, since they cost nothing to compute.
LogicalResult ConvertLayoutOp::canonicalize(ConvertLayoutOp op, PatternRewriter &rewriter) {
  if (auto splat = op.getSource().getDefiningOp<tile::SplatOp>()) {
    rewriter.replaceOpWithNewOp<tile::SplatOp>(op, op.getType(), splat.getSource());
    return success();
  }
  if (auto arange = op.getSource().getDefiningOp<tile::ArangeOp>()) {
    rewriter.replaceOpWithNewOp<tile::ArangeOp>(op, op.getType(), arange.getStart(),
                                                arange.getEnd());
    return success();
  }
  SplatElementsAttr constant;
  if (matchPattern(op.getSource(), m_Constant(&constant))) {
    auto type = cast<ShapedType>(op.getType());
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, constant.resizeSplat(type));
    return success();
  }
  return rewriter.notifyMatchFailure(op, "source is not free to make in another layout");
}

//===-- Partial reductions -------------------------------------------------------------------===//

LogicalResult PartialReduceOp::verify() {
  ValueRange sources = getSources();
  if (sources.empty() || getResults().size() != sources.size())
    return emitOpError("must have one result per source");
  for (auto [source, result] : llvm::zip(sources, getResults())) {
    if (!hasLayout(source.getType()) ||
        source.getType() !=
            withElementType(sources.front().getType(), elementTypeOf(source.getType())))
      return emitOpError("sources must have one shape and layout");
    if (getAxis() >= shapeOf(source.getType()).size())
      return emitOpError("axis is out of range");
    RankedTensorType wanted = partiallyReducedType(source.getType(), getAxis());
    if (!wanted)
      return emitOpError("a lane or warp moves along the axis and another dimension at once");
    if (result.getType() != wanted)
      return emitOpError("result must be ") << wanted;
  }
  Block &block = getCombine().front();
  if (block.getNumArguments() != 2 * sources.size())
    return emitOpError("combining region must take two scalars per source");
  for (auto [position, argument] : llvm::enumerate(block.getArguments()))
    if (argument.getType() != elementTypeOf(sources[position % sources.size()].getType()))
      return emitOpError("combining region's arguments must have the sources' element types");
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != sources.size())
    return emitOpError("combining region must yield one scalar per source");
  for (auto [value, source] : llvm::zip(yield.getValues(), sources))
    if (value.getType() != elementTypeOf(source.getType()))
      return emitOpError("combining region must yield the sources' element types");
  return success();
}

//===-- Shared memory ------------------------------------------------------------------------===//

/// Far above the stages that a loop may have: planning counts down from it.
static constexpr int64_t kMostSlots = 1024;

LogicalResult AllocSharedOp::verify() {
  if (getOffset() && (int64_t(*getOffset()) < 0 || *getOffset() % 16 != 0))
    return emitOpError("offset must be a multiple of 16 bytes");
  if (getSlots() && (int64_t(*getSlots()) < 1 || int64_t(*getSlots()) > kMostSlots))
    return emitOpError("must have from 1 to ") << kMostSlots << " slots";
  return success();
}

LogicalResult SlotOp::verify() {
  auto buffer = getBuffer().getDefiningOp<AllocSharedOp>();
  if (!buffer || !buffer.getSlots())
    return emitOpError("selects from a buffer that was allocated with slots");
  return success();
}

/// Checks that a tile with a layout, or a scalar, is what the buffer holds.
static LogicalResult verifyHeld(Operation *op, Type value, SharedType buffer) {
  if (elementTypeOf(value) != buffer.getElementType())
    return op->emitOpError("value and buffer must have one element type");
  if (!isa<RankedTensorType>(value)) {
    if (buffer.getLayout().getValue().numElements() != 1)
      return op->emitOpError("a scalar needs a buffer of one element");
    return success();
  }
  if (!hasLayout(value))
    return op->emitOpError("the tile must have a layout");
  if (shapeOf(value) != buffer.getShape())
    return op->emitOpError("tile and buffer must have one shape");
  return success();
}

LogicalResult StoreSharedOp::verify() {
  return verifyHeld(*this, getValue().getType(), getBuffer().getType());
}

LogicalResult LoadSharedOp::verify() { return verifyHeld(*this, getType(), getBuffer().getType()); }

LogicalResult AsyncCopyOp::verify() {
  SharedType buffer = getBuffer().getType();
  auto pointee = dyn_cast<tile::PtrType>(elementTypeOf(getPtr().getType()));
  if (!pointee || pointee.getPointee() != buffer.getElementType())
    return emitOpError("pointers and buffer must have one element type");
  if (!hasLayout(getPtr().getType()) || shapeOf(getPtr().getType()) != buffer.getShape())
    return emitOpError("pointers must be a tile of the buffer's shape with a layout");
  return success();
}

LogicalResult GatherSharedOp::verify() {
  SharedType buffer = getBuffer().getType();
  auto indices = cast<RankedTensorType>(getIndices().getType());
  if (!hasLayout(indices) || getType() != withElementType(indices, buffer.getElementType()))
    return emitOpError("result must have the indices' layout and the buffer's element type");
  if (size_t(indices.getRank()) != buffer.getShape().size() ||
      getAxis() >= buffer.getShape().size())
    return emitOpError("buffer and indices must have the same rank, and axis must be a dimension");
  for (auto [dim, extents] : llvm::enumerate(llvm::zip(buffer.getShape(), indices.getShape())))
    if (dim != getAxis() && std::get<0>(extents) != std::get<1>(extents))
      return emitOpError("extents must agree except along the axis");
  return success();
}

LogicalResult DotSharedOp::verify() {
  ArrayRef<int64_t> a = getA().getType().getShape(), b = getB().getType().getShape();
  ArrayRef<int64_t> acc = shapeOf(getAcc().getType());
  size_t rank = acc.size();
  if (!hasLayout(getAcc().getType()))
    return emitOpError("the accumulator must have a layout");
  if ((rank != 2 && rank != 3) || a.size() != rank || b.size() != rank ||
      a[rank - 1] != b[rank - 2] || a[rank - 2] != acc[rank - 2] || b[rank - 1] != acc[rank - 1] ||
      (rank == 3 && (a[0] != acc[0] || b[0] != acc[0])))
    return emitOpError(
        "shapes must be [M, K], [K, N] and [M, N], or all with one leading dimension");
  bool isFloat = isa<FloatType>(elementTypeOf(getAcc().getType()));
  for (Type element : {getA().getType().getElementType(), getB().getType().getElementType()})
    if (isa<FloatType>(element) != isFloat || !element.isIntOrFloat())
      return emitOpError("operands must be all floating-point or all integer");
  return success();
}

//===-- Matrix products ----------------------------------------------------------------------===//

/// Returns true if sums apart from the accumulator are those of whole instructions.
static bool isWholePart(std::optional<uint64_t> partialDepth, AsyncMmaAttr instruction) {
  return !partialDepth || (*partialDepth % instruction.getMma().getK() == 0 &&
                           instruction.getMma().getAccumulator().isF32());
}

/// Why whole instructions of warps cannot make a product of these extents, or nothing.
static StringRef problemOfExtents(MmaOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getType());
  size_t rank = shape.size();
  if ((rank != 2 && rank != 3) || op.getWarps().size() != rank)
    return "multiplies tiles of rank 2 or 3, with a number of warps per dimension";
  for (int64_t warps : op.getWarps())
    if (warps > int64_t(tile::kMostWarps) || !llvm::isPowerOf2_64(warps))
      return "has a power of two up to 64 of warps per dimension";
  if (llvm::product_of(op.getWarps()) > int64_t(tile::kMostWarps))
    return "has at most 64 warps";
  ArrayRef<int64_t> a = shapeOf(op.getA().getType()), b = shapeOf(op.getB().getType());
  if (a.size() != rank || b.size() != rank)
    return "operands and result must have one rank";
  if (a[rank - 1] * tile::packedInStored(op.getInstruction().getA()) !=
      b[rank - 2] * tile::packedInStored(op.getInstruction().getB()))
    return "inner extents must agree";
  if (a[0] != shape[0] || b[rank - 1] != shape[rank - 1] || a[rank - 2] != shape[rank - 2] ||
      (rank == 3 && b[0] != shape[0]))
    return "outer extents of operands must be the result's";
  auto isRagged = [](int64_t extent) { return !llvm::isPowerOf2_64(extent); };
  return llvm::any_of(a, isRagged) || llvm::any_of(b, isRagged) ? "extents must be powers of two"
                                                                : "";
}

/// Returns true if whole groups of warps have rows of their own.
static bool hasRowsForGroups(AsyncMmaAttr instruction, ArrayRef<int64_t> shape, int64_t numWarps) {
  return numWarps % instruction.getWarps() == 0 &&
         shape[0] >= int64_t(instruction.getMma().getM()) * numWarps;
}

/// Returns true if the warps lie one below the other and take rows, columns and steps of k in
/// order.
static bool isPlain(MmaOp op) {
  return op.getWarps().size() == 2 && op.getWarps().back() == 1 && !op.getInterleave();
}

LogicalResult MmaOp::verify() {
  struct Checked {
    MmaOperand operand;
    Type tile, element;
  };
  SmallVector<Checked> checked = {
      {MmaOperand::A, getA().getType(), tile::storedType(getInstruction().getA())},
      {MmaOperand::B, getB().getType(), tile::storedType(getInstruction().getB())},
      {MmaOperand::Accumulator, getType(), getInstruction().getAccumulator()},
  };
  if (!getScales().empty() &&
      (getScales().size() != 2 || getInstruction().getFragmentScales().empty()))
    return emitOpError("scales are those of both operands, and of an instruction that has them");
  for (auto [operand, scales] :
       llvm::zip(std::array{MmaOperand::ScalesA, MmaOperand::ScalesB}, getScales()))
    checked.push_back({operand, scales.getType(), elementTypeOf(scales.getType())});
  if (StringRef problem = problemOfExtents(*this); !problem.empty())
    return emitOpError(problem);
  ArrayRef<int64_t> interleave = getInterleave().value_or(ArrayRef<int64_t>());
  if (!interleave.empty() && interleave.size() != getWarps().size() + 1)
    return emitOpError("interleaves each dimension of the product and the inner one");
  if (llvm::any_of(interleave, [](int64_t count) { return !llvm::isPowerOf2_64(count); }))
    return emitOpError("interleaves by powers of two");
  if (!getScales().empty() && !interleave.empty() && interleave.back() != 1)
    return emitOpError("takes groups along the inner dimension in their order");
  for (auto [operand, tile, element] : checked) {
    if (elementTypeOf(tile) != element)
      return emitOpError("element types must be the instruction's");
    if (!fitsMma(getInstruction(), operand, shapeOf(tile)))
      return emitOpError("a tile is smaller than the instruction");
    if (hasLayout(tile) && layoutOf(tile) != mmaLayout(getInstruction(), operand, shapeOf(tile),
                                                       getWarps(), interleave))
      return emitOpError("a tile has another layout than the instruction's");
  }
  if (getAsync() && (getAsync()->getMma() != getInstruction() || !isPlain(*this) ||
                     !hasRowsForGroups(*getAsync(), shapeOf(getType()), getWarps().front())))
    return emitOpError("instructions of several warps take their rows in order, one warp below "
                       "the other");
  if (getPartialDepth() && (!getAsync() || !isWholePart(getPartialDepth(), *getAsync())))
    return emitOpError("partial sums are those of whole instructions of several warps, in f32");
  return success();
}

/// Why an operand in registers or in a buffer cannot be that of the instruction, or nothing.
static StringRef problemOfAsyncOperand(MmaAsyncOp op, MmaOperand operand) {
  AsyncMmaAttr instruction = op.getInstruction();
  bool isA = operand == MmaOperand::A,
       isTransposed = isA ? op.getTransposedA() : op.getTransposedB();
  Type element = tile::storedType(isA ? instruction.getMma().getA() : instruction.getMma().getB());
  ArrayRef<int64_t> product = shapeOf(op.getType());
  int64_t outer = isA ? product[0] : product[1];
  auto buffer = dyn_cast<SharedType>(isA ? op.getA().getType() : op.getB().getType());
  SmallVector<int64_t> shape(buffer ? buffer.getShape() : shapeOf(op.getA().getType()));
  if (shape.size() != 2)
    return "multiplies tiles of rank 2";
  if (isTransposed)
    std::swap(shape[0], shape[1]);
  if (shape[isA ? 0 : 1] != outer || !fitsMma(instruction.getMma(), operand, shape))
    return "operands must have the product's extents, and hold an instruction";
  if (!buffer)
    return elementTypeOf(op.getA().getType()) == element && !isTransposed
               ? ""
               : "registers hold the instruction's type, as it is";
  std::optional<OperandSlabs> slabs =
      slabsOf(buffer.getLayout().getValue(), elementBytes(element), instruction.getSpanBytes());
  if (buffer.getElementType() != element || !slabs)
    return "buffers hold the instruction's type in slabs";
  bool isAcross = (slabs->dim == (isA ? 0u : 1u)) != isTransposed;
  return isAcross && !instruction.getAcross() ? "the instruction's operands lie along k" : "";
}

LogicalResult MmaAsyncOp::verify() {
  if (shapeOf(getType()).size() != 2 || !hasLayout(getType()))
    return emitOpError("multiplies tiles of rank 2 with a layout");
  auto depthOf = [](Type type, unsigned dim) {
    auto buffer = dyn_cast<SharedType>(type);
    return (buffer ? buffer.getShape() : shapeOf(type))[dim];
  };
  for (MmaOperand operand : {MmaOperand::A, MmaOperand::B})
    if (StringRef problem = problemOfAsyncOperand(*this, operand); !problem.empty())
      return emitOpError(problem);
  if (depthOf(getA().getType(), getTransposedA() ? 0 : 1) !=
      depthOf(getB().getType(), getTransposedB() ? 1 : 0))
    return emitOpError("inner extents must agree");
  int64_t numWarps = layoutOf(getType()).size(Place::Warp);
  MmaAttr instruction = getInstruction().getMma();
  if (elementTypeOf(getType()) != instruction.getAccumulator() ||
      !hasRowsForGroups(getInstruction(), shapeOf(getType()), numWarps) ||
      layoutOf(getType()) !=
          mmaLayout(instruction, MmaOperand::Accumulator, shapeOf(getType()), {numWarps, 1}))
    return emitOpError("the accumulator must have the instruction's layout over all warps");
  if (!isWholePart(getPartialDepth(), getInstruction()))
    return emitOpError("partial sums are those of whole instructions, in f32");
  return success();
}

LogicalResult MmaWaitOp::verify() {
  if (getPending() > kMostProductsLeft)
    return emitOpError("leaves at most ") << kMostProductsLeft << " products in flight";
  if (getAccs().getTypes() != getResultTypes())
    return emitOpError("gives the accumulators that it takes");
  return success();
}

//===-- One thread ---------------------------------------------------------------------------===//

/// Bits of a value in a register or in memory; 0 of a type that neither holds.
static unsigned bitsOf(Type type) {
  if (isa<LLVM::LLVMPointerType, tile::PtrType>(type))
    return 64;
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

/// Why operands of one thread are not those of the instruction's blocks and steps, or nothing.
static StringRef problemOfBlocks(GroupMmaOp op) {
  int64_t steps = op.getSteps(), columns = op.getColumns();
  MmaAttr mma = op.getInstruction().getMma();
  if (steps < 1 || columns < int64_t(mma.getN()) || !llvm::isPowerOf2_64(columns) ||
      columns > int64_t(op.getInstruction().getColumns()))
    return "has one step or more, and as many columns as the instruction may have";
  auto isAddress = [](Type type) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    return pointer && pointer.getAddressSpace() == 3;
  };
  auto isPlaced = [](SlabsAttr slabs, ArrayRef<int64_t> offsets) {
    unsigned span = slabs.getSpanBytes();
    return llvm::isPowerOf2_32(span) && span >= 16 && span <= 128 &&
           slabs.getSlabBytes() % slabs.getGroupBytes() == 0 &&
           llvm::all_of(offsets, [](int64_t bytes) { return bytes >= 0 && bytes % 16 == 0; });
  };
  if (!isPlaced(op.getBSlabs(), op.getBOffsets()) ||
      (op.getASlabs() && !isPlaced(*op.getASlabs(), op.getAOffsets())))
    return "slabs have rows of 16 to 128 bytes in groups of eight, and offsets of whole pieces";
  auto isWord = [](Type type) { return type.isInteger(32) || type.isF32(); };
  int64_t left = op.getAOffsets().size(), right = op.getBOffsets().size();
  if (!op.getASlabs()) {
    constexpr int64_t wordsOfFragment = 4;
    left = int64_t(op.getA().size()) / wordsOfFragment;
    if (op.getA().size() % wordsOfFragment != 0 || !llvm::all_of(op.getA().getTypes(), isWord))
      return "registers of the left operand are four words for each block and step";
  } else if (op.getA().size() != 1 || !isAddress(op.getA().front().getType())) {
    return "the left operand in shared memory is an address";
  }
  if (!isAddress(op.getB().getType()))
    return "the right operand is an address in shared memory";
  if (left == 0 || right == 0 || left % steps != 0 || right % steps != 0)
    return "operands have offsets for each block and step";
  int64_t words = columns * mma.getM() / 32 / (mma.getAccumulator().isF16() ? 2 : 1);
  if (int64_t(op.getNumResults()) != left / steps * (right / steps) * words ||
      !llvm::all_of(op.getResultTypes(), isWord))
    return "results are words of each block's accumulator";
  return op.getAcc().empty() || op.getAcc().getTypes() == op.getResultTypes()
             ? ""
             : "takes the accumulators that it gives, or none";
}

LogicalResult GroupMmaOp::verify() {
  StringRef problem = problemOfBlocks(*this);
  return problem.empty() ? success() : LogicalResult(emitOpError(problem));
}

LogicalResult GroupWaitOp::verify() {
  if (getPending() > kMostProductsLeft)
    return emitOpError("leaves at most ") << kMostProductsLeft << " products in flight";
  if (getAccs().getTypes() != getResultTypes() ||
      llvm::any_of(getResultTypes(), [](Type type) { return bitsOf(type) != 32; }))
    return emitOpError("gives the words that it takes");
  return success();
}

LogicalResult ShuffleOp::verify() {
  unsigned bits = bitsOf(getType());
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return emitOpError("moves values of 8, 16, 32 or 64 bits and pointers");
  return success();
}

/// Checks that one access moves a scalar or up to 16 bytes of 2 to 16 elements.
static LogicalResult verifyAccess(Operation *op, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  unsigned bits = bitsOf(vector ? vector.getElementType() : type);
  if (bits < 8 || !llvm::isPowerOf2_32(bits))
    return op->emitOpError("elements must have 8, 16, 32 or 64 bits");
  if (vector && (vector.getRank() != 1 || !llvm::isPowerOf2_64(vector.getNumElements()) ||
                 vector.getNumElements() < 2 || vector.getNumElements() * bits > 128))
    return op->emitOpError("a vector must have 2, 4, 8 or 16 elements of at most 16 bytes");
  return success();
}

void simt::InlineAsmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getIsPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

/// A volatile access stays where it is, however useless its value: another program may wait on it.
void GlobalLoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile() || getCache() == tile::CacheModifier::CV) // which fetches again
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult GlobalLoadOp::verify() {
  if (getOther() && (!getMask() || getOther().getType() != getType()))
    return emitOpError("other needs a mask and must have the result's type");
  return verifyAccess(*this, getType());
}

LogicalResult GlobalStoreOp::verify() { return verifyAccess(*this, getValue().getType()); }

#define GET_OP_CLASSES
#include "ir/simt/SimtOps.cpp.inc"
