// Cuts matrix products into register tiles and chooses the instruction for them.
#include "passes/simd/DotPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
  plan.lanes = f.machine.vectorBytes / elementBytes(plan.compute);
  while (plan.n % plan.lanes != 0)
    plan.lanes /= 2;
  plan.operand = plan.compute;
  return plan;
}

static StringRef instructionElement(Type element, Type compute) {
  if (element.isInteger(8) && compute.isInteger(32))
    return "i8";
  if (!compute.isF32())
    return "";
  return element.isBF16() ? "bf16" : element.isF16() ? "f16" : "";
}

/// Gives a plan the instruction for its operands' elements; false if they do not fit.
static bool useInstruction(DotPlan &plan, const DotInstruction &instruction,
                           const SimdFunction &f) {
  DotOperand a = behindExtension(plan.aSource.tile, f.plan);
  DotOperand b = behindExtension(plan.bSource.tile, f.plan);
  Type element = elementTypeOf(a.tile.getType());
  if (element != elementTypeOf(b.tile.getType()) ||
      instructionElement(element, plan.compute) != instruction.element)
    return false;
  plan.instruction = &instruction;
  if (instruction.form == DotInstruction::Form::Pairs)
    element = IntegerType::get(element.getContext(), 16);
  plan.group = 32 / element.getIntOrFloatBitWidth();
  plan.operand = element;
  plan.aSource = a;
  plan.bSource = b;
  return plan.k % plan.group == 0;
}

static void cutForVectors(DotPlan &plan, const SimdFunction &f) {
  plan.vectors = (plan.n / plan.lanes) % 2 == 0 ? 2 : 1;
  // Few rows: more columns, so that there are enough sums that do not wait for each other.
  int64_t half = f.machine.numRegisters / 2;
  while (plan.m * plan.vectors * 2 <= half && plan.vectors < 8 &&
         (plan.n / plan.lanes) % (plan.vectors * 2) == 0)
    plan.vectors *= 2;
  // The tile's accumulators, one row of B and one broadcast element of A fill the registers.
  int64_t limit = (f.machine.numRegisters - plan.vectors - 1) / plan.vectors;
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
static void cutForMatrices(DotPlan &plan, const SimdFunction &f) {
  const MatrixUnit &unit = f.machine.matrixUnit;
  plan.matrix = {largestDivisor(plan.m, unit.extent), plan.lanes,
                 largestDivisor(plan.steps(), unit.extent)};
  // Four accumulators, so that none waits for its last product: 2 x 2 where that fits, which needs
  // the fewest loads, else a row or a column of them.
  int64_t down = plan.m / plan.matrix->rows, across = plan.n / plan.lanes;
  plan.vectors = chooseMatrices(across, down > 1 ? 2 : 4);
  plan.rows = std::min(down, 4 / plan.vectors) * plan.matrix->rows;
}

// Of packing, for each register of elements: reads, what interleaves them, and a write.
static constexpr double kPackCycles = 3;

static double registersOf(int64_t numElements, Type element, const SimdFunction &f) {
  return double(numElements * elementBytes(element)) / f.machine.vectorBytes;
}

/// An estimate of the cycles of a product on this machine.
static double cyclesOf(const DotPlan &plan, const SimdFunction &f, double productsPerCycle) {
  double products = double(plan.m) * plan.n * plan.k, packed = 0;
  if (!plan.canUseBOnce())
    packed += registersOf(plan.n * plan.k, plan.operand, f);
  if (elementTypeOf(plan.aSource.tile.getType()) != plan.operand)
    packed += registersOf(plan.m * plan.k, plan.operand, f);
  double full = double(f.machine.vectorBytes) / elementBytes(plan.compute) / plan.lanes;
  if (plan.matrix) {
    // A matrix takes the time of a full one, whatever it holds.
    double extent = f.machine.matrixUnit.extent;
    full = extent * extent * extent /
           double(plan.matrix->rows * plan.matrix->lanes * plan.matrix->groups);
  }
  return products * full / productsPerCycle + packed * kPackCycles;
}

DotPlan tw::simd::planDot(DotOp op, const SimdFunction &f) {
  const DotPlan uncut = describeDot(op, f);
  DotPlan best = uncut;
  cutForVectors(best, f);
  double rate = f.machine.vectorBytes / elementBytes(best.compute), fewest = 0;
  for (const DotInstruction &row : f.machine.dotInstructions)
    if (row.element == "f32")
      rate = row.productsPerCycle * elementBytes(Float32Type::get(op.getContext())) /
             elementBytes(best.compute);
  fewest = cyclesOf(best, f, rate);
  for (const DotInstruction &row : f.machine.dotInstructions) {
    DotPlan plan = uncut;
    if (!useInstruction(plan, row, f))
      continue;
    row.ofMatrices() ? cutForMatrices(plan, f) : cutForVectors(plan, f);
    bool fits = row.ofMatrices() ? !f.matrices || *f.matrices == *plan.matrix
                                 : plan.lanes * 4 == int64_t(f.machine.vectorBytes);
    double cycles = cyclesOf(plan, f, row.productsPerCycle);
    if (!fits || cycles >= fewest)
      continue;
    fewest = cycles;
    best = plan;
  }
  return best;
}

Value tw::simd::convertDotElements(SimdFunction &f, Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), element);
  bool isWider = element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  if (isa<FloatType>(element)) {
    if (!isWider && from.getIntOrFloatBitWidth() == element.getIntOrFloatBitWidth()) {
      auto wide = VectorType::get(cast<VectorType>(type).getShape(), f.builder.getF32Type());
      return convertDotElements(f, arith::ExtFOp::create(f.builder, f.loc, wide, value), element);
    }
    return isWider ? Value(arith::ExtFOp::create(f.builder, f.loc, type, value))
                   : Value(arith::TruncFOp::create(f.builder, f.loc, type, value));
  }
  return isWider ? Value(arith::ExtSIOp::create(f.builder, f.loc, type, value))
                 : Value(arith::TruncIOp::create(f.builder, f.loc, type, value));
}

Value tw::simd::multiplyAdd(SimdFunction &f, const DotPlan &plan, Value a, Value b, Value acc) {
  if (plan.instruction) {
    StringAttr name = f.builder.getStringAttr(plan.instruction->intrinsic);
    if (plan.isBFirst())
      std::swap(a, b);
    auto call = [&](ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(f.builder, f.loc, acc.getType(), name, operands)
          .getResult(0);
    };
    if (plan.instruction->form == DotInstruction::Form::Pairs)
      return arith::AddIOp::create(f.builder, f.loc, acc, call({a, b}));
    return call({acc, a, b});
  }
  if (isa<FloatType>(plan.compute) && f.machine.hasFma)
    return math::FmaOp::create(f.builder, f.loc, a, b, acc);
  if (isa<FloatType>(plan.compute)) {
    Value product = arith::MulFOp::create(f.builder, f.loc, a, b);
    return arith::AddFOp::create(f.builder, f.loc, acc, product);
  }
  Value product = arith::MulIOp::create(f.builder, f.loc, a, b);
  return arith::AddIOp::create(f.builder, f.loc, acc, product);
}

Value tw::simd::addIndex(SimdFunction &f, Value index, int64_t offset) {
  return f.builder.createOrFold<arith::AddIOp>(f.loc, index, f.constantIndex(offset));
}

Value tw::simd::scaleIndex(SimdFunction &f, Value index, int64_t factor) {
  return f.builder.createOrFold<arith::MulIOp>(f.loc, index, f.constantIndex(factor));
}

Coordinates tw::simd::matrixAt(ArrayRef<Value> batch, Value row, Value column, int vectorDim,
                               int64_t lanes) {
  Coordinates at;
  at.index.assign(batch.begin(), batch.end());
  at.index.append({row, column});
  at.vectorDim = vectorDim < 0 ? -1 : int(batch.size()) + vectorDim;
  at.lanes = lanes;
  return at;
}
