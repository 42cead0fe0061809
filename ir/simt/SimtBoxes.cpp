// Verifiers of copies of boxes and the tensor maps that they read.
#include "ir/layout/OperandSlabs.h"
#include "ir/simt/Simt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::elementBytes;

static ModuleOp moduleOf(Operation *op) {
  return isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
}

unsigned tw::simt::extraWarpsOf(Operation *op) {
  ModuleOp module = moduleOf(op);
  auto warps = module ? module->getAttrOfType<IntegerAttr>(kLoaderWarps) : IntegerAttr();
  return warps ? warps.getInt() : 0;
}

std::array<int64_t, 3> tw::simt::clusterOf(Operation *op) {
  ModuleOp module = moduleOf(op);
  auto cluster = module ? module->getAttrOfType<DenseI64ArrayAttr>(kCluster) : nullptr;
  if (!cluster)
    return {1, 1, 1};
  return {cluster[0], cluster[1], cluster[2]};
}

int64_t tw::simt::clusterSizeOf(Operation *op, unsigned axes) {
  int64_t programs = 1;
  for (auto [axis, extent] : llvm::enumerate(clusterOf(op)))
    if (axes >> axis & 1)
      programs *= extent;
  return programs;
}

ArrayRef<Attribute> tw::simt::tensorMapsOf(Operation *op) {
  ModuleOp module = moduleOf(op);
  auto maps = module ? module->getAttrOfType<ArrayAttr>(kTensorMaps) : ArrayAttr();
  return maps ? maps.getValue() : ArrayRef<Attribute>();
}

/// As cuTensorMapEncodeTiled and the copies' instructions have them.
static constexpr unsigned kMostMapRank = 5;
static constexpr int64_t kMostBoxExtent = 256;

LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned,
                                    Type element, ArrayRef<LaunchProductAttr> extents,
                                    ArrayRef<LaunchProductAttr> strides, ArrayRef<int64_t> box,
                                    unsigned span) {
  size_t rank = box.empty() ? extents.size() : box.size();
  if (rank < 2 || rank > kMostMapRank)
    return emitError() << "a tensor map has 2 to " << kMostMapRank << " dimensions";
  if (extents.size() != rank || strides.size() + 1 != rank)
    return emitError() << "a tensor map has an extent for each dimension, and strides for all but "
                          "the first";
  if (llvm::any_of(box, [](int64_t extent) { return extent < 1 || extent > kMostBoxExtent; }))
    return emitError() << "boxes have extents of 1 to " << kMostBoxExtent;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return emitError() << "elements of a tensor map have whole bytes";
  if (box.empty())
    return span == 16 || span == 64
               ? success()
               : emitError()
                     << "rows of an array without boxes begin at multiples of 16 or 64 bytes";
  if (!llvm::isPowerOf2_32(span) || span < 16 || span > 128 ||
      box[0] * elementBytes(element) != span)
    return emitError() << "rows of a box are the span, of 16, 32, 64 or 128 bytes";
  return success();
}

/// Returns true if boxes of a map are some rows of one slab, or all rows of several: then the third
/// dimension goes from slab to slab, of as many as a box has.
static bool areOfSlabs(TensorMapAttr map, const OperandSlabs &slabs, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> box = map.getBox();
  int64_t rows = shape[1 - slabs.dim], columns = shape[slabs.dim];
  if (slabs.spanBytes != map.getSpanBytes() || rows % box[1] != 0)
    return false;
  if (box.size() == 2 || box[2] == 1)
    return llvm::all_of(box.drop_front(2), [](int64_t extent) { return extent == 1; });
  auto isConstant = [](LaunchProductAttr product, int64_t value) {
    return product.getArguments().empty() && product.getFactor() == value;
  };
  return box[1] == rows && columns % (box[0] * box[2]) == 0 &&
         isConstant(map.getStrides()[1], box[0]) && isConstant(map.getExtents()[2], box[2]) &&
         llvm::all_of(box.drop_front(3), [](int64_t extent) { return extent == 1; });
}

/// Returns the rank of the tensor map whose boxes `op` copies to or from a buffer.
static FailureOr<size_t> checkBoxes(Operation *op, uint32_t number, SharedType buffer) {
  ArrayRef<Attribute> maps = tensorMapsOf(op);
  auto map = number < maps.size() ? dyn_cast<TensorMapAttr>(maps[number]) : nullptr;
  if (!map)
    return op->emitOpError("names a tensor map that the module does not have");
  std::optional<OperandSlabs> slabs = slabsOf(
      buffer.getLayout().getValue(), elementBytes(buffer.getElementType()), map.getSpanBytes());
  if (map.getElementType() != buffer.getElementType() || !slabs ||
      !areOfSlabs(map, *slabs, buffer.getShape()))
    return op->emitOpError("copies boxes of the map that are rows of the buffer's slabs");
  return map.getRank();
}

static LogicalResult checkCoordinates(Operation *op, OperandRange coordinates, size_t needed) {
  return coordinates.size() == needed
             ? success()
             : op->emitOpError("has a coordinate for each dimension of each box");
}

/// Checks that programs of a cluster can copy equal parts of multicast buffers: slabs, or whole
/// groups of rows, and whole boxes.
static LogicalResult checkParts(BoxCopyOp copy) {
  for (auto [index, buffer] : llvm::enumerate(copy.getBuffers())) {
    unsigned axes = copy.multicastAxes(index);
    if (axes >= 1u << clusterOf(copy).size())
      return copy.emitOpError("names axes of the cluster that grids do not have");
    if (axes == 0)
      continue;
    int64_t numParts = clusterSizeOf(copy, axes);
    auto type = cast<SharedType>(buffer.getType());
    auto map = cast<TensorMapAttr>(tensorMapsOf(copy)[copy.getMaps()[index]]);
    std::optional<OperandSlabs> slabs = slabsOf(
        type.getLayout().getValue(), elementBytes(type.getElementType()), map.getSpanBytes());
    int64_t rows = type.getShape()[1 - slabs->dim];
    bool hasRows = rows % (numParts * OperandSlabs::kRowsOfGroup) == 0 &&
                   rows / numParts % map.getBox()[1] == 0;
    int64_t slabsOfBox = map.getRank() > 2 ? map.getBox()[2] : 1;
    bool hasSlabs = slabs->numSlabsOf(type.getShape()) % (numParts * slabsOfBox) == 0;
    if (!(slabs->areDividedWhole(type.getShape(), numParts) ? hasSlabs : hasRows))
      return copy.emitOpError("has boxes that programs of a cluster cannot copy in equal parts");
  }
  return success();
}

LogicalResult BoxCopyOp::verify() {
  if (getMaps().size() != getBuffers().size())
    return emitOpError("names a map for each buffer");
  if (getMulticast() && getMulticast()->size() != getBuffers().size())
    return emitOpError("says of each buffer along which axes its box is multicast");
  size_t numCoordinates = 0;
  for (auto [number, buffer] : llvm::zip(getMaps(), getBuffers())) {
    FailureOr<size_t> rank = checkBoxes(*this, number, cast<SharedType>(buffer.getType()));
    if (failed(rank))
      return failure();
    numCoordinates += *rank;
  }
  if (failed(checkParts(*this)))
    return failure();
  return checkCoordinates(*this, getCoordinates(), numCoordinates);
}

LogicalResult ReleaseOp::verify() {
  auto isSet = [&](int32_t axes) {
    return axes >= 1 && axes < 8 && clusterSizeOf(*this, axes) > 1;
  };
  if (getCluster() && (getCluster()->empty() || !llvm::all_of(*getCluster(), isSet)))
    return emitOpError("names axes along which the cluster has several programs");
  return success();
}

LogicalResult ArrayCopyOp::verify() {
  auto pointer = dyn_cast<tile::PtrType>(getBase().getType());
  SharedType buffer = getBuffer().getType();
  ArrayRef<int64_t> shape = buffer.getShape();
  if (!pointer || pointer.getPointee() != buffer.getElementType() ||
      !pointer.getPointee().isIntOrFloat() || pointer.getPointee().isInteger(1))
    return emitOpError("copies numbers of the buffer's type from a pointer to them");
  constexpr int64_t mostExtent = 0xffff, leastBytes = 16;
  auto isTooLarge = [](int64_t extent) { return extent > mostExtent; };
  if (shape.size() != 2 || getDim() > 1 || llvm::any_of(shape, isTooLarge) ||
      shape[getDim()] * elementBytes(pointer.getPointee()) < leastBytes)
    return emitOpError("copies rows of 16 bytes or more, fewer than 2^16 of as many elements");
  int32_t rows = getDim(), others = 1 - getDim();
  SharedPadding padding = buffer.getPadding();
  // So many words of 4 bytes are what the descriptor of an instruction holds.
  if (buffer.getLayout().getValue() != sharedLayout(shape, {rows, others}) || padding.bytes > 512 ||
      padding.interval > 1024 ||
      padding.interval > shape[rows] * elementBytes(pointer.getPointee()))
    return emitOpError("copies to a buffer in which rows follow each other");
  return success();
}

TensorMapAttr BoxStoreOp::getTensorMap() {
  return cast<TensorMapAttr>(tensorMapsOf(*this)[getMap()]);
}

LogicalResult BoxStoreOp::verify() {
  FailureOr<size_t> rank = checkBoxes(*this, getMap(), getBuffer().getType());
  return failed(rank) ? failure() : checkCoordinates(*this, getCoordinates(), *rank);
}

/// Returns true for what one warp can do without the threads of the program.
static bool isOfLoader(Operation *op) {
  auto isScalar = [](Type type) { return !isa<TensorType>(type); };
  return isa<SlotOp, PhaseAwaitOp, BoxCopyOp, simt::YieldOp>(op) ||
         ((isMemoryEffectFree(op) || isa<tile::LoadOp>(op) || op->getNumRegions() != 0) &&
          llvm::all_of(op->getOperandTypes(), isScalar) &&
          llvm::all_of(op->getResultTypes(), isScalar));
}

/// The end of a loader's region that leaves nothing.
void simt::YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult LoaderOp::verify() {
  if (!(*this)->getParentOfType<FunctionOpInterface>())
    return emitOpError("is not in a kernel");
  if (extraWarpsOf(*this) == 0)
    return emitOpError("has no warp: the module has no ") << kLoaderWarps;
  if (Operation *parent = (*this)->getParentOfType<LoaderOp>())
    return emitOpError("is in another loader").attachNote(parent->getLoc()) << "this one";
  if (getBody().front().getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("yields other types than those of its results");
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    if (isOfLoader(op))
      return WalkResult::advance();
    return op->emitOpError("has no place in a loader, which copies boxes");
  });
  return failure(result.wasInterrupted());
}

LogicalResult TensorMapOp::verify() {
  if (getNumber() >= tensorMapsOf(*this).size())
    return emitOpError("names a tensor map that the module does not have");
  return success();
}
