// Which results of index arithmetic are non-negative, by the forms in which kernels write it.
#include "passes/analysis/IndexSigns.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

bool tw::isIndexWide(Type type) {
  Type element = elementTypeOf(type);
  return element.isIndex() || element.getIntOrFloatBitWidth() >= 32;
}

bool tw::isProductNonNegative(Operation *product, FactOf of) {
  return isIndexWide(product->getResult(0).getType()) &&
         llvm::all_of(product->getOperands(), [&](Value operand) {
           const IndexFact &facts = of(operand);
           return facts.isNonNegative && facts.constant.value_or(0) <= kLargestIndexFactor;
         });
}

static bool isQuotient(Value value) {
  return isa_and_nonnull<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp, arith::ShRSIOp,
                         arith::ShRUIOp>(value.getDefiningOp());
}

/// Returns the other factor if `value` is a product with `factor`. Products with powers of two may
/// be shifts, and those with 1 are folded away.
static Value factorBeside(Value value, Value factor, FactOf of) {
  std::optional<int64_t> number = of(factor).constant;
  if (number == 1)
    return value;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::ShLIOp>(op)) {
    std::optional<int64_t> amount = of(op->getOperand(1)).constant;
    bool isSame = amount && *amount >= 0 && *amount < 31 && number == int64_t(1) << *amount;
    return isSame ? op->getOperand(0) : Value();
  }
  for (unsigned side = 0; side < 2 && isa_and_nonnull<arith::MulIOp>(op); ++side) {
    Value other = op->getOperand(side);
    if (other == factor || (number && of(other).constant == number))
      return op->getOperand(1 - side);
  }
  return {};
}

static bool isOneLess(Value value, Value than, FactOf of) {
  Operation *op = value.getDefiningOp();
  bool isSum = isa_and_nonnull<arith::AddIOp>(op);
  return (isSum || isa_and_nonnull<arith::SubIOp>(op)) && op->getOperand(0) == than &&
         of(op->getOperand(1)).constant == (isSum ? -1 : 1);
}

bool tw::isRoundedUpQuotient(Operation *quotient, FactOf of) {
  Value divisor = quotient->getOperand(1);
  auto sum = quotient->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || !of(divisor).isNonNegative || !isIndexWide(divisor.getType()))
    return false;
  auto isSumOf = [&](Value number, Value rest) {
    return of(number).isNonNegative && isOneLess(rest, divisor, of);
  };
  return isSumOf(sum.getLhs(), sum.getRhs()) || isSumOf(sum.getRhs(), sum.getLhs());
}

/// The number of programs along an axis, less 1, and a program's number.
static bool countsFromLast(Value from, Value taken, FactOf of) {
  auto program = taken.getDefiningOp<tile::ProgramIdOp>();
  Operation *last = from.getDefiningOp();
  auto count = last && last->getNumOperands() > 0 ? last->getOperand(0) : Value();
  auto programs = count ? count.getDefiningOp<tile::NumProgramsOp>() : nullptr;
  return program && programs && programs.getAxis() == program.getAxis() &&
         isOneLess(from, count, of);
}

bool tw::isDifferenceNonNegative(Operation *difference, FactOf of) {
  Value from = difference->getOperand(0), taken = difference->getOperand(1);
  if (countsFromLast(from, taken, of))
    return true;
  Operation *op = taken.getDefiningOp();
  if (!op || !of(from).isNonNegative)
    return false;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return op->getOperand(0) == from;
  for (unsigned side = 0; side < 2 && isa<arith::MulIOp>(op); ++side) {
    Operation *quotient = op->getOperand(side).getDefiningOp();
    if (isa_and_nonnull<arith::DivSIOp, arith::DivUIOp>(quotient) &&
        quotient->getOperand(0) == from &&
        factorBeside(taken, quotient->getOperand(1), of) == quotient->getResult(0))
      return true;
  }
  return false;
}

bool tw::isGroupSize(Operation *minimum, FactOf of) {
  if (!isa<arith::MinSIOp>(minimum) || !shapeOf(minimum->getResult(0).getType()).empty())
    return false;
  for (unsigned side : {0u, 1u}) {
    Value size = minimum->getOperand(side);
    auto rest = minimum->getOperand(1 - side).getDefiningOp<arith::SubIOp>();
    if (!rest || !of(size).isNonNegative)
      continue;
    Value group = factorBeside(rest.getRhs(), size, of);
    if (group && isQuotient(group))
      return true;
  }
  return false;
}
