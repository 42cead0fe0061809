// Values with the language's types: what IR values are to the user, who sees signedness and dtypes.
#ifndef FRONTEND_TYPEDVALUE_H
#define FRONTEND_TYPEDVALUE_H
#include "frontend/values/OrReason.h"
#include "ir/tile/Tables.h"
#include "ir/tile/Tile.h"
#include <optional>
#include <string>
#include <vector>

namespace tw {

/// An element type of the language, or a pointer to elements of one.
struct DType {
  const tile::ElementTypeRow *row = nullptr; // of the pointee when isPointer
  bool isPointer = false;
  bool isConst = false; // of a pointer: nothing is written through it

  bool operator==(const DType &) const = default;
  bool isFloat() const; // false for pointers
  bool isFloat8() const;
  bool isE4B15() const;  // float8e4b15, whose values are bytes in the IR
  bool isInt() const;    // sint, uint or bool
  bool isSigned() const; // sint
  bool isBool() const;
  unsigned bits() const; // 64 for pointers
  DType pointee() const { return {row, false}; }
  mlir::Type irType(mlir::MLIRContext *context) const;
  std::string str() const; // "float32", "*float32"
};

/// By Python name ("float32") or short name ("fp32"); row is null when unknown.
DType findDType(llvm::StringRef name);

/// "[64, 32]", "[8]", "[]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// A run-time scalar or tile. `isLiteral` marks a scalar that came from a Python number or
/// constexpr: in promotion it gives way to the other operand (LANGUAGE, "Promotion"), unless it is
/// `isNamed`, the number of a variable, which counts with its own type.
struct TypedValue {
  mlir::Value value;
  DType dtype;
  bool isLiteral = false;
  bool isNamed = false;
  std::optional<double> exactValue = {}; // of a float literal: before rounding to float32

  llvm::ArrayRef<int64_t> shape() const { return tile::shapeOf(value.getType()); }
  bool isTile() const { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
  std::string str() const; // "float32[64, 32]", "int32"
};

} // namespace tw
#endif
