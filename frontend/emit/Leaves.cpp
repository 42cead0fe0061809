// The run-time leaves of joined and carried values: their types, and numbers that take those types.
#include "frontend/emit/Leaves.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/values/Parts.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

LeafType tw::leafTypeOf(const TypedValue &value) { return {value.dtype, value.shape().vec()}; }

LeafType tw::leafTypeOf(const PyValue &number) {
  if (number.is<bool>())
    return {findDType("int1"), {}};
  if (number.is<double>())
    return {findDType("float32"), {}};
  llvm::APSInt integer = toInteger(number);
  if (integer.isSignedIntN(32))
    return {findDType("int32"), {}};
  if (!integer.isNegative() && integer.isIntN(32))
    return {findDType("uint32"), {}};
  return {findDType(integer.isSignedIntN(64) ? "int64" : "uint64"), {}};
}

/// Returns true if a float type holds an integer without rounding; otherwise it would be another
/// number.
static bool isExact(const llvm::APSInt &integer, DType dtype) {
  const auto &semantics =
      *llvm::StringSwitch<const llvm::fltSemantics *>(dtype.row->Name)
           .Case("float64", &llvm::APFloat::IEEEdouble())
           .Case("float32", &llvm::APFloat::IEEEsingle())
           .Case("float16", &llvm::APFloat::IEEEhalf())
           .Case("bfloat16", &llvm::APFloat::BFloat())
           .Default(&llvm::APFloat::Float8E5M2()); // of the 8-bit floats the one of fewest digits
  return llvm::APFloat(semantics).convertFromAPInt(
             integer, /*IsSigned=*/true, llvm::APFloat::rmNearestTiesToEven) == llvm::APFloat::opOK;
}

bool tw::fits(const PyValue &number, const LeafType &type) {
  DType dtype = type.dtype;
  if (!number.isNumber() || dtype.isPointer)
    return false;
  if (dtype.isFloat() && number.is<double>())
    return true;
  if (dtype.isFloat())
    return isExact(toInteger(number), dtype);
  if (dtype.isBool() || number.is<double>())
    return number.is<bool>();
  llvm::APSInt integer = toInteger(number);
  return dtype.isSigned() ? integer.isSignedIntN(dtype.bits())
                          : !integer.isNegative() && integer.isIntN(dtype.bits());
}

FailureOr<TypedValue> tw::materialize(Emitter &emitter, const PyValue &number, const LeafType &type,
                                      const Node &site) {
  FailureOr<TypedValue> scalar = toRuntime(emitter, number, site);
  if (failed(scalar))
    return failure();
  TileOr cast = emitter.tiles.cast(*scalar, type.dtype);
  if (cast && !type.shape.empty())
    cast = emitter.tiles.full(type.shape, *cast, type.dtype);
  if (!cast)
    return emitter.error(cast.reason(), site, {&site});
  cast->isLiteral = false;
  return *cast;
}

TypedValue tw::zeroOf(Emitter &emitter, const LeafType &type) {
  mlir::OpBuilder &builder = emitter.builder;
  mlir::Type element = type.dtype.irType(builder.getContext());
  mlir::Value scalar;
  if (auto pointer = mlir::dyn_cast<tile::PtrType>(element)) {
    mlir::Value address =
        mlir::arith::ConstantOp::create(builder, emitter.location(), builder.getI64IntegerAttr(0));
    scalar = tile::IntToPtrOp::create(builder, emitter.location(), pointer, address);
  } else {
    scalar =
        mlir::arith::ConstantOp::create(builder, emitter.location(), builder.getZeroAttr(element));
  }
  if (!type.shape.empty())
    scalar = tile::SplatOp::create(builder, emitter.location(),
                                   mlir::RankedTensorType::get(type.shape, element), scalar);
  return {scalar, type.dtype};
}

std::vector<mlir::Value> tw::leavesOf(const PyValue &value) {
  std::vector<mlir::Value> leaves;
  forEachLeaf(value, [&](const PyValue &leaf) {
    if (const TypedValue *typed = leaf.as<TypedValue>())
      leaves.push_back(typed->value);
  });
  return leaves;
}

PyValue tw::withLeaves(const PyValue &value, mlir::ValueRange &leaves) {
  return mapLeaves(value, [&](const PyValue &leaf) -> PyValue {
    const TypedValue *typed = leaf.as<TypedValue>();
    if (!typed)
      return leaf;
    mlir::Value next = leaves.front();
    leaves = leaves.drop_front();
    return {TypedValue{next, typed->dtype}};
  });
}

PyValue tw::zerosLike(Emitter &emitter, const PyValue &value) {
  return mapLeaves(value, [&](const PyValue &leaf) -> PyValue {
    const TypedValue *typed = leaf.as<TypedValue>();
    return typed ? PyValue{zeroOf(emitter, leafTypeOf(*typed))} : leaf;
  });
}
