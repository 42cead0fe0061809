// Cuts matrix products into register tiles, and chooses the instruction for them and where their
// operands are read.
#include "passes/simd/product/DotPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

static int64_t chooseRows(int64_t m, int64_t limit) {
  for (int64_t rows = std::min(m, limit); rows > limit / 2; --rows)
    if (m % rows == 0)
      return rows;
  return std::min(m, limit);
}

/// The bytes behind an extension of integers, which an instruction of bytes extends by itself.
static DotOperand behindExtension(Value tile, const TilePlan &plan) {
  Operation *op = tile.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) && !plan.isKept(tile) &&
      elementTypeOf(op->getOperand(0).getType()).isInteger(8))
    return {op->getOperand(0), isa<arith::ExtUIOp>(op)};
  return {tile, false};
}

/// The product before it is cut: no instruction, operands as wide as accumulators.
static DotPlan describeDot(DotOp op, const SimdFunction &f) {
  RankedTensorType acc = op.getAcc().getType();
  int64_t rank = acc.getRank();
  DotPlan plan;
  plan.aSource.tile = op.getA();
  plan.bSource.tile = op.getB();
  plan.m = acc.getDimSize(rank - 2);
  plan.n = acc.getDimSize(rank - 1);
  plan.k = op.getA().getType().getDimSize(rank - 1);
  Type element = acc.getElementType();
  bool isNarrowFloat = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  plan.compute = isNarrowFloat ? Type(Float32Type::get(op.getContext())) : element;
  plan.lanes = f.machine.getVectorBytes() / elementBytes(plan.compute);
  while (plan.n % plan.lanes != 0)
    plan.lanes /= 2;
  plan.operand = plan.compute;
  return plan;
}

/// Returns true if an instruction takes elements of a type, or integers that they are widened to.
static bool takesElements(MmaAttr instruction, Type element) {
  if (instruction.getA() != instruction.getB())
    return false;
  return instruction.getA() == element ||
         (element.isInteger(8) && instruction.getA().isInteger(16));
}

/// Returns true if an instruction takes operands with such signs. One of vectors that takes an
/// unsigned and a signed one takes any: see `shiftsB`.
static bool takesSigns(ProductAttr instruction, bool isUnsignedA, bool isUnsignedB) {
  Type element = instruction.getMma().getA();
  if (!element.isInteger(8) || (!instruction.ofMatrices() && instruction.getSigns() == Signs::US))
    return true;
  Signs signs =
      isUnsignedA ? (isUnsignedB ? Signs::UU : Signs::US) : (isUnsignedB ? Signs::SU : Signs::SS);
  return instruction.getSigns() == signs;
}

/// Gives a plan the instruction for its operands' elements; false if they do not fit.
static bool useInstruction(DotPlan &plan, ProductAttr instruction, const SimdFunction &f) {
  DotOperand a = behindExtension(plan.aSource.tile, f.plan);
  DotOperand b = behindExtension(plan.bSource.tile, f.plan);
  MmaAttr mma = instruction.getMma();
  Type element = elementTypeOf(a.tile.getType());
  if (instruction.getIntrinsic().empty() || element != elementTypeOf(b.tile.getType()) ||
      mma.getAccumulator() != plan.compute || !takesElements(mma, element) ||
      !takesSigns(instruction, a.isUnsigned, b.isUnsigned))
    return false;
  plan.instruction = instruction;
  plan.group = instruction.getGroup();
  plan.operand = mma.getA();
  plan.aSource = a;
  plan.bSource = b;
  return plan.k % plan.group == 0;
}

static void cutForVectors(DotPlan &plan, const SimdFunction &f) {
  plan.vectors = (plan.n / plan.lanes) % 2 == 0 ? 2 : 1;
  // Few rows: more columns, so that there are enough sums that do not wait for each other.
  int64_t half = f.machine.getRegisters() / 2;
  while (plan.m * plan.vectors * 2 <= half && plan.vectors < 8 &&
         (plan.n / plan.lanes) % (plan.vectors * 2) == 0)
    plan.vectors *= 2;
  // The tile's accumulators, one row of B and one broadcast element of A fill the registers.
  int64_t limit = (f.machine.getRegisters() - plan.vectors - 1) / plan.vectors;
  plan.rows = chooseRows(plan.m, std::clamp<int64_t>(limit, 1, 14));
}

static int64_t largestDivisor(int64_t extent, int64_t limit) {
  int64_t divisor = std::min(extent, limit);
  while (extent % divisor != 0)
    --divisor;
  return divisor;
}

/// How many of `count` matrices side by side are multiplied at once.
static int64_t chooseMatrices(int64_t count, int64_t limit) {
  int64_t chosen = 1;
  while (2 * chosen <= limit && count % (2 * chosen) == 0)
    chosen *= 2;
  return chosen;
}

/// Edges need no matrices of other shapes: extents are cut into equal parts.
static void cutForMatrices(DotPlan &plan) {
  MmaAttr mma = plan.instruction.getMma();
  plan.lanes = std::min<int64_t>(plan.lanes, mma.getN());
  plan.matrix = {largestDivisor(plan.m, mma.getM()), plan.lanes,
                 largestDivisor(plan.steps(), mma.getK() / plan.group)};
  // Four accumulators, so that none waits for its last product: 2 x 2 where that fits, which needs
  // the fewest loads, else a row or a column of them.
  int64_t down = plan.m / plan.matrix->rows, across = plan.n / plan.lanes;
  plan.vectors = chooseMatrices(across, down > 1 ? 2 : 4);
  plan.rows = std::min(down, 4 / plan.vectors) * plan.matrix->rows;
}

// Of packing, for each register of elements: reads, what interleaves them, and a write.
static constexpr double kPackCycles = 3;

static double registersOf(int64_t numElements, Type element, const SimdFunction &f) {
  return double(numElements * elementBytes(element)) / f.machine.getVectorBytes();
}

/// An estimate of the cycles of a product on this machine.
static double cyclesOf(const DotPlan &plan, const SimdFunction &f, double productsPerCycle) {
  double products = double(plan.m) * plan.n * plan.k, packed = 0;
  if (!plan.canUseBOnce())
    packed += registersOf(plan.n * plan.k, plan.operand, f);
  if (elementTypeOf(plan.aSource.tile.getType()) != plan.operand)
    packed += registersOf(plan.m * plan.k, plan.operand, f);
  double full = double(f.machine.getVectorBytes()) / elementBytes(plan.compute) / plan.lanes;
  if (plan.matrix) {
    // A matrix takes the time of a full one, whatever it holds.
    MmaAttr mma = plan.instruction.getMma();
    full = double(mma.getM()) * mma.getN() * (mma.getK() / plan.group) /
           double(plan.matrix->rows * plan.matrix->lanes * plan.matrix->groups);
  }
  return products * full / productsPerCycle + packed * kPackCycles;
}

DotPlan tw::simd::planDot(DotOp op, const SimdFunction &f) {
  const DotPlan uncut = describeDot(op, f);
  DotPlan best = uncut;
  cutForVectors(best, f);
  double rate = f.machine.getVectorBytes() / elementBytes(best.compute), fewest = 0;
  for (ProductAttr row : f.machine.getProducts())
    if (row.getIntrinsic().empty())
      rate = double(row.getPerCycle()) * elementBytes(row.getMma().getAccumulator()) /
             elementBytes(best.compute);
  fewest = cyclesOf(best, f, rate);
  for (ProductAttr row : f.machine.getProducts()) {
    DotPlan plan = uncut;
    if (!useInstruction(plan, row, f))
      continue;
    row.ofMatrices() ? cutForMatrices(plan) : cutForVectors(plan, f);
    bool fits = row.ofMatrices() ? !f.matrices || *f.matrices == *plan.matrix
                                 : plan.lanes == row.getMma().getN();
    double cycles = cyclesOf(plan, f, row.getPerCycle());
    if (!fits || cycles >= fewest)
      continue;
    fewest = cycles;
    best = plan;
  }
  return best;
}

//===-- Operands ------------------------------------------------------------------------------===//

/// A is read once for each panel of B: beyond so many, rows of a copy that lie side by side win.
static constexpr int64_t kMostPanelsInPlace = 8;

/// Returns the load of an operand that memory holds row by row at equal distances, as far as can be
/// told without its mask; null if there is none.
static LoadOp rowsInMemory(SimdFunction &f, const DotPlan &plan, const DotOperand &source,
                           size_t numBatch) {
  auto load = source.tile.getDefiningOp<LoadOp>();
  if (!load || f.plan.isKept(load.getResult()) || isFetchedAgain(load) ||
      elementTypeOf(load.getType()) != plan.operand)
    return {};
  AxisChange rows = f.facts.along(load.getPtr(), numBatch);
  bool isEqual = rows.kind == AxisChange::Constant || rows.kind == AxisChange::Affine;
  return isEqual && f.facts.along(load.getPtr(), numBatch + 1).isUnit() ? load : LoadOp();
}

static bool isInBuffer(const SimdFunction &f, const DotPlan &plan, Value tile, size_t numBatch) {
  auto home = f.buffers.find(tile);
  return numBatch == 0 && home != f.buffers.end() && home->second.element == plan.operand;
}

static OperandPlace placeOfA(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  if (isInBuffer(f, plan, plan.aSource.tile, numBatch))
    return {OperandPlace::Kind::Buffer, {}};
  if (plan.lanesAlongM == 0 && plan.n / plan.panel() <= kMostPanelsInPlace)
    if (LoadOp load = rowsInMemory(f, plan, plan.aSource, numBatch))
      return {OperandPlace::Kind::Memory, load};
  return {};
}

static OperandPlace placeOfB(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  if (plan.canUseBOnce() && !plan.packsAlongK)
    return {OperandPlace::Kind::Once, {}};
  // From the first row to the last at most half of the nearest cache: rows that lie farther apart
  // may all compete for the same cache sets.
  int64_t bytes = plan.k * plan.n * elementBytes(plan.operand);
  if (plan.matrix || plan.group > 1 || bytes > f.machine.getCacheBytes() / 2)
    return {};
  if (isInBuffer(f, plan, plan.bSource.tile, numBatch))
    return {OperandPlace::Kind::Buffer, {}};
  if (LoadOp load = rowsInMemory(f, plan, plan.bSource, numBatch))
    return {OperandPlace::Kind::Memory, load};
  return {};
}

/// See DotPlan::lanesAlongM: where A lies along m, and an instruction takes groups along k, a copy
/// step by step needs no more than to interleave the rows of a group, while one row by row would be
/// transposed element by element.
static int64_t lanesAlongM(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  Value tile = plan.aSource.tile;
  if (plan.group == 1 || plan.matrix ||
      f.chooseVector({tile}, shapeOf(tile.getType())).first != int(numBatch))
    return 0;
  int64_t lanes = f.machine.getVectorBytes() / elementBytes(plan.operand);
  lanes = std::min<int64_t>(lanes, plan.m & -plan.m);
  return lanes > 1 ? lanes : 0;
}

static bool isContiguousAlongK(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  Value tile = plan.bSource.tile;
  auto [vectorDim, lanes] = f.chooseVector({tile}, shapeOf(tile.getType()));
  return vectorDim == int(numBatch) && plan.lanes > 1 && plan.k % (plan.group * plan.lanes) == 0;
}

void tw::simd::placeOperands(DotPlan &plan, SimdFunction &f, size_t numBatch) {
  plan.packsAlongK = isContiguousAlongK(f, plan, numBatch);
  plan.lanesAlongM = lanesAlongM(f, plan, numBatch);
  plan.aPlace = placeOfA(f, plan, numBatch);
  plan.bPlace = placeOfB(f, plan, numBatch);
}
