// What the operations answer when they are asked by an interface.
#include "ir/tile/Box.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tw::tile;

#include "ir/tile/TileInterfaces.cpp.inc"

bool tw::tile::isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<AddPtrOp, PtrCastOp, PtrToIntOp, IntToPtrOp, HintOp, InlineAsmOp>(op);
}

//===-- Memory -------------------------------------------------------------------------------===//

bool tw::tile::isAtomic(Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  return access && access.isAtomic();
}

LogicalResult tw::tile::verifyAccess(Operation *op) {
  if (std::optional<Box> box = boxOf(op))
    return verifyBox(op, *box);
  auto access = cast<MemoryAccess>(op);
  Type pointers = access.getPointers().getType();
  Type element = withElementType(pointers, cast<PtrType>(elementTypeOf(pointers)).getPointee());
  auto isElement = [&](Value value) { return !value || value.getType() == element; };
  Value written = access.getWrittenValue(), read = op->getNumResults() ? op->getResult(0) : Value();
  if (!isElement(written ? written : read))
    return op->emitOpError("value must have the pointee's type and the pointers' shape");
  if (!isElement(read))
    return op->emitOpError("result must have the value's type");
  Value mask = access.getAccessMask();
  if (mask && mask.getType() != withElementType(pointers, IntegerType::get(op->getContext(), 1)))
    return op->emitOpError("mask must be i1 of the pointers' shape");
  return success();
}

bool AtomicRmwOp::writesMemory() { return getKind() != AtomicKind::Load; }

Value DescriptorLoadOp::getPointers() { return getBase(); }
Value DescriptorStoreOp::getPointers() { return getBase(); }
Value DescriptorAtomicOp::getPointers() { return getBase(); }
std::optional<MemoryOrder> DescriptorAtomicOp::getAtomicOrder() { return MemoryOrder::AcqRel; }

//===-- Folds --------------------------------------------------------------------------------===//

bool tw::tile::combinesPairs(Region &combine) {
  Block &block = combine.front();
  unsigned count = block.getNumArguments() / 2;
  return llvm::all_of(llvm::enumerate(block.getTerminator()->getOperands()), [&](auto indexed) {
    Operation *op = indexed.value().getDefiningOp();
    bool isSymmetric =
        op && op->getNumOperands() == 2 &&
        (op->hasTrait<OpTrait::IsCommutative>() || isa<arith::MaxNumFOp, arith::MinNumFOp>(op));
    Value lhs = block.getArgument(indexed.index());
    Value rhs = block.getArgument(indexed.index() + count);
    return isSymmetric && ((op->getOperand(0) == lhs && op->getOperand(1) == rhs) ||
                           (op->getOperand(0) == rhs && op->getOperand(1) == lhs));
  });
}

//===-- Shapes -------------------------------------------------------------------------------===//

using Dims = std::optional<SmallVector<int>>;

Dims SplatOp::getSourceDims() { return SmallVector<int>(shapeOf(getType()).size(), -1); }

Dims ExpandDimsOp::getSourceDims() {
  SmallVector<int> dims = llvm::to_vector(llvm::seq<int>(0, shapeOf(getSource().getType()).size()));
  dims.insert(dims.begin() + getAxis(), -1);
  return dims;
}

Dims BroadcastOp::getSourceDims() {
  SmallVector<int> dims;
  for (auto [from, to] : llvm::zip(shapeOf(getSource().getType()), shapeOf(getType())))
    dims.push_back(from == to ? int(dims.size()) : -1);
  return dims;
}

Dims TransOp::getSourceDims() { return llvm::to_vector_of<int>(getOrder()); }

/// Known where extents of 1 come or go and nothing else changes.
Dims ReshapeOp::getSourceDims() {
  ArrayRef<int64_t> source = shapeOf(getSource().getType());
  SmallVector<int> dims;
  size_t next = 0;
  for (int64_t extent : shapeOf(getType())) {
    while (next < source.size() && source[next] == 1 && extent != 1)
      ++next;
    if (next < source.size() && source[next] == extent)
      dims.push_back(int(next++));
    else if (extent == 1)
      dims.push_back(-1);
    else
      return std::nullopt;
  }
  bool isRestUnit =
      llvm::all_of(source.drop_front(next), [](int64_t extent) { return extent == 1; });
  return isRestUnit ? Dims(dims) : std::nullopt;
}

//===-- Ranges -------------------------------------------------------------------------------===//

/// Programs of a grid are counted by non-negative numbers of 32 bits.
static ConstantIntRanges rangeOfPrograms() {
  return ConstantIntRanges::fromSigned(APInt(32, 0), APInt::getSignedMaxValue(32));
}

void ProgramIdOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  setRange(getResult(), rangeOfPrograms());
}

void NumProgramsOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  setRange(getResult(), rangeOfPrograms());
}

void ArangeOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  APInt start(32, getStart()), last(32, getEnd() - 1);
  setRange(getResult(), ConstantIntRanges::fromSigned(start, last));
}

void JoinOp::inferResultRanges(ArrayRef<ConstantIntRanges> operands, SetIntRangeFn setRange) {
  setRange(getResult(), operands[0].rangeUnion(operands[1]));
}
