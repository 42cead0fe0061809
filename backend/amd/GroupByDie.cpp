// The order of programs on GPUs of several dies, each with a cache of its own. The hardware deals
// programs to them in turn, in the order of the grid; here a program takes the place of another, so
// that each die runs neighbours.
#include "backend/amd/LowerAmd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tw;
using namespace tw::amd;

namespace {
/// Integer arithmetic on numbers of programs, which are not negative.
struct Numbers {
  OpBuilder &b;
  Location loc;
  Value constant(int32_t value) const {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value add(Value x, Value y) const { return arith::AddIOp::create(b, loc, x, y); }
  Value multiply(Value x, Value y) const { return arith::MulIOp::create(b, loc, x, y); }
  Value divide(Value x, Value y) const { return arith::DivUIOp::create(b, loc, x, y); }
  Value rest(Value x, Value y) const { return arith::RemUIOp::create(b, loc, x, y); }
};
} // namespace

/// The program in the place of number `place` of `count`. The dies get numbers one after the other,
/// the first ones one more where they do not divide them all.
static Value inPlaceOf(const Numbers &n, Value place, Value count, unsigned numDies) {
  Value dies = n.constant(int32_t(numDies));
  Value die = n.rest(place, dies), turn = n.divide(place, dies);
  Value more = arith::MinUIOp::create(n.b, n.loc, die, n.rest(count, dies));
  return n.add(n.add(n.multiply(die, n.divide(count, dies)), more), turn);
}

static bool usesOneAxis(Operation *kernel) {
  return !kernel
              ->walk([](simt::ProgramIdOp id) {
                return id.getAxis() == 0 ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// All programs of the grid in one order, x first. A grid of 2^31 programs and more stays as it is.
static void groupWholeGrid(Lowering &lowering, const Numbers &n) {
  std::array<Value, 3> ids, counts;
  for (unsigned axis = 0; axis < 3; ++axis) {
    ids[axis] = programId(lowering, axis);
    counts[axis] = numPrograms(lowering, axis);
  }
  Type i64 = n.b.getI64Type();
  auto wide = [&](Value value) -> Value { return arith::ExtUIOp::create(n.b, n.loc, i64, value); };
  Value plane = n.multiply(wide(counts[0]), wide(counts[1]));
  Value all = n.multiply(plane, wide(counts[2]));
  Value most = arith::ConstantOp::create(n.b, n.loc, n.b.getI64IntegerAttr(INT32_MAX));
  auto isSmallNumber = [&](Value number) -> Value {
    return arith::CmpIOp::create(n.b, n.loc, arith::CmpIPredicate::ule, number, most);
  };
  // Where a plane is small, the product with the third axis does not wrap.
  Value isSmall = arith::AndIOp::create(n.b, n.loc, isSmallNumber(plane), isSmallNumber(all));
  Value place = n.add(ids[0], n.multiply(counts[0], n.add(ids[1], n.multiply(counts[1], ids[2]))));
  Value count = arith::TruncIOp::create(n.b, n.loc, n.b.getI32Type(), all);
  Value program = inPlaceOf(n, place, count, lowering.arch.numDies);
  Value row = n.divide(program, counts[0]);
  std::array<Value, 3> moved = {n.rest(program, counts[0]), n.rest(row, counts[1]),
                                n.divide(row, counts[1])};
  for (unsigned axis = 0; axis < 3; ++axis)
    lowering.programs[axis] = arith::SelectOp::create(n.b, n.loc, isSmall, moved[axis], ids[axis]);
}

/// The number along an axis of the program that a work-group runs. Where a kernel asks for the
/// first axis only, each row of the grid has its own order, which takes no division by a number
/// that only the launch knows.
Value tw::amd::programByDie(Lowering &lowering, unsigned axis) {
  if (lowering.programs[axis])
    return lowering.programs[axis];
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&lowering.kernel->getRegion(0).front());
  Numbers n{b, lowering.loc};
  if (usesOneAxis(lowering.kernel))
    lowering.programs[0] =
        inPlaceOf(n, programId(lowering, 0), numPrograms(lowering, 0), lowering.arch.numDies);
  else
    groupWholeGrid(lowering, n);
  return lowering.programs[axis];
}
