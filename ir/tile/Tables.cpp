// Gives the TableGen rows of element types and elementwise functions to C++.
#include "ir/tile/Tables.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <cstring>

namespace tw::tile {
namespace {
template <typename Float> mlir::Type make(mlir::MLIRContext *context) {
  return Float::get(context);
}

#define GET_ElementTypeTable_DECL
#define GET_ElementTypeTable_IMPL
#include "ir/tile/ElementTypes.inc"
#undef GET_ElementTypeTable_DECL
#undef GET_ElementTypeTable_IMPL
#define GET_ElementwiseTable_DECL
#define GET_ElementwiseTable_IMPL
#include "ir/tile/Elementwise.inc"
} // namespace

llvm::ArrayRef<ElementTypeRow> elementTypes() { return ElementTypeTable; }
const ElementTypeRow *findElementType(llvm::StringRef name) {
  const auto *row = llvm::find_if(
      ElementTypeTable, [&](const auto &r) { return name == r.Name || name == r.ShortName; });
  return row == std::end(ElementTypeTable) ? nullptr : row;
}

llvm::ArrayRef<ElementwiseRow> elementwiseFunctions() { return ElementwiseTable; }

const ElementwiseRow *findElementwise(llvm::StringRef name) {
  const auto *row = llvm::find_if(ElementwiseTable, [&](const auto &r) { return name == r.Name; });
  return row == std::end(ElementwiseTable) ? nullptr : row;
}

mlir::Type irTypeOf(const ElementTypeRow &row, mlir::MLIRContext *context) {
  return row.MakeFloat ? row.MakeFloat(context) : mlir::IntegerType::get(context, row.Bits);
}

} // namespace tw::tile
