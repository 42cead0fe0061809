// The stable codes of operand errors (TW02xx) and their titles: one table.
#ifndef FRONTEND_OPERANDCODES_H
#define FRONTEND_OPERANDCODES_H
#include "llvm/ADT/ArrayRef.h"

namespace tw {

/// The value is the number in the code: TW0201 and so on. Numbers are never reused.
enum class OperandCode {
  OperandType = 201,
  PointerArithmetic,
  LiteralRange,
  MixedSigns,
  ShapeMismatch,
  InvalidCast,
  AxisRange,
  InvalidShape,
  TileTooLarge,
  ArangeBounds,
  NotAPointer,
  MaskType,
  AccessShape,
  OtherWithoutMask,
  AtomicType,
  UnknownOption,
  CombineResult,
  DotOperands,
  NeedsTile,
  NeedsScalar,
  HintValues,
  PointerAsNumber,
  CombineBody,
  ConstPointer = 225,
  DescriptorParts = 230,
  DescriptorRank,
  LastStride,
  BlockPointerMask,
  BoundaryCheck,
  DescriptorUse,
  ScaledFormat = 237,
  ScaledElements,
  ScaledScales,
  ScaledShapes,
  ScaledResult,
  AsmConstraints = 242,
  AsmText = 244,
  RepeatedAxis = 246,
};

struct OperandCodeRow {
  OperandCode code;
  const char *name, *title;
};

inline constexpr OperandCodeRow kOperandCodes[] = {
    {OperandCode::OperandType, "TW0201", "the operation does not accept values of this type"},
    {OperandCode::PointerArithmetic, "TW0202", "the operation is not defined on pointers"},
    {OperandCode::LiteralRange, "TW0203", "a number does not fit the integer type it takes"},
    {OperandCode::MixedSigns, "TW0204", "division of a signed by an unsigned integer"},
    {OperandCode::ShapeMismatch, "TW0205", "shapes cannot be broadcast together"},
    {OperandCode::InvalidCast, "TW0206", "there is no such conversion"},
    {OperandCode::AxisRange, "TW0207", "an axis is outside the tile's rank"},
    {OperandCode::InvalidShape, "TW0208", "a shape that the tile cannot take"},
    {OperandCode::TileTooLarge, "TW0209", "a tile has too many elements"},
    {OperandCode::ArangeBounds, "TW0210", "arange bounds are empty or outside int32"},
    {OperandCode::NotAPointer, "TW0211", "a memory access needs a pointer"},
    {OperandCode::MaskType, "TW0212", "a mask is not of type int1"},
    {OperandCode::AccessShape, "TW0213", "a tile is given where the scalar pointer needs a scalar"},
    {OperandCode::OtherWithoutMask, "TW0214", "`other` has no meaning without a mask"},
    {OperandCode::AtomicType, "TW0215", "the atomic operation does not exist for this type"},
    {OperandCode::UnknownOption, "TW0216", "an option has an unknown value"},
    {OperandCode::CombineResult, "TW0217", "a combining function returns the wrong values"},
    {OperandCode::DotOperands, "TW0218", "operands of dot do not fit together"},
    {OperandCode::NeedsTile, "TW0219", "the operation needs a tile"},
    {OperandCode::NeedsScalar, "TW0220", "the operation needs a scalar"},
    {OperandCode::HintValues, "TW0221", "a hint's numbers do not fit the value"},
    {OperandCode::PointerAsNumber, "TW0222", "a pointer is used where a number is needed"},
    {OperandCode::CombineBody, "TW0223", "what a combining function may not do"},
    {OperandCode::ConstPointer, "TW0225", "a write through a pointer to constant memory"},
    {OperandCode::DescriptorParts, "TW0230", "an array is described by values of the wrong kind"},
    {OperandCode::DescriptorRank, "TW0231", "the numbers that describe an array do not agree"},
    {OperandCode::LastStride, "TW0232", "the last stride of a tensor descriptor is not 1"},
    {OperandCode::BlockPointerMask, "TW0233", "a block pointer takes no mask"},
    {OperandCode::BoundaryCheck, "TW0234", "boundary_check or padding_option cannot be used so"},
    {OperandCode::DescriptorUse, "TW0235",
     "a block pointer or tensor descriptor is used as something else"},
    {OperandCode::ScaledFormat, "TW0237", "dot_scaled does not know this format"},
    {OperandCode::ScaledElements, "TW0238", "elements of dot_scaled are not of their format"},
    {OperandCode::ScaledScales, "TW0239", "scales of dot_scaled do not fit their operand"},
    {OperandCode::ScaledShapes, "TW0240", "operands of dot_scaled do not fit together"},
    {OperandCode::ScaledResult, "TW0241", "accumulator or result of dot_scaled is not float32"},
    {OperandCode::AsmConstraints, "TW0242", "constraints of inline assembly do not fit its values"},
    {OperandCode::AsmText, "TW0244", "inline assembly whose text is malformed"},
    {OperandCode::RepeatedAxis, "TW0246", "an axis is named twice"},
};

} // namespace tw
#endif
