// The check of debug builds that a sum, difference or product of integers fits its type.
#include "frontend/tiles/TileBuilder.h"

using namespace tw;
namespace arith = mlir::arith;

/// Sums and differences of 32 bits by their signs or their order (Warren, Hacker's Delight 2nd ed.,
/// 2-13): as fast as the operation itself.
static mlir::Value fitsByOrder(mlir::OpBuilder &builder, mlir::Location loc, bool isAdd,
                               TypedValue lhs, TypedValue rhs, mlir::Value result,
                               mlir::Value zero) {
  auto bitsThatDiffer = [&](mlir::Value a, mlir::Value b) -> mlir::Value {
    return arith::XOrIOp::create(builder, loc, a, b);
  };
  auto compare = [&](arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) -> mlir::Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  if (!lhs.dtype.isSigned())
    return isAdd ? compare(arith::CmpIPredicate::uge, result, lhs.value)
                 : compare(arith::CmpIPredicate::uge, lhs.value, rhs.value);
  // The sign is wrong where it differs from that of the left operand, and, in a sum, also from that
  // of the right one; in a difference the operands' signs differ.
  mlir::Value both = arith::AndIOp::create(builder, loc, bitsThatDiffer(lhs.value, result),
                                           bitsThatDiffer(rhs.value, isAdd ? result : lhs.value));
  return compare(arith::CmpIPredicate::sge, both, zero);
}

void TileBuilder::checkOverflow(BinaryOperator op, TypedValue lhs, TypedValue rhs,
                                mlir::Value result) {
  if (!checksOverflow || !lhs.dtype.isInt() || lhs.dtype.bits() > 32)
    return;
  mlir::Value fits;
  if (lhs.dtype.bits() == 32 && op != BinaryOperator::Mul) {
    mlir::Value zero = constantLike(lhs, lhs.dtype, 0).value;
    fits = fitsByOrder(builder, loc, op == BinaryOperator::Add, lhs, rhs, result, zero);
  } else {
    // Exact in twice the bits, and equal to the result if that fits.
    DType wide = findDType(lhs.dtype.bits() == 32 ? "int64" : "int32");
    mlir::Value a = convert(lhs, wide).value, b = convert(rhs, wide).value, exact;
    if (op == BinaryOperator::Add)
      exact = create<arith::AddIOp>(a, b);
    else if (op == BinaryOperator::Sub)
      exact = create<arith::SubIOp>(a, b);
    else
      exact = create<arith::MulIOp>(a, b);
    mlir::Value widened = convert(typed(result, lhs.dtype), wide).value;
    fits = create<arith::CmpIOp>(arith::CmpIPredicate::eq, exact, widened);
  }
  std::string kind = "int" + std::to_string(lhs.dtype.bits());
  tile::AssertOp::create(builder, loc, fits, mlir::Value(),
                         kind + " overflow detected for operation " + rowOf(op).method.str());
}
