// The order of programs: a program takes the place of another, so that those which run at the same
// time, or on the same die, access the same rows and columns and find them in a cache.
#include "backend/gpu/ProgramOrder.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/ThreadLowering.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

static constexpr StringLiteral kByDie = "xcd";

/// Returns true if programs begin in the order of the grid.
static bool isGrids(const ProgramOrder &order) { return order.dies == 1 && order.rows == 0; }

std::optional<ProgramOrder> gpu::programOrderOf(const CompileOptions &options, unsigned numDies) {
  ProgramOrder order;
  std::optional<StringRef> text = extraOption(options, kSwizzlePrograms);
  if (!text)
    return order;
  if (*text == kByDie)
    order.dies = numDies;
  else if (text->getAsInteger(10, order.rows) || order.rows == 0 || order.rows > INT32_MAX)
    return std::nullopt;
  return order;
}

/// Returns an access in a loop until a condition holds that reads what other programs may write. An
/// atomic whose result nobody takes reads nothing.
static Operation *findWait(Operation *kernel) {
  Operation *found = nullptr;
  kernel->walk([&](scf::WhileOp loop) {
    loop.walk([&](Operation *op) {
      auto load = dyn_cast<tile::LoadOp>(op);
      auto access = dyn_cast<tile::MemoryAccess>(op);
      if ((load && load.getIsVolatile()) || (access && access.isAtomic() && !op->use_empty()))
        found = op;
    });
  });
  return found;
}

LogicalResult gpu::checkProgramOrder(const CompileOptions &options, Operation *kernel,
                                     unsigned numDies) {
  std::optional<ProgramOrder> order = programOrderOf(options, numDies);
  if (!order) {
    InFlightDiagnostic error = emitCoded(kernel, Code::ProgramOrder)
                               << kSwizzlePrograms << "=" << *extraOption(options, kSwizzlePrograms)
                               << ": an order of programs is \"" << kByDie
                               << "\" or a number of rows from 1 on";
    error.attachNote(kernel->getLoc()) << "leave " << kSwizzlePrograms << " out";
    return error;
  }
  Operation *wait = isGrids(*order) ? nullptr : findWait(kernel);
  if (!wait)
    return success();
  InFlightDiagnostic error = emitCoded(wait, Code::ProgramOrder)
                             << kSwizzlePrograms << "=" << *extraOption(options, kSwizzlePrograms)
                             << ": the kernel waits here for other programs, which begin later "
                                "then";
  error.attachNote(wait->getLoc()) << "leave " << kSwizzlePrograms << " out";
  return error;
}

namespace {
/// Integer arithmetic on numbers of programs, which are not negative.
struct Numbers {
  OpBuilder &b;
  Location loc;
  Value constant(int64_t value) const {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value)));
  }
  Value wide(Value x) const { return arith::ExtUIOp::create(b, loc, b.getI64Type(), x); }
  Value add(Value x, Value y) const { return arith::AddIOp::create(b, loc, x, y); }
  Value subtract(Value x, Value y) const { return arith::SubIOp::create(b, loc, x, y); }
  Value multiply(Value x, Value y) const { return arith::MulIOp::create(b, loc, x, y); }
  Value divide(Value x, Value y) const { return arith::DivUIOp::create(b, loc, x, y); }
  Value rest(Value x, Value y) const { return arith::RemUIOp::create(b, loc, x, y); }
  Value least(Value x, Value y) const { return arith::MinUIOp::create(b, loc, x, y); }
  Value isSmall(Value wide) const {
    Value most = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(INT32_MAX));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, wide, most);
  }
};

/// Numbers along the axes of the grid.
using Grid = std::array<Value, 3>;
} // namespace

/// Returns the program in the place of number `place` of `count`. The dies get numbers one after
/// the other, the first ones one more where they do not divide them all.
static Value dealToDies(const Numbers &n, Value place, Value count, unsigned numDies) {
  Value dies = n.constant(numDies);
  Value die = n.rest(place, dies), turn = n.divide(place, dies);
  Value more = n.least(die, n.rest(count, dies));
  return n.add(n.add(n.multiply(die, n.divide(count, dies)), more), turn);
}

static bool usesOneAxis(Operation *kernel) {
  return !kernel
              ->walk([](simt::ProgramIdOp id) {
                return id.getAxis() == 0 ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Moves all programs of the grid in one order. A grid of 2^31 programs and more stays as it is.
static Grid dealGrid(const Numbers &n, const Grid &places, const Grid &counts, unsigned numDies) {
  Value plane = n.multiply(n.wide(counts[0]), n.wide(counts[1]));
  Value all = n.multiply(plane, n.wide(counts[2]));
  // Where a plane is small, the product with the third axis does not wrap.
  Value isSmall = arith::AndIOp::create(n.b, n.loc, n.isSmall(plane), n.isSmall(all));
  Value place =
      n.add(places[0], n.multiply(counts[0], n.add(places[1], n.multiply(counts[1], places[2]))));
  Value count = arith::TruncIOp::create(n.b, n.loc, n.b.getI32Type(), all);
  Value program = dealToDies(n, place, count, numDies);
  Value row = n.divide(program, counts[0]);
  Grid moved = {n.rest(program, counts[0]), n.rest(row, counts[1]), n.divide(row, counts[1])};
  for (auto [each, at] : llvm::zip(moved, places))
    each = arith::SelectOp::create(n.b, n.loc, isSmall, each, at);
  return moved;
}

/// Moves the clusters of a plane: those of so many rows, the first axis innermost, before the next
/// rows. A plane of 2^31 clusters and more stays as it is.
static Grid groupRows(const Numbers &n, const Grid &places, const Grid &counts, unsigned rows) {
  Value isSmall = n.isSmall(n.multiply(n.wide(counts[0]), n.wide(counts[1])));
  Value group = n.least(n.constant(rows), counts[0]); // a group has no more than the plane
  Value place = n.add(places[0], n.multiply(counts[0], places[1]));
  Value inGroup = n.multiply(group, counts[1]);
  Value first = n.multiply(n.divide(place, inGroup), group), rest = n.rest(place, inGroup);
  Value width = n.least(group, n.subtract(counts[0], first));
  Grid moved = {n.add(first, n.rest(rest, width)), n.divide(rest, width), places[2]};
  for (auto [each, at] : llvm::zip(moved, places))
    each = arith::SelectOp::create(n.b, n.loc, isSmall, each, at);
  return moved;
}

/// Moves programs by groups of rows; those of a cluster stay together.
static Grid groupPrograms(const Numbers &n, Grid places, Grid counts, unsigned rows,
                          const std::array<int64_t, 3> &cluster) {
  Grid inCluster;
  for (unsigned axis = 0; axis < 2; ++axis)
    if (cluster[axis] > 1) {
      Value extent = n.constant(cluster[axis]);
      inCluster[axis] = n.rest(places[axis], extent);
      places[axis] = n.divide(places[axis], extent);
      counts[axis] = n.divide(counts[axis], extent);
    }
  Grid moved = groupRows(n, places, counts, unsigned(llvm::divideCeil(rows, uint64_t(cluster[0]))));
  for (unsigned axis = 0; axis < 2; ++axis)
    if (inCluster[axis])
      moved[axis] = n.add(n.multiply(moved[axis], n.constant(cluster[axis])), inCluster[axis]);
  return moved;
}

/// Where a kernel asks for the first axis only, each row of the grid has its own order, which takes
/// no division by a number that only the launch knows.
Value gpu::programInOrder(ThreadLowering &lowering, unsigned axis, ReadGrid place, ReadGrid count) {
  if (lowering.programs[axis])
    return lowering.programs[axis];
  const ProgramOrder &order = lowering.order;
  if (isGrids(order))
    return place(axis);
  bool usesOne = usesOneAxis(lowering.kernel);
  if (order.rows > 0 && usesOne)
    return place(axis);
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&lowering.kernel->getRegion(0).front());
  Numbers n{b, lowering.loc};
  Grid places = {place(0), place(1), place(2)}, counts = {count(0), count(1), count(2)};
  if (order.rows > 0)
    lowering.programs =
        groupPrograms(n, places, counts, order.rows, simt::clusterOf(lowering.kernel));
  else if (usesOne)
    lowering.programs = {dealToDies(n, places[0], counts[0], order.dies), places[1], places[2]};
  else
    lowering.programs = dealGrid(n, places, counts, order.dies);
  return lowering.programs[axis];
}
