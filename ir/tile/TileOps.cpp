// Verifiers of the `tile` operations: what every later stage may rely on.
#include "ir/tile/Box.h"
#include "ir/tile/Fragment.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Checks that all tiles have a layout or none has: `hasLayouts` says which.
static LogicalResult verifyUniform(Operation *op, ValueRange tiles, bool &hasLayouts) {
  hasLayouts = hasLayout(tiles.front().getType());
  for (Value tile : tiles)
    if (hasLayout(tile.getType()) != hasLayouts)
      return op->emitOpError("either all tiles have a layout or none");
  return success();
}

/// Checks that the result of an operation without movement of data has the layout that follows from
/// its source's.
static LogicalResult verifyLayout(Operation *op, Value source, Value result,
                                  function_ref<LinearLayout(const LinearLayout &)> follow) {
  bool hasLayouts;
  if (failed(verifyUniform(op, {source, result}, hasLayouts)))
    return failure();
  if (hasLayouts && layoutOf(result.getType()) != follow(layoutOf(source.getType())))
    return op->emitOpError("result's layout must be the one that follows from the source's");
  return success();
}

static bool isOfShape(Value tile, ArrayRef<int64_t> shape, Type element) {
  return tensorOf(tile).getShape() == shape && tensorOf(tile).getElementType() == element;
}

LogicalResult ArangeOp::verify() {
  int64_t length = int64_t(int32_t(getEnd())) - int32_t(getStart());
  if (length <= 0)
    return emitOpError("end must be above start");
  RankedTensorType type = tensorOf(getResult());
  if (type.getRank() != 1 || type.getDimSize(0) != length)
    return emitOpError("result must be 1-D with ") << length << " elements";
  return success();
}

LogicalResult SplatOp::verify() {
  if (getSource().getType() != elementTypeOf(getType()))
    return emitOpError("result's elements must have the source's type");
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> shape(tensorOf(getSource()).getShape());
  if (getAxis() > shape.size())
    return emitOpError("axis is out of range");
  shape.insert(shape.begin() + getAxis(), 1);
  if (!isOfShape(getResult(), shape, elementTypeOf(getSource().getType())))
    return emitOpError("result must be the source with a dimension of extent 1 inserted");
  return verifyLayout(*this, getSource(), getResult(),
                      [&](const LinearLayout &source) { return source.reshaped(shape); });
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getElementType() != result.getElementType() || source.getRank() != result.getRank())
    return emitOpError("rank and element type must stay");
  for (auto [from, to] : llvm::zip(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError("only dimensions of extent 1 can grow");
  bool hasLayouts;
  if (failed(verifyUniform(*this, {getSource(), getResult()}, hasLayouts)))
    return failure();
  if (!hasLayouts)
    return success();
  LinearLayout wanted = layoutOf(result);
  for (int64_t dim = 0; dim < source.getRank(); ++dim)
    if (source.getDimSize(dim) != result.getDimSize(dim))
      wanted = wanted.withDimCollapsed(dim);
  if (!wanted.registersFrom(layoutOf(source)))
    return emitOpError("every thread must hold the source's elements that its result repeats");
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  if (source.getElementType() != result.getElementType())
    return emitOpError("element type must stay");
  if (source.getNumElements() != result.getNumElements())
    return emitOpError("number of elements must stay");
  return verifyLayout(*this, getSource(), getResult(), [&](const LinearLayout &layout) {
    return layout.reshaped(result.getShape());
  });
}

LogicalResult TransOp::verify() {
  RankedTensorType source = tensorOf(getSource()), result = tensorOf(getResult());
  ArrayRef<int32_t> order = getOrder();
  if (source.getElementType() != result.getElementType() ||
      int64_t(order.size()) != source.getRank() || result.getRank() != source.getRank())
    return emitOpError("rank and element type must stay");
  SmallVector<bool> seen(order.size(), false);
  for (auto [position, dim] : llvm::enumerate(order)) {
    if (dim < 0 || dim >= source.getRank() || seen[dim])
      return emitOpError("order must be a permutation");
    seen[dim] = true;
    if (result.getDimSize(position) != source.getDimSize(dim))
      return emitOpError("result's extents must be the source's, permuted");
  }
  return verifyLayout(*this, getSource(), getResult(),
                      [&](const LinearLayout &layout) { return layout.transposed(order); });
}

LogicalResult JoinOp::verify() {
  SmallVector<int64_t> shape(tensorOf(getLhs()).getShape());
  shape.push_back(2);
  if (getLhs().getType() != getRhs().getType() ||
      !isOfShape(getResult(), shape, elementTypeOf(getLhs().getType())))
    return emitOpError("operands must agree and the result must add a last dimension of extent 2");
  // Any layouts: stage-through-shared moves data where a thread lacks what it is to hold.
  bool hasLayouts;
  return verifyUniform(*this, {getLhs(), getResult()}, hasLayouts);
}

LogicalResult SplitOp::verify() {
  RankedTensorType source = tensorOf(getSource());
  if (source.getRank() == 0 || source.getShape().back() != 2 ||
      getLhs().getType() != getRhs().getType() ||
      !isOfShape(getLhs(), source.getShape().drop_back(), source.getElementType()))
    return emitOpError("source must end in a dimension of extent 2, which the results lack");
  bool hasLayouts;
  return verifyUniform(*this, {getSource(), getLhs()}, hasLayouts);
}

LogicalResult GatherOp::verify() {
  RankedTensorType source = tensorOf(getSource()), indices = tensorOf(getIndices());
  if (getType() != withElementType(indices, source.getElementType()))
    return emitOpError(
        "result must have the shape of the indices and the element type of the source");
  if (source.getRank() != indices.getRank() || getAxis() >= uint64_t(source.getRank()))
    return emitOpError("source and indices must have the same rank, and axis must be a dimension");
  for (int64_t dim = 0; dim < source.getRank(); ++dim)
    if (dim != int64_t(getAxis()) && source.getDimSize(dim) != indices.getDimSize(dim))
      return emitOpError("extents must agree except along the axis");
  bool hasLayouts;
  return verifyUniform(*this, {getSource(), getIndices()}, hasLayouts);
}

LogicalResult HistogramOp::verify() {
  if (tensorOf(getSource()).getRank() != 1 || tensorOf(getResult()).getRank() != 1)
    return emitOpError("source and result must have one dimension");
  bool hasLayouts;
  return verifyUniform(*this, {getSource(), getResult()}, hasLayouts);
}

LogicalResult AddPtrOp::verify() {
  if (getOffset().getType() !=
      withElementType(getPtr().getType(), elementTypeOf(getOffset().getType())))
    return emitOpError("pointers and offsets must have one shape and layout");
  return success();
}

/// Checks that the result has the source's shape: a conversion of each element.
static LogicalResult verifyElementwise(Operation *op) {
  Type source = op->getOperand(0).getType(), result = op->getResult(0).getType();
  if (result != withElementType(source, elementTypeOf(result)))
    return op->emitOpError("result must have the source's shape");
  return success();
}

LogicalResult PtrCastOp::verify() { return verifyElementwise(*this); }

LogicalResult PtrToIntOp::verify() {
  if (!elementTypeOf(getType()).isInteger(64))
    return emitOpError("addresses are i64");
  return verifyElementwise(*this);
}

LogicalResult IntToPtrOp::verify() {
  if (!elementTypeOf(getSource().getType()).isInteger(64))
    return emitOpError("addresses are i64");
  return verifyElementwise(*this);
}

/// A volatile access stays where it is, however useless its value: another program may wait on it.
void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile() || getCache() == CacheModifier::CV) // which fetches again
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult LoadOp::verify() {
  if (getOther() && getOther().getType() != getType())
    return emitOpError("other must have the result's type");
  return success();
}

bool tw::tile::fitsAtomic(AtomicKind kind, Type element) {
  switch (kind) {
  case AtomicKind::FAdd:
  case AtomicKind::FMax:
  case AtomicKind::FMin:
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 16;
  case AtomicKind::Xchg:
  case AtomicKind::Load:
    return true;
  default:
    return element.isSignlessInteger();
  }
}

LogicalResult AtomicRmwOp::verify() {
  if (!fitsAtomic(getKind(), elementTypeOf(getType())))
    return emitOpError("no ") << stringifyAtomicKind(getKind()) << " of "
                              << elementTypeOf(getType());
  return success();
}

/// Checks that the region takes `2 * n` scalars of the sources' element types and yields n.
static LogicalResult verifyCombine(Operation *op, Region &combine, ValueRange sources) {
  Block &block = combine.front();
  if (sources.empty() || block.getNumArguments() != 2 * sources.size())
    return op->emitOpError("combining region must take two scalars per source");
  for (auto [position, argument] : llvm::enumerate(block.getArguments()))
    if (argument.getType() != elementTypeOf(sources[position % sources.size()].getType()))
      return op->emitOpError("combining region's arguments must have the sources' element types");
  // The last operation may not be a terminator yet: this runs before the block is verified.
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != sources.size())
    return op->emitOpError("combining region must yield one scalar per source");
  for (auto [value, source] : llvm::zip(yield.getValues(), sources))
    if (value.getType() != elementTypeOf(source.getType()))
      return op->emitOpError("combining region must yield the sources' element types");
  return success();
}

static LogicalResult verifySameShape(Operation *op, ValueRange sources, uint64_t axis) {
  for (Value source : sources)
    if (source.getType() !=
        withElementType(sources.front().getType(), elementTypeOf(source.getType())))
      return op->emitOpError("sources must have one shape and layout");
  if (axis >= shapeOf(sources.front().getType()).size())
    return op->emitOpError("axis is out of range");
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCombine(*this, getCombine(), getSources())) ||
      failed(verifySameShape(*this, getSources(), getAxis())))
    return failure();
  if (getResults().size() != getSources().size())
    return emitOpError("must have one result per source");
  for (auto [result, source] : llvm::zip(getResults(), getSources())) {
    if (result.getType() != reducedType(source.getType(), getAxis()))
      return emitOpError("results must be the sources without the axis");
  }
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCombine(*this, getCombine(), getSources())) ||
      failed(verifySameShape(*this, getSources(), getAxis())))
    return failure();
  if (getSources().getTypes() != getResultTypes())
    return emitOpError("results must have the sources' types");
  return success();
}

/// Checks the types of a product with scales, of `depth` elements along k.
static LogicalResult verifyScaled(DotOp op, int64_t depth) {
  RankedTensorType acc = op.getAcc().getType();
  unsigned rank = acc.getRank();
  for (Value operand : {op.getA(), op.getB()})
    if (Type element = elementTypeOf(operand.getType());
        !element.isInteger(8) && !isa<Float8E4M3FNType, Float8E5M2Type>(element))
      return op.emitOpError("scaled operands are f8E4M3FN, f8E5M2 or bytes of two f4E2M1FN");
  if (op.getScales().size() != 2 || !acc.getElementType().isF32())
    return op.emitOpError("a scaled product has scales of both operands, and is f32");
  for (auto [scales, dim] : llvm::zip(op.getScales(), std::array{rank - 2, rank - 1})) {
    SmallVector<int64_t> shape(acc.getShape().drop_back(2));
    shape.append({acc.getDimSize(dim), depth / int64_t(kScaledGroup)});
    if (shapeOf(scales.getType()) != ArrayRef(shape) || depth % kScaledGroup != 0)
      return op.emitOpError("scales must be [M, K / 32] and [N, K / 32]");
  }
  return success();
}

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(), acc = getAcc().getType();
  int64_t rank = acc.getRank();
  if ((rank != 2 && rank != 3) || a.getRank() != rank || b.getRank() != rank)
    return emitOpError("operands must have rank 2, or rank 3 with a leading batch dimension");
  if (rank == 3 && (a.getDimSize(0) != acc.getDimSize(0) || b.getDimSize(0) != acc.getDimSize(0)))
    return emitOpError("batch dimensions must agree");
  bool isScaled = !getScales().empty();
  auto packed = [&](RankedTensorType tile) {
    return isScaled && tile.getElementType().isInteger(8) ? 2 : 1;
  };
  if (a.getDimSize(rank - 1) * packed(a) != b.getDimSize(rank - 2) * packed(b) ||
      a.getDimSize(rank - 2) != acc.getDimSize(rank - 2) ||
      b.getDimSize(rank - 1) != acc.getDimSize(rank - 1))
    return emitOpError("shapes must be [M, K], [K, N] and [M, N]");
  if (isScaled)
    return verifyScaled(*this, a.getDimSize(rank - 1) * packed(a));
  if (isa<FloatType>(a.getElementType()) != isa<FloatType>(acc.getElementType()) ||
      isa<FloatType>(b.getElementType()) != isa<FloatType>(acc.getElementType()))
    return emitOpError("operands must be all floating-point or all integer");
  if (acc.getElementType().getIntOrFloatBitWidth() < 16)
    return emitOpError("accumulators have at least 16 bits");
  bool hasLayouts;
  return verifyUniform(*this, {getA(), getB(), getAcc()}, hasLayouts);
}

LogicalResult HintOp::verify() {
  size_t numDims = std::max<size_t>(1, shapeOf(getType()).size());
  for (std::optional<ArrayRef<int64_t>> fact :
       {getDivisibility(), getContiguity(), getConstancy()}) {
    if (fact && fact->size() != numDims)
      return emitOpError("a fact has one number per dimension (one for a scalar)");
    if (fact && llvm::any_of(*fact, [](int64_t number) { return number < 1; }))
      return emitOpError("the numbers of a fact are at least 1");
  }
  return success();
}

LogicalResult PrintOp::verify() {
  if (getIsSigned().size() != getValues().size())
    return emitOpError("is_signed has one entry per value");
  if (!getExtents())
    return success();
  ArrayRef<int64_t> shape =
      getValues().size() == 1 ? shapeOf(getValues().front().getType()) : ArrayRef<int64_t>();
  bool areInside = !shape.empty() && shape.size() == getExtents()->size() &&
                   llvm::all_of(llvm::zip(*getExtents(), shape), [](auto pair) {
                     auto [extent, whole] = pair;
                     return extent > 0 && extent <= whole;
                   });
  if (!areInside)
    return emitOpError("extents are those of a part of one tile");
  return success();
}

ArrayRef<int64_t> PrintOp::printedExtents(unsigned operand) {
  return getExtents() ? *getExtents() : shapeOf(getValues()[operand].getType());
}

std::string PrintOp::prefixOf(unsigned operand) {
  std::string prefix = getPrefix().str();
  return getValues().size() > 1 ? prefix + "(operand " + std::to_string(operand) + ") " : prefix;
}

unsigned PrintOp::hexDigitsOf(unsigned operand) {
  Type element = elementTypeOf(getValues()[operand].getType());
  return getHex() && !isa<PtrType>(element) ? (element.getIntOrFloatBitWidth() + 3) / 4 : 0;
}

LogicalResult AssertOp::verify() {
  if (getMask() && getMask().getType() != getCondition().getType())
    return emitOpError("mask must have the condition's shape");
  if (getValues().size() != (getJoint() ? 2 : 0))
    return emitOpError("a joint stands between two values");
  for (Value value : getValues())
    if (!isa<IntegerType>(elementTypeOf(value.getType())) ||
        shapeOf(value.getType()) != shapeOf(getCondition().getType()))
      return emitOpError("values are integers of the condition's shape");
  return success();
}

//===-- Assembly -----------------------------------------------------------------------------===//

void InlineAsmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getIsPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

void ExternCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getIsPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult ExternCallOp::verify() {
  if (getSymbol().empty())
    return emitOpError("must name a function");
  SmallVector<Type> types(getOperandTypes());
  types.push_back(getType());
  for (Type type : types) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isIntOrFloat() ||
        (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16))
      return emitOpError("takes and gives integers and floats of at least 16 bits, not ") << type;
  }
  return success();
}

/// Registers below 32 bits would only need more instructions to take apart.
static constexpr unsigned kPackedBits = 32;

unsigned InlineAsmOp::getElementsPerRegister(Type type) {
  Type element = elementTypeOf(type);
  if (isa<PtrType>(element))
    return 1;
  unsigned bits = std::max(1u, element.getIntOrFloatBitWidth());
  unsigned fitting = std::max(1u, kPackedBits / bits);
  return std::min(getPack(), fitting);
}

unsigned InlineAsmOp::getNumRegisters(Type type) {
  return getPack() / getElementsPerRegister(type);
}

LogicalResult InlineAsmOp::verify() {
  if (!llvm::isPowerOf2_32(getPack()) || getPack() > 32)
    return emitOpError("pack must be a power of two up to 32");
  SmallVector<Type> types(getOperandTypes());
  llvm::append_range(types, getResultTypes());
  if (getNumResults() == 0)
    return emitOpError("must have a result");
  for (Type type : types)
    if (type != withElementType(types.front(), elementTypeOf(type)))
      return emitOpError("sources and results must have one shape and layout");
  size_t numRegisters = 0;
  for (Type type : types)
    numRegisters += getNumRegisters(type);
  if (numRegisters != SmallVector<StringRef>(llvm::split(getConstraints(), ',')).size())
    return emitOpError("must have one constraint for each register");
  return success();
}

#define GET_OP_CLASSES
#include "ir/tile/TileOps.cpp.inc"
