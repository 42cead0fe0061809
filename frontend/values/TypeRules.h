// Promotion and broadcasting as pure functions: which dtype and shape an operation's operands take.
#ifndef FRONTEND_TYPERULES_H
#define FRONTEND_TYPERULES_H
#include "frontend/values/TypedValue.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tw {

/// Literals of lower or equal kind take the other operand's dtype. The signs of integers are one
/// kind.
enum class DTypeKind { Bool, Int, Float };
DTypeKind kindOf(DType dtype);

struct PromotionOperand {
  DType dtype; // not a pointer
  bool isLiteral = false;
  bool isNamed = false;

  PromotionOperand(const TypedValue &value)
      : dtype(value.dtype), isLiteral(value.isLiteral), isNamed(value.isNamed) {}
  PromotionOperand(DType dtype, bool isLiteral = false) : dtype(dtype), isLiteral(isLiteral) {}
  bool givesWay() const { return isLiteral && !isNamed; }
};

/// The dtype both operands are converted to. With `isDivision` (`/`, and `%` of floats) 16-bit
/// floats are computed, and answered, in float32.
DType promoteDTypes(PromotionOperand lhs, PromotionOperand rhs, bool isDivision = false);
/// Returns true if an 8-bit float meets integers, none of them a literal: there is no type for
/// both.
bool isFloat8WithInteger(PromotionOperand lhs, PromotionOperand rhs);
/// The wider of two integer dtypes; the unsigned one of two equally wide.
DType promoteIntegerDTypes(DType lhs, DType rhs);
/// Returns true if `//` or `%` would mix a signed and an unsigned integer. Bools have no sign.
bool haveMixedSigns(DType lhs, DType rhs);
/// The dtype that math functions are computed in: float32 for floats of at most 16 bits.
DType computeDTypeOf(DType dtype);
/// The dtype that sums, products, maxima and comparisons are computed in: float32 for 8-bit floats,
/// else the dtype itself.
DType arithmeticDTypeOf(DType dtype);

/// The smallest of int32, uint32, int64, uint64 that holds the number, if any does.
std::optional<DType> dtypeOfIntLiteral(const llvm::APSInt &value);
bool fitsInteger(const llvm::APSInt &value, DType dtype);
/// Answers `is_floating`, `is_int`, ... of an element type; nullopt for other names.
std::optional<bool> dtypePredicate(DType dtype, llvm::StringRef name);

/// The common shape: extents are equal or 1, and a shape of lower rank gets leading 1s. Without
/// one, the dimension of the result's rank that differs.
struct BroadcastResult {
  std::optional<llvm::SmallVector<int64_t>> shape;
  int64_t mismatch = -1;
};
BroadcastResult broadcastShapes(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);

} // namespace tw
#endif
