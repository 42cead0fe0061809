// Registers the `tile` dialect and answers questions about its types.
#include "ir/tile/Tile.h"
#include "ir/tile/Fragment.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw::tile;

#include "ir/tile/TileDialect.cpp.inc"
#include "ir/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/tile/TileAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/tile/TileOps.cpp.inc"
      >();
}

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee) {
  if (isa<PtrType, FloatType>(pointee) || pointee.isSignlessInteger())
    return success();
  return emitError() << "a pointer is to numbers or to pointers, not to " << pointee;
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, unsigned warpSize,
                                 unsigned sharedBytes, unsigned registers, unsigned spareRegisters,
                                 unsigned maxWarps, unsigned vectorBits, unsigned lineBytes,
                                 unsigned banks, unsigned bankBytes, ArrayRef<MmaAttr> instructions,
                                 ArrayRef<unsigned> copies, ArrayRef<StringAttr>) {
  if (!llvm::isPowerOf2_32(warpSize) || warpSize > 64)
    return emitError() << "warp_size is a power of two up to 64";
  if (!llvm::isPowerOf2_32(maxWarps) || maxWarps > 64)
    return emitError() << "max_warps is a power of two up to 64";
  if (!llvm::isPowerOf2_32(vectorBits) || vectorBits < 32 || vectorBits > 256)
    return emitError() << "vector_bits is 32, 64, 128 or 256";
  if (registers == 0 || registers > 1024 || sharedBytes > (1u << 30))
    return emitError() << "a thread has 1 to 1024 registers, and a CTA at most 2^30 bytes";
  if (spareRegisters >= registers)
    return emitError() << "spare_registers are fewer than registers";
  if (!llvm::isPowerOf2_32(lineBytes) || lineBytes < 16 || lineBytes > 1024)
    return emitError() << "line_bytes is a power of two from 16 to 1024";
  if (!llvm::isPowerOf2_32(banks) || banks > 256 || !llvm::isPowerOf2_32(bankBytes) ||
      bankBytes > 16)
    return emitError() << "banks are a power of two up to 256, bank_bytes one up to 16";
  for (MmaAttr instruction : instructions)
    if (parseFragment(instruction.getFragmentA())->lanes.size() != llvm::Log2_32(warpSize))
      return emitError() << "fragments of matrix instructions are for warps of warp_size lanes";
  for (unsigned bytes : copies)
    if (!llvm::isPowerOf2_32(bytes) || bytes > 16)
      return emitError() << "async_copy_bytes are powers of two up to 16";
  return success();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

Type tw::tile::elementTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : type;
}

ArrayRef<int64_t> tw::tile::shapeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

Type tw::tile::withElementType(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding()) : element;
}

int64_t tw::tile::numElementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

unsigned tw::tile::elementBytes(Type element) {
  if (isa<PtrType>(element))
    return 8;
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}
