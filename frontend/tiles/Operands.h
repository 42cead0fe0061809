// Operand errors with labels, and the numbers behind literals: shared by the files of TileBuilder.
#ifndef FRONTEND_OPERANDS_H
#define FRONTEND_OPERANDS_H
#include "frontend/values/TypeRules.h"
#include "llvm/ADT/APFloat.h"

namespace tw {

Reason operandError(Code code, std::string message, std::string hint);
/// With a label "this is TYPE" on every operand; the first one's index is `firstIndex`.
Reason operandError(Code code, std::string message, std::string hint,
                    llvm::ArrayRef<TypedValue> operands, int firstIndex = 0);

/// The hint for a pointer in the place of a number: most often the argument was an array of no
/// dimensions, which looks like a number on the host.
inline constexpr const char *kPointerHint =
    "an array argument is an address, that of a 0-d tensor too: pass a number (x.item()), or read "
    "the value with tw.load; the address as a number is pointer.to(tw.int64)";
Reason pointerAsNumber(std::string message, llvm::ArrayRef<TypedValue> operands);

/// Why a value has no truth value, if it has none: a 0-d array may be meant as a number.
std::optional<Reason> whyNoTruth(const TypedValue &operand);

/// An error when a tile of this shape cannot exist: an extent below 1, or too many elements.
std::optional<Reason> checkTileShape(llvm::ArrayRef<int64_t> shape);
/// The axis counted from the start; negative axes count from the end of `rank` dimensions.
OrReason<int64_t> normalizeAxis(int64_t axis, int64_t rank, const TypedValue &operand);
/// An error when the operands' shapes have no common shape or too large a one; else that shape.
OrReason<llvm::SmallVector<int64_t>> commonShape(llvm::ArrayRef<TypedValue> operands);

/// The number of a literal, when its value is a constant.
std::optional<llvm::APSInt> literalInteger(const TypedValue &literal);
std::optional<llvm::APFloat> literalFloat(const TypedValue &literal);
/// Conversion of numbers by the rules of run-time casts: to integers truncating and saturating (NaN
/// is 0), of integers wrapping, to floats rounding to nearest even, to bool "is not 0".
mlir::TypedAttr numberAttribute(const llvm::APSInt &number, DType dtype,
                                mlir::MLIRContext *context);
mlir::TypedAttr numberAttribute(llvm::APFloat number, DType dtype, mlir::MLIRContext *context);

/// Returns true if the format has no -0; its NaN has that code.
bool lacksNegativeZero(mlir::Type element);
/// The code of the nearest float8e4b15 (NarrowFloats.cpp has the format).
uint8_t codeOfE4B15(llvm::APFloat number);

} // namespace tw
#endif
