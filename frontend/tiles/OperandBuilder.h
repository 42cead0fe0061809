// Brings the operands of an operation under a common dtype and shape: the base of TileBuilder.
#ifndef FRONTEND_OPERANDBUILDER_H
#define FRONTEND_OPERANDBUILDER_H
#include "frontend/values/TypedValue.h"
#include "mlir/IR/Builders.h"

namespace tw {

using TileOr = OrReason<TypedValue>;
using TilesOr = OrReason<std::vector<TypedValue>>;
using TilePairOr = OrReason<std::pair<TypedValue, TypedValue>>;

class OperandBuilder {
public:
  /// The location of the operations that are built from now on.
  void setLocation(mlir::Location location) { loc = location; }
  mlir::Location location() const { return loc; }
  /// Both under their common shape.
  TilePairOr broadcast(TypedValue lhs, TypedValue rhs);

protected:
  explicit OperandBuilder(mlir::OpBuilder &builder)
      : builder(builder), loc(builder.getUnknownLoc()) {}

  TypedValue typed(mlir::Value value, DType dtype) const { return {value, dtype}; }
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...);
  }
  /// The IR type of elements of `dtype` under the value's shape.
  mlir::Type typeLike(const TypedValue &value, DType dtype) const;
  TypedValue constantLike(const TypedValue &like, DType dtype, double value);
  mlir::Value allOnesLike(const TypedValue &integer);
  TypedValue splatTo(TypedValue operand, llvm::ArrayRef<int64_t> shape);
  /// The operand under a shape that it broadcasts to.
  TypedValue expandTo(TypedValue operand, llvm::ArrayRef<int64_t> shape);

  /// Conversion of elements by value; neither dtype is a pointer.
  TypedValue convert(TypedValue operand, DType dtype);
  TypedValue isNonzero(TypedValue operand);
  TypedValue addresses(TypedValue pointer);
  /// A float rounded towards zero to a narrower one.
  TypedValue truncateTowardsZero(TypedValue operand, DType dtype);

  /// All under `dtype` and their common shape.
  TilesOr convertAll(std::vector<TypedValue> operands, DType dtype);
  /// All under the dtype that promotion gives, and their common shape.
  TilesOr promoteAll(std::vector<TypedValue> operands, bool isDivision);
  TilePairOr promote(TypedValue lhs, TypedValue rhs, bool isDivision = false);
  /// Promoted, or pointers to one type.
  TilePairOr unify(TypedValue lhs, TypedValue rhs);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  TypedValue extendE4B15(TypedValue operand);
  TypedValue roundToE4B15(TypedValue operand, bool isTowardsZero);
  TypedValue boundTo(TypedValue operand, DType dtype);
  TypedValue convertFloat(TypedValue operand, DType dtype);
  TypedValue convertInteger(TypedValue operand, DType dtype);
};

} // namespace tw
#endif
