// Gives the TableGen rows of element types and elementwise functions to C++.
#include "ir/tile/Tables.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cassert>
#include <cstring>

namespace tw::tile {
namespace {
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
llvm::ArrayRef<ElementwiseRow> elementwiseFunctions() { return ElementwiseTable; }

const ElementwiseRow *findElementwise(llvm::StringRef name) {
  const auto *row = llvm::find_if(ElementwiseTable, [&](const auto &r) { return name == r.Name; });
  return row == std::end(ElementwiseTable) ? nullptr : row;
}

mlir::Type irTypeOf(const ElementTypeRow &row, mlir::MLIRContext *context) {
  llvm::StringRef name = row.IrType;
  if (name.starts_with("i"))
    return mlir::IntegerType::get(context, row.Bits);
  return llvm::StringSwitch<mlir::Type>(name)
      .Case("f8E5M2", mlir::Float8E5M2Type::get(context))
      .Case("f8E5M2FNUZ", mlir::Float8E5M2FNUZType::get(context))
      .Case("f8E4M3FNUZ", mlir::Float8E4M3FNUZType::get(context))
      .Case("f8E4M3FN", mlir::Float8E4M3FNType::get(context))
      .Case("f16", mlir::Float16Type::get(context))
      .Case("bf16", mlir::BFloat16Type::get(context))
      .Case("f32", mlir::Float32Type::get(context))
      .Case("f64", mlir::Float64Type::get(context));
}

} // namespace tw::tile
