// Registers the `simt` dialect and answers questions about layouts of tiles.
#include "ir/simt/Simt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace tw {
/// Found by argument-dependent lookup when MLIR makes layouts unique.
static llvm::hash_code hash_value(const LinearLayout &layout) {
  llvm::hash_code hash = llvm::hash_combine_range(layout.shape());
  for (unsigned place = 0; place < kNumPlaces; ++place)
    hash = llvm::hash_combine(hash, llvm::hash_combine_range(layout.bases(Place(place))));
  return hash;
}
} // namespace tw

#include "ir/simt/SimtDialect.cpp.inc"
#include "ir/simt/SimtEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/SimtAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/simt/SimtTypes.cpp.inc"

void SimtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/simt/SimtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/simt/SimtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/simt/SimtOps.cpp.inc"
      >();
}

const LinearLayout &tw::simt::layoutOf(Type tile) {
  return cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding()).getValue();
}

bool tw::simt::hasLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LayoutAttr>(tensor.getEncoding());
}

RankedTensorType tw::simt::withLayout(Type tile, const LinearLayout &layout) {
  auto tensor = cast<RankedTensorType>(tile);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               LayoutAttr::get(tile.getContext(), layout));
}

Type tw::simt::reducedType(Type tile, unsigned axis) {
  auto tensor = cast<RankedTensorType>(tile);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.erase(shape.begin() + axis);
  if (shape.empty())
    return tensor.getElementType();
  auto result = RankedTensorType::get(shape, tensor.getElementType());
  if (!hasLayout(tile))
    return result;
  return withLayout(result, layoutOf(tile).withoutDim(axis).withoutFreeRegisters());
}
