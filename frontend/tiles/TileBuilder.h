// Builds Tile IR from typed operands: promotion, broadcasting, checks, and the operation itself.
//
// Knows no AST and no names. Every method inserts at the MLIR builder's insertion point with the
// location set last, and answers an OperandError (operand indices in argument order) when the types
// or shapes do not fit. Nothing is inserted when an error is answered, except operations without
// effect.
#ifndef FRONTEND_TILEBUILDER_H
#define FRONTEND_TILEBUILDER_H
#include "frontend/tiles/OperandBuilder.h"
#include "frontend/tiles/OperationOptions.h"
#include "llvm/ADT/APInt.h"
#include <functional>
#include <optional>

namespace tw {

/// Emits the body of a combining function: 2n scalars in, n scalars out.
using CombineBody =
    std::function<OrError<std::vector<TypedValue>>(const std::vector<TypedValue> &)>;

class TileBuilder : public OperandBuilder {
public:
  explicit TileBuilder(mlir::OpBuilder &builder) : OperandBuilder(builder) {}

  /// Whether integers' + - * and unary - of at most 32 bits assert that the result fits its type.
  bool checksOverflow = false;

  // Scalars from compile-time numbers: the smallest of int32, uint32, int64, uint64; float is fp32.
  // The integer is in two's complement; the top bit is a sign when it is negative.
  Value intLiteral(const llvm::APInt &value, bool isNegative);
  TypedValue floatLiteral(double value);
  TypedValue boolLiteral(bool value);
  TypedValue scalarConstant(DType dtype, double value); // exact for ints below 2^53
  TypedValue programId(int axis);
  TypedValue numPrograms(int axis);
  TypedValue machine(tile::MachineFact fact); // an int64

  // Elementwise, with promotion and broadcasting.
  Value binary(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  Value compare(Comparison op, TypedValue lhs, TypedValue rhs);
  Value unary(UnaryOperator op, TypedValue operand);
  Value logicalAnd(TypedValue lhs, TypedValue rhs); // of truth values
  Value logicalOr(TypedValue lhs, TypedValue rhs);
  Value truth(TypedValue operand); // != 0, as i1
  Value where(TypedValue condition, TypedValue lhs, TypedValue rhs);
  Value minimum(TypedValue lhs, TypedValue rhs, bool propagateNan);
  Value maximum(TypedValue lhs, TypedValue rhs, bool propagateNan);
  Value clamp(TypedValue x, TypedValue lower, TypedValue upper, bool propagateNan);
  Value elementwise(const tile::ElementwiseRow &row, std::vector<TypedValue> operands);
  Value umulhi(TypedValue lhs, TypedValue rhs);
  Value fdiv(TypedValue lhs, TypedValue rhs, bool isExact = false); // exact on every machine
  Value cdiv(TypedValue lhs, TypedValue rhs);
  /// `rounding` is "", "rtne" or "rtz".
  Value cast(TypedValue operand, DType dtype, bool bitcast, llvm::StringRef rounding);

  // Making tiles and changing shapes. Negative axes count from the end.
  Value arange(int64_t start, int64_t end);
  Value full(llvm::ArrayRef<int64_t> shape, TypedValue scalar, DType dtype);
  Value expandDims(TypedValue operand, int64_t axis);
  // broadcast(lhs, rhs) is inherited.
  Value broadcastTo(TypedValue operand, llvm::ArrayRef<int64_t> shape);
  Value reshape(TypedValue operand, llvm::ArrayRef<int64_t> shape, bool allowReorder);
  Value permute(TypedValue operand, llvm::ArrayRef<int64_t> order);
  Value join(TypedValue lhs, TypedValue rhs);
  Values split(TypedValue operand);
  Value cat(TypedValue lhs, TypedValue rhs, bool canReorder, int64_t dim);
  /// `count` of the elements along `axis`, from `start` on and `step` apart; all of them exist.
  Value slice(TypedValue source, int64_t axis, int64_t start, int64_t step, int64_t count);
  Value gather(TypedValue source, TypedValue indices, int64_t axis);

  // Memory.
  Value load(TypedValue pointer, std::optional<TypedValue> mask, std::optional<TypedValue> other,
             const LoadOptions &options);
  std::optional<OperandError> store(TypedValue pointer, TypedValue value,
                                    std::optional<TypedValue> mask, const LoadOptions &options);
  /// `kind` is add, max, min, and, or, xor, xchg or store, whose result nobody reads.
  Value atomic(llvm::StringRef kind, TypedValue pointer, TypedValue value,
               std::optional<TypedValue> mask, const AtomicOptions &options);
  Value atomicLoad(TypedValue pointer, std::optional<TypedValue> mask,
                   const AtomicOptions &options);
  Value atomicCas(TypedValue pointer, TypedValue compare, TypedValue value,
                  const AtomicOptions &options);

  // Reductions, scans, matrix products.
  Values reduce(std::vector<TypedValue> sources, int64_t axis, bool keepDims,
                const CombineBody &combine, bool isCommutative = false);
  /// `apply` on the elements of tiles of one shape, `pack` consecutive ones of each at a time: it
  /// takes them all and answers `pack` for each result. Its control flow is one element's own.
  Values map(const std::vector<TypedValue> &sources, int64_t pack, const CombineBody &apply);
  Values scan(std::vector<TypedValue> sources, int64_t axis, bool reverse,
              const CombineBody &combine);
  /// `precision` is "", tf32, tf32x3, ieee, bf16x3 or bf16x6; outDType applies without acc.
  Value dot(TypedValue a, TypedValue b, std::optional<TypedValue> acc, llvm::StringRef precision,
            std::optional<DType> outDType);

  // Facts and debugging.
  Value hint(TypedValue operand, llvm::StringRef fact, llvm::ArrayRef<int64_t> values);
  std::optional<OperandError> assume(TypedValue condition);
  void barrier();
  void print(llvm::StringRef prefix, bool hex, const std::vector<TypedValue> &values);
  std::optional<OperandError> deviceAssert(TypedValue condition, llvm::StringRef message,
                                           std::optional<TypedValue> mask);

private:
  TypedValue scalarOf(TypedValue tileOfOne);
  Value castPointer(TypedValue operand, DType dtype);
  Value clearSignBit(TypedValue operand);
  Value bitcast(TypedValue operand, DType dtype);
  Value pointerBinary(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  Value arithmetic(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  /// In TileBuilderOverflow.cpp.
  void checkOverflow(BinaryOperator op, TypedValue lhs, TypedValue rhs, mlir::Value result);
  Value divide(TypedValue lhs, TypedValue rhs);
  mlir::Value quotientOf(TypedValue lhs, TypedValue rhs, bool isExact);
  Value divideIntegers(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  Value bitwise(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  Value logical(bool isAnd, TypedValue lhs, TypedValue rhs);
  Value extremum(bool isMaximum, TypedValue lhs, TypedValue rhs, bool propagateNan);
  TypedValue extremumOf(bool isMaximum, TypedValue lhs, TypedValue rhs, bool propagateNan);

  std::vector<TypedValue> unpacked(TypedValue rows, int64_t pack);
  TypedValue repacked(std::vector<TypedValue> columns);
  Values mapColumns(const std::vector<TypedValue> &columns, const CombineBody &apply);
  Value foldAlong(TypedValue lhs, TypedValue rhs, int64_t dim);
  TypedValue gatherAlong(TypedValue source, TypedValue positions, int64_t dim,
                         llvm::ArrayRef<int64_t> shape);

  // Accesses: pointers, values and masks under one shape.
  struct Access {
    TypedValue pointer; // to int8 where the user's points to int1
    DType element;      // as the user sees it
    std::optional<TypedValue> value, mask;
    mlir::Value maskOrNull() const { return mask ? mask->value : mlir::Value(); }
  };
  OrError<Access> makeAccess(TypedValue pointer, std::optional<TypedValue> value,
                             std::optional<TypedValue> mask, llvm::ArrayRef<int> positions);

  /// Fills the region of a reduce or scan.
  std::optional<OperandError> fillCombine(mlir::Region &region,
                                          const std::vector<TypedValue> &sources,
                                          const CombineBody &combine);
};
} // namespace tw
#endif
