// The rows of ElementTypes.td and Elementwise.td as C++ data.
#ifndef IR_TILE_TABLES_H
#define IR_TILE_TABLES_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace tw::tile {

struct ElementTypeRow {
  const char *Name, *ShortName, *Kind;
  uint8_t Bits;
  const char *IrType;
  mlir::Type (*MakeFloat)(mlir::MLIRContext *context);

  bool is(llvm::StringRef kind) const { return kind == Kind; }
};
struct ElementwiseRow {
  const char *Name;
  uint8_t NumOperands;
  const char *FloatOp, *SIntOp, *UIntOp, *Reference;
  uint8_t UlpF32;
  const char *Doc;
};

llvm::ArrayRef<ElementTypeRow> elementTypes();
/// The row by either name, or null.
const ElementTypeRow *findElementType(llvm::StringRef name);
llvm::ArrayRef<ElementwiseRow> elementwiseFunctions();
/// The row by Python name, or null.
const ElementwiseRow *findElementwise(llvm::StringRef name);
/// The IR type of a row.
mlir::Type irTypeOf(const ElementTypeRow &row, mlir::MLIRContext *context);

} // namespace tw::tile
#endif
