// The promotion and broadcasting rules of the language (LANGUAGE, "Meaning").
#include "frontend/values/TypeRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;

DTypeKind tw::kindOf(DType dtype) {
  if (dtype.isFloat())
    return DTypeKind::Float;
  return dtype.isBool() ? DTypeKind::Bool : DTypeKind::Int;
}

DType tw::computeDTypeOf(DType dtype) {
  return dtype.isFloat() && dtype.bits() < 32 ? findDType("float32") : dtype;
}

DType tw::arithmeticDTypeOf(DType dtype) { return dtype.isFloat8() ? findDType("float32") : dtype; }

bool tw::isFloat8WithInteger(PromotionOperand lhs, PromotionOperand rhs) {
  return (lhs.dtype.isFloat8() && rhs.dtype.isInt() && !rhs.isLiteral) ||
         (rhs.dtype.isFloat8() && lhs.dtype.isInt() && !lhs.isLiteral);
}

DType tw::promoteIntegerDTypes(DType lhs, DType rhs) {
  if (lhs.bits() != rhs.bits())
    return lhs.bits() > rhs.bits() ? lhs : rhs;
  return lhs.isSigned() ? rhs : lhs;
}

bool tw::haveMixedSigns(DType lhs, DType rhs) {
  return kindOf(lhs) == DTypeKind::Int && kindOf(rhs) == DTypeKind::Int &&
         lhs.isSigned() != rhs.isSigned();
}

/// Promotion of two values neither of which gives way; at least one is a float.
static DType promoteFloats(DType lhs, DType rhs) {
  DType float32 = findDType("float32"), float64 = findDType("float64");
  if (lhs == float64 || rhs == float64)
    return float64;
  if (lhs == float32 || rhs == float32)
    return float32;
  // What is left is float16, bfloat16, 8-bit floats and integers.
  DType float16 = findDType("float16");
  if (lhs.isFloat8() && rhs.isFloat8())
    return lhs == rhs ? lhs : float16; // which holds the values of both
  if (lhs.isFloat8() && rhs.isFloat())
    return rhs;
  if (rhs.isFloat8() && lhs.isFloat())
    return lhs;
  if (lhs.isFloat() && rhs.isFloat())
    return lhs == rhs ? lhs : float32;
  // bfloat16 has too few digits to take an integer tile; float16 does by Triton's rule.
  return lhs == float16 || rhs == float16 ? float16 : float32;
}

DType tw::promoteDTypes(PromotionOperand lhs, PromotionOperand rhs, bool isDivision) {
  DType result;
  bool isLeftWeak = lhs.givesWay();
  if (isLeftWeak != rhs.givesWay() &&
      kindOf((isLeftWeak ? lhs : rhs).dtype) <= kindOf((isLeftWeak ? rhs : lhs).dtype))
    result = isLeftWeak ? rhs.dtype : lhs.dtype;
  else if (lhs.dtype.isFloat() || rhs.dtype.isFloat())
    result = promoteFloats(lhs.dtype, rhs.dtype);
  else
    result = promoteIntegerDTypes(lhs.dtype, rhs.dtype);
  return isDivision ? computeDTypeOf(result) : result;
}

bool tw::fitsInteger(const llvm::APSInt &value, DType dtype) {
  unsigned activeBits = value.isNegative() ? value.getSignificantBits() : value.getActiveBits();
  if (value.isNegative())
    return dtype.isSigned() && activeBits <= dtype.bits();
  return activeBits <= dtype.bits() - (dtype.isSigned() ? 1 : 0);
}

std::optional<DType> tw::dtypeOfIntLiteral(const llvm::APSInt &value) {
  for (const char *name : {"int32", "uint32", "int64", "uint64"})
    if (DType dtype = findDType(name); fitsInteger(value, dtype))
      return dtype;
  return std::nullopt;
}

BroadcastResult tw::broadcastShapes(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs) {
  size_t rank = std::max(lhs.size(), rhs.size());
  llvm::SmallVector<int64_t> shape(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t left = dim + lhs.size() < rank ? 1 : lhs[dim + lhs.size() - rank];
    int64_t right = dim + rhs.size() < rank ? 1 : rhs[dim + rhs.size() - rank];
    if (left != right && left != 1 && right != 1)
      return {std::nullopt, int64_t(dim)};
    shape[dim] = left == 1 ? right : left;
  }
  return {shape, -1};
}

std::optional<bool> tw::dtypePredicate(DType dtype, llvm::StringRef name) {
  bool isFloat = dtype.isFloat(), isInt = dtype.isInt();
  llvm::StringRef shortName = dtype.row->ShortName;
  std::optional<bool> answer = llvm::StringSwitch<std::optional<bool>>(name)
                                   .Case("is_floating", isFloat)
                                   .Case("is_standard_floating", isFloat && !dtype.isFloat8())
                                   .Case("is_int", isInt)
                                   .Case("is_int_signed", isInt && dtype.isSigned())
                                   .Case("is_int_unsigned", isInt && !dtype.isSigned())
                                   .Case("is_bool", dtype.isBool())
                                   .Case("is_ptr", dtype.isPointer)
                                   .Case("is_const", dtype.isConst)
                                   .Case("is_block", false)
                                   .Case("is_fp8", dtype.isFloat8())
                                   .Case("is_numeric", !dtype.isPointer)
                                   .Default(std::nullopt);
  if (answer || !name.consume_front("is_"))
    return answer;
  if (name.starts_with("uint") || name.starts_with("int"))
    return !dtype.isPointer && name == dtype.row->Name;
  if (name.starts_with("fp8") || name.starts_with("float8"))
    return !dtype.isPointer && (name == shortName || name == dtype.row->Name);
  return name.starts_with("fp") || name == "bf16"
             ? std::optional(!dtype.isPointer && name == shortName)
             : std::nullopt;
}
