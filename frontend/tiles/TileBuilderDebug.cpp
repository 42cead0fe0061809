// Facts that the user promises, and operations for debugging.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;

TileOr TileBuilder::hint(TypedValue operand, llvm::StringRef fact, llvm::ArrayRef<int64_t> values) {
  size_t numDims = std::max<size_t>(1, operand.shape().size());
  if (values.size() != numDims || llvm::any_of(values, [](int64_t value) { return value < 1; }))
    return operandError(
        Code::HintValues, fact.str() + shapeText(values) + " does not describe " + operand.str(),
        "a hint has one number of at least 1 per dimension (one for a scalar)", operand);
  enum { Unknown = -1, Divisibility, Contiguity, Constancy };
  int index = llvm::StringSwitch<int>(fact)
                  .Cases({"multiple_of", "divisibility"}, Divisibility)
                  .Cases({"max_contiguous", "contiguity"}, Contiguity)
                  .Cases({"max_constancy", "constancy"}, Constancy)
                  .Default(Unknown);
  if (index == Unknown)
    return operandError(Code::UnknownOption, "unknown hint \"" + fact.str() + "\"",
                        "the hints are multiple_of, max_contiguous and max_constancy");
  mlir::DenseI64ArrayAttr facts[3] = {};
  facts[index] = builder.getDenseI64ArrayAttr(values);
  mlir::Value hinted =
      create<tile::HintOp>(operand.value, facts[Divisibility], facts[Contiguity], facts[Constancy]);
  return typed(hinted, operand.dtype);
}

std::optional<Reason> TileBuilder::assume(TypedValue condition) {
  if (condition.isTile())
    return operandError(Code::NeedsScalar, "assume takes a scalar condition",
                        "reduce the tile first, or use tw.multiple_of and its kind for tiles",
                        condition);
  TileOr holds = truth(condition);
  if (!holds)
    return holds.reason();
  tile::AssumeOp::create(builder, loc, holds->value);
  return std::nullopt;
}

void TileBuilder::barrier() { tile::BarrierOp::create(builder, loc); }

void TileBuilder::orderLaunches(tile::LaunchOrder order) {
  tile::OrderLaunchesOp::create(builder, loc, order);
}

void TileBuilder::print(llvm::StringRef prefix, bool hex, const std::vector<TypedValue> &values) {
  llvm::SmallVector<mlir::Value> printed;
  llvm::SmallVector<int32_t> areSigned;
  for (TypedValue value : values) {
    if (value.dtype.isFloat8())
      value = convert(value, findDType("float32"));
    printed.push_back(value.value);
    areSigned.push_back(value.dtype.isSigned());
  }
  tile::PrintOp::create(builder, loc, prefix, hex, areSigned, printed, /*extents=*/nullptr);
}

std::optional<Reason> TileBuilder::deviceAssert(TypedValue condition, llvm::StringRef message,
                                                std::optional<TypedValue> mask) {
  if (mask && !mask->dtype.isBool())
    return operandError(Code::MaskType, "a mask is int1, this is " + mask->str(),
                        "compare to make a mask, as in offsets < n", *mask, 2);
  TileOr checked = truth(condition);
  if (!checked)
    return checked.reason();
  if (!mask) {
    tile::AssertOp::create(builder, loc, checked->value, mlir::Value(), message);
    return std::nullopt;
  }
  TilePairOr operands = broadcast(*checked, *mask);
  if (!operands) {
    for (auto &label : operands.reason().labels)
      label.first *= 2; // the message is operand 1
    return operands.reason();
  }
  tile::AssertOp::create(builder, loc, operands->first.value, operands->second.value, message);
  return std::nullopt;
}
