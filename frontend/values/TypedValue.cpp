// Questions about dtypes and typed values, and how messages print them.
#include "frontend/values/TypedValue.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;

static bool hasKind(const DType &dtype, llvm::StringRef kind) {
  return dtype.row && !dtype.isPointer && kind == dtype.row->Kind;
}

bool DType::isFloat() const { return hasKind(*this, "float"); }
bool DType::isFloat8() const { return isFloat() && bits() == 8; }
bool DType::isE4B15() const { return isFloat8() && llvm::StringRef(row->IrType) == "i8"; }
bool DType::isSigned() const { return hasKind(*this, "sint"); }
bool DType::isBool() const { return hasKind(*this, "bool"); }
bool DType::isInt() const { return row && !isPointer && !isFloat(); }
unsigned DType::bits() const { return isPointer ? 64 : row->Bits; }

mlir::Type DType::irType(mlir::MLIRContext *context) const {
  mlir::Type element = tile::irTypeOf(*row, context);
  if (!isPointer)
    return element;
  // A bool takes a byte in memory.
  return tile::PtrType::get(pointee().isBool() ? mlir::IntegerType::get(context, 8) : element);
}

std::string DType::str() const {
  if (!row)
    return "unknown";
  return (isConst ? "const *" : isPointer ? "*" : "") + std::string(row->Name);
}

DType tw::findDType(llvm::StringRef name) {
  return {tile::findElementType(name), false};
}

std::string tw::shapeText(llvm::ArrayRef<int64_t> shape) {
  return "[" +
         llvm::join(llvm::map_range(shape, [](int64_t e) { return std::to_string(e); }), ", ") +
         "]";
}

std::string TypedValue::str() const {
  return isTile() ? dtype.str() + shapeText(shape()) : dtype.str();
}
