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

/// The instruction for the operands' elements, if the machine has one and the shape fits it.
static void chooseInstruction(DotPlan &plan, const SimdFunction &f) {
  DotOperand a = behindExtension(plan.aSource.tile, f.plan);
  DotOperand b = behindExtension(plan.bSource.tile, f.plan);
  Type element = elementTypeOf(a.tile.getType());
  if (element != elementTypeOf(b.tile.getType()) ||
      plan.lanes * 4 != int64_t(f.machine.vectorBytes))
    return;
  bool isFloat = element.isBF16() && plan.compute.isF32();
  bool isByte = element.isInteger(8) && plan.compute.isInteger(32);
  StringRef name = isFloat ? "bf16" : isByte ? "i8" : "";
  for (const DotInstruction &instruction : f.machine.dotInstructions) {
    int64_t group = 32 / element.getIntOrFloatBitWidth();
    if (instruction.element != name || plan.k % group != 0)
      continue;
    plan.instruction = &instruction;
    plan.group = group;
    plan.operand = element;
    plan.aSource = a;
    plan.bSource = b;
  }
}

DotPlan tw::simd::planDot(DotOp op, const SimdFunction &f) {
  RankedTensorType a = op.getA().getType(), acc = op.getAcc().getType();
  int64_t rank = acc.getRank();
  DotPlan plan;
  plan.aSource.tile = op.getA();
  plan.bSource.tile = op.getB();
  plan.m = acc.getDimSize(rank - 2);
  plan.n = acc.getDimSize(rank - 1);
  plan.k = a.getDimSize(rank - 1);
  Type element = acc.getElementType();
  bool isNarrowFloat = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  plan.compute = isNarrowFloat ? Type(Float32Type::get(op.getContext())) : element;
  plan.lanes = f.machine.vectorBytes / elementBytes(plan.compute);
  while (plan.n % plan.lanes != 0)
    plan.lanes /= 2;
  plan.operand = plan.compute;
  chooseInstruction(plan, f);
  plan.vectors = (plan.n / plan.lanes) % 2 == 0 ? 2 : 1;
  // Few rows: more columns, so that there are enough sums that do not wait for each other.
  int64_t half = f.machine.numRegisters / 2;
  while (plan.m * plan.vectors * 2 <= half && plan.vectors < 8 &&
         (plan.n / plan.lanes) % (plan.vectors * 2) == 0)
    plan.vectors *= 2;
  // The tile's accumulators, one row of B and one broadcast element of A fill the registers.
  int64_t limit = (f.machine.numRegisters - plan.vectors - 1) / plan.vectors;
  plan.rows = chooseRows(plan.m, std::clamp<int64_t>(limit, 1, 14));
  return plan;
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
    return LLVM::CallIntrinsicOp::create(f.builder, f.loc, acc.getType(), name,
                                         ValueRange{acc, a, b})
        .getResult(0);
  }
  if (isa<FloatType>(plan.compute))
    return math::FmaOp::create(f.builder, f.loc, a, b, acc);
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
