// Builds Tile IR from typed operands: promotion, broadcasting, checks, and the operation itself.
//
// Knows no AST and no names. Every method inserts at the MLIR builder's insertion point with the
// location set last, and answers a Reason (operand indices in argument order) when types or shapes
// do not fit; then nothing is inserted but operations without effect.
#ifndef FRONTEND_TILEBUILDER_H
#define FRONTEND_TILEBUILDER_H
#include "frontend/tiles/OperandBuilder.h"
#include "frontend/tiles/OperationOptions.h"
#include "frontend/values/OperatorTable.h"
#include "llvm/ADT/APInt.h"
#include <functional>
#include <optional>

namespace tw {

/// Emits the body of a combining function: 2n scalars in, n scalars out.
using CombineBody = std::function<TilesOr(const std::vector<TypedValue> &)>;

class TileBuilder : public OperandBuilder {
public:
  explicit TileBuilder(mlir::OpBuilder &builder) : OperandBuilder(builder) {}

  /// True if integers' + - * and unary - of at most 32 bits assert that the result fits its type.
  bool checksOverflow = false;

  // Scalars from compile-time numbers: the smallest of int32, uint32, int64, uint64; float is fp32.
  // The integer is in two's complement; the top bit is a sign when it is negative.
  TileOr intLiteral(const llvm::APInt &value, bool isNegative);
  TypedValue floatLiteral(double value);
  TypedValue boolLiteral(bool value);
  TypedValue scalarConstant(DType dtype, double value); // exact for ints below 2^53
  TypedValue programId(int axis);
  TypedValue numPrograms(int axis);
  TypedValue machine(tile::MachineFact fact); // an int64

  // Elementwise, with promotion and broadcasting.
  TileOr binary(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  /// `op` is none of those that ask about objects: is, in.
  TileOr compare(Comparison op, TypedValue lhs, TypedValue rhs);
  TileOr unary(UnaryOperator op, TypedValue operand);
  TileOr logicalAnd(TypedValue lhs, TypedValue rhs); // of truth values
  TileOr logicalOr(TypedValue lhs, TypedValue rhs);
  TileOr truth(TypedValue operand); // != 0, as i1; a pointer is not null
  TileOr where(TypedValue condition, TypedValue lhs, TypedValue rhs);
  TileOr minimum(TypedValue lhs, TypedValue rhs, bool propagateNan);
  TileOr maximum(TypedValue lhs, TypedValue rhs, bool propagateNan);
  TileOr clamp(TypedValue x, TypedValue lower, TypedValue upper, bool propagateNan);
  TileOr elementwise(const tile::ElementwiseRow &row, std::vector<TypedValue> operands);
  TileOr umulhi(TypedValue lhs, TypedValue rhs);
  TileOr fdiv(TypedValue lhs, TypedValue rhs, bool isExact = false); // exact on every machine
  TileOr cdiv(TypedValue lhs, TypedValue rhs);
  TileOr cast(TypedValue operand, DType dtype, const CastOptions &options = {});

  // Making tiles and changing shapes. Negative axes count from the end.
  TileOr arange(int64_t start, int64_t end);
  TileOr full(llvm::ArrayRef<int64_t> shape, TypedValue scalar, DType dtype);
  TileOr expandDims(TypedValue operand, int64_t axis);
  TileOr broadcastTo(TypedValue operand, llvm::ArrayRef<int64_t> shape);
  TileOr reshape(TypedValue operand, llvm::ArrayRef<int64_t> shape, bool allowReorder);
  TileOr permute(TypedValue operand, llvm::ArrayRef<int64_t> order);
  TileOr join(TypedValue lhs, TypedValue rhs);
  TilesOr split(TypedValue operand);
  TileOr cat(TypedValue lhs, TypedValue rhs, bool canReorder, int64_t dim);
  /// `count` of the elements along `axis`, from `start` on and `step` apart; all of them exist.
  TileOr slice(TypedValue source, int64_t axis, int64_t start, int64_t step, int64_t count);
  TileOr gather(TypedValue source, TypedValue indices, int64_t axis);
  TileOr countValues(TypedValue source, int64_t count); // how many equal 0, 1, ..., count - 1

  // Memory.
  TileOr load(TypedValue pointer, std::optional<TypedValue> mask, std::optional<TypedValue> other,
              const LoadOptions &options);
  std::optional<Reason> store(TypedValue pointer, TypedValue value, std::optional<TypedValue> mask,
                              const LoadOptions &options);
  /// `kind` is add, max, min, and, or, xor, xchg or store, whose result nobody reads.
  TileOr atomic(llvm::StringRef kind, TypedValue pointer, TypedValue value,
                std::optional<TypedValue> mask, const AtomicOptions &options);
  /// The old elements of any atomic: `emit` makes the operation of operands that fit.
  TileOr atomic(const AtomicRule &rule, TypedValue pointer, llvm::ArrayRef<TypedValue> values,
                std::optional<TypedValue> mask, const AtomicOptions &options, AtomicEmitter emit);

  // Reductions, scans, matrix products.
  TilesOr reduce(std::vector<TypedValue> sources, int64_t axis, bool keepDims,
                 const CombineBody &combine, bool isCommutative = false);
  /// `apply` on the elements of tiles of one shape, `pack` consecutive ones of each at a time: it
  /// takes them all and answers `pack` for each result. Its control flow is one element's own.
  TilesOr map(const std::vector<TypedValue> &sources, int64_t pack, const CombineBody &apply);
  TilesOr scan(std::vector<TypedValue> sources, int64_t axis, bool reverse,
               const CombineBody &combine);
  TileOr dot(TypedValue a, TypedValue b, const DotOptions &options = {});

  // Facts and debugging.
  TileOr hint(TypedValue operand, llvm::StringRef fact, llvm::ArrayRef<int64_t> values);
  std::optional<Reason> assume(TypedValue condition);
  void barrier();
  void orderLaunches(tile::LaunchOrder order);
  void print(llvm::StringRef prefix, bool hex, const std::vector<TypedValue> &values);
  std::optional<Reason> deviceAssert(TypedValue condition, llvm::StringRef message,
                                     std::optional<TypedValue> mask);

private:
  TypedValue scalarOf(TypedValue tileOfOne);
  TileOr castPointer(TypedValue operand, DType dtype);
  TileOr clearSignBit(TypedValue operand);
  TileOr bitcast(TypedValue operand, DType dtype);
  TileOr pointerBinary(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  TileOr arithmetic(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  void checkOverflow(BinaryOperator op, TypedValue lhs, TypedValue rhs, mlir::Value result);
  /// Folds sources by a combining function, whose checks are folded, too.
  using Fold = std::function<TilesOr(const std::vector<TypedValue> &, const CombineBody &)>;
  TilesOr checkedFold(const std::vector<TypedValue> &sources, const CombineBody &combine,
                      const Fold &fold);
  void assertFolded(TypedValue fits, llvm::ArrayRef<std::string> messages);
  TileOr divide(TypedValue lhs, TypedValue rhs);
  mlir::Value quotientOf(TypedValue lhs, TypedValue rhs, bool isExact);
  TileOr divideIntegers(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  TileOr bitwise(BinaryOperator op, TypedValue lhs, TypedValue rhs);
  TileOr logical(bool isAnd, TypedValue lhs, TypedValue rhs);
  TileOr extremum(bool isMaximum, TypedValue lhs, TypedValue rhs, bool propagateNan);
  TypedValue extremumOf(bool isMaximum, TypedValue lhs, TypedValue rhs, bool propagateNan);
  std::vector<TypedValue> unpacked(TypedValue rows, int64_t pack);
  TypedValue repacked(std::vector<TypedValue> columns);
  TilesOr mapColumns(const std::vector<TypedValue> &columns, const CombineBody &apply);
  TilesOr mapChecked(const std::vector<TypedValue> &columns, const CombineBody &apply);
  TilesOr reduceAlong(const std::vector<TypedValue> &sources, int64_t dim, bool keepDims,
                      const CombineBody &combine, bool isCommutative);
  TilesOr scanAlong(const std::vector<TypedValue> &sources, int64_t dim, bool reverse,
                    const CombineBody &combine);
  TileOr foldAlong(TypedValue lhs, TypedValue rhs, int64_t dim);
  TypedValue gatherAlong(TypedValue source, TypedValue positions, int64_t dim,
                         llvm::ArrayRef<int64_t> shape);

  // Accesses: pointers, values and masks under one shape.
  struct Access {
    TypedValue pointer; // to int8 where the user's points to int1
    DType element;      // as the user sees it
    std::optional<TypedValue> value, mask;
    mlir::Value maskOrNull() const { return mask ? mask->value : mlir::Value(); }
  };
  OrReason<Access> makeAccess(TypedValue pointer, std::optional<TypedValue> value,
                              std::optional<TypedValue> mask, llvm::ArrayRef<int> positions);

  OrReason<AtomicOperands> atomicOperands(TypedValue pointer, llvm::ArrayRef<TypedValue> values,
                                          std::optional<TypedValue> mask);
  /// Fills the region of a reduce or scan.
  std::optional<Reason> fillCombine(mlir::Region &region, const std::vector<TypedValue> &sources,
                                    const CombineBody &combine);
};
} // namespace tw
#endif
