// Makes operand errors and converts the numbers of literals at compile time.
#include "frontend/tiles/Operands.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::APFloat;
using llvm::APSInt;

Reason tw::operandError(Code code, std::string message, std::string hint) {
  return {code, std::move(message), std::move(hint), {}};
}

Reason tw::operandError(Code code, std::string message, std::string hint,
                        llvm::ArrayRef<TypedValue> operands, int firstIndex) {
  Reason error = operandError(code, std::move(message), std::move(hint));
  for (const TypedValue &operand : operands)
    error.labels.push_back({firstIndex++, "this is " + operand.str()});
  return error;
}

Reason tw::pointerAsNumber(std::string message, llvm::ArrayRef<TypedValue> operands) {
  return operandError(Code::PointerAsNumber, std::move(message), kPointerHint, operands);
}

/// Returns true if a value is the kernel's argument that a 0-d array was given for.
static bool isZeroDimArgument(mlir::Value value) {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  auto kernel = argument
                    ? mlir::dyn_cast_or_null<mlir::func::FuncOp>(argument.getOwner()->getParentOp())
                    : nullptr;
  return kernel && argument.getArgNumber() < kernel.getNumArguments() &&
         kernel.getArgAttr(argument.getArgNumber(), tile::kArgZeroDim);
}

std::optional<Reason> tw::whyNoTruth(const TypedValue &operand) {
  if (!isZeroDimArgument(operand.value))
    return std::nullopt;
  return pointerAsNumber("a pointer is true unless it is null, and this one is a 0-d array, which "
                         "may be meant as a number",
                         operand);
}

std::optional<Reason> tw::checkTileShape(llvm::ArrayRef<int64_t> shape) {
  int64_t numElements = 1;
  bool isTooLarge = false;
  for (int64_t extent : shape) {
    if (extent < 1)
      return operandError(Code::InvalidShape,
                          "the shape " + shapeText(shape) + " has an extent below 1",
                          "every extent of a tile is at least 1");
    // Comparing before multiplying keeps the product from overflowing.
    isTooLarge |= extent > tile::kMostTileElements / numElements;
    numElements = isTooLarge ? 1 : numElements * extent;
  }
  if (!isTooLarge)
    return std::nullopt;
  return operandError(Code::TileTooLarge,
                      "a tile of shape " + shapeText(shape) + " has more than " +
                          std::to_string(tile::kMostTileElements) + " elements",
                      "choose smaller tile extents and loop over the rest, or use more programs");
}

OrReason<int64_t> tw::normalizeAxis(int64_t axis, int64_t rank, const TypedValue &operand) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  std::string hint =
      rank == 0 ? "a scalar has no axes"
                : "valid axes are " + std::to_string(-rank) + " to " + std::to_string(rank - 1);
  return operandError(Code::AxisRange,
                      "invalid axis " + std::to_string(axis) + " for " + operand.str(),
                      std::move(hint), operand);
}

static Reason shapeMismatch(llvm::ArrayRef<TypedValue> operands, llvm::ArrayRef<int64_t> lhs,
                            llvm::ArrayRef<int64_t> rhs, int64_t dim) {
  int64_t rank = std::max(lhs.size(), rhs.size());
  int64_t left = lhs[dim + lhs.size() - rank], right = rhs[dim + rhs.size() - rank];
  std::string hint = "extents must be equal or 1";
  if (lhs.size() != rhs.size())
    hint += "; the shape of lower rank is aligned at the last dimension: index with [:, None] to "
            "align it at the first";
  else if (rank == 1)
    hint += "; index one with [:, None] and the other with [None, :] to combine every pair";
  return operandError(Code::ShapeMismatch,
                      "shapes " + shapeText(lhs) + " and " + shapeText(rhs) +
                          " do not fit: dimension " + std::to_string(dim) + " is " +
                          std::to_string(left) + " and " + std::to_string(right),
                      std::move(hint), operands);
}

OrReason<llvm::SmallVector<int64_t>> tw::commonShape(llvm::ArrayRef<TypedValue> operands) {
  llvm::SmallVector<int64_t> shape;
  for (const TypedValue &operand : operands) {
    BroadcastResult result = broadcastShapes(shape, operand.shape());
    if (!result.shape)
      return shapeMismatch(operands, shape, operand.shape(), result.mismatch);
    shape = *result.shape;
  }
  if (std::optional<Reason> error = checkTileShape(shape)) {
    error->labels = operandError(Code::TileTooLarge, "", "", operands).labels;
    return *error;
  }
  return shape;
}

std::optional<APSInt> tw::literalInteger(const TypedValue &literal) {
  llvm::APInt number;
  if (!literal.isLiteral || !literal.dtype.isInt() || literal.isTile() ||
      !mlir::matchPattern(literal.value, mlir::m_ConstantInt(&number)))
    return std::nullopt;
  return APSInt(number, !literal.dtype.isSigned());
}

std::optional<APFloat> tw::literalFloat(const TypedValue &literal) {
  APFloat number(0.0);
  if (!literal.isLiteral || !literal.dtype.isFloat())
    return std::nullopt;
  if (literal.exactValue)
    return APFloat(*literal.exactValue);
  if (!mlir::matchPattern(literal.value, mlir::m_ConstantFloat(&number)))
    return std::nullopt;
  return number;
}

/// Rounded to nearest even. 8-bit floats are bounded by their largest finite value.
static mlir::TypedAttr roundedAttribute(APFloat number, mlir::FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  bool isExact;
  if (type.getWidth() == 8 && !number.isNaN()) {
    APFloat largest = APFloat::getLargest(semantics), bound = largest;
    bound.convert(number.getSemantics(), APFloat::rmNearestTiesToEven, &isExact);
    if (llvm::abs(number) > bound)
      return mlir::FloatAttr::get(type, number.isNegative() ? -largest : largest);
  }
  number.convert(semantics, APFloat::rmNearestTiesToEven, &isExact);
  return mlir::FloatAttr::get(type, number);
}

mlir::TypedAttr tw::numberAttribute(const APSInt &number, DType dtype, mlir::MLIRContext *context) {
  mlir::Type type = dtype.irType(context);
  if (dtype.isBool())
    return mlir::IntegerAttr::get(type, !number.isZero());
  if (dtype.isInt())
    return mlir::IntegerAttr::get(type, number.extOrTrunc(dtype.bits()));
  // A float64 of the same sign that is too large for 8-bit floats stands for any such number.
  APFloat rounded(dtype.isFloat8() ? APFloat::IEEEdouble()
                                   : llvm::cast<mlir::FloatType>(type).getFloatSemantics());
  rounded.convertFromAPInt(number, number.isSigned(), APFloat::rmNearestTiesToEven);
  if (dtype.isE4B15())
    return mlir::IntegerAttr::get(type, llvm::APInt(8, codeOfE4B15(rounded)));
  return roundedAttribute(rounded, llvm::cast<mlir::FloatType>(type));
}

mlir::TypedAttr tw::numberAttribute(APFloat number, DType dtype, mlir::MLIRContext *context) {
  mlir::Type type = dtype.irType(context);
  if (dtype.isBool())
    return mlir::IntegerAttr::get(type, !number.isZero());
  bool isExact;
  if (dtype.isInt()) {
    // convertToInteger saturates, and gives 0 for NaN.
    APSInt integer(dtype.bits(), !dtype.isSigned());
    number.convertToInteger(integer, APFloat::rmTowardZero, &isExact);
    return mlir::IntegerAttr::get(type, integer);
  }
  if (dtype.isE4B15())
    return mlir::IntegerAttr::get(type, llvm::APInt(8, codeOfE4B15(number)));
  return roundedAttribute(number, llvm::cast<mlir::FloatType>(type));
}
