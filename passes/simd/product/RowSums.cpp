// Sums of A's rows, which undo the shift of B.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/Operands.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// Neighbouring groups of A in memory; zeros behind the `count` that there are.
static Value loadGroups(SimdFunction &f, const DotPlan &plan, Value address, int64_t count) {
  auto type = VectorType::get({plan.lanes * plan.group}, plan.operand);
  unsigned alignment = elementBytes(plan.operand);
  if (count >= plan.lanes)
    return LLVM::LoadOp::create(f.builder, f.loc, type, address, alignment);
  SmallVector<bool> exists(type.getNumElements(), false);
  std::fill_n(exists.begin(), count * plan.group, true);
  auto maskType = VectorType::get(type.getShape(), f.builder.getI1Type());
  Value mask =
      arith::ConstantOp::create(f.builder, f.loc, DenseElementsAttr::get(maskType, exists));
  Value zeros = f.splat(f.constantOf(plan.operand, 0), type.getNumElements());
  return LLVM::MaskedLoadOp::create(f.builder, f.loc, type, address, mask, zeros, alignment);
}

namespace {
struct RowSums {
  SimdFunction &f;
  const DotPlan &plan;
  const DotRows &a;
  TileBuffer sums;

  /// Adds the elements of neighbouring groups to their lanes.
  Value add(Value row, Value step, int64_t count, Value sum) {
    Type i8 = f.builder.getI8Type();
    Value offset = f.builder.createOrFold<arith::AddIOp>(
        f.loc, f.builder.createOrFold<arith::MulIOp>(f.loc, row, a.rowBytes),
        f.scaleIndex(step, a.stepBytes));
    Value address = LLVM::GEPOp::create(f.builder, f.loc, a.base.getType(), i8, a.base, offset);
    Value ones = f.splat(f.constantOf(plan.operand, 1), plan.lanes * plan.group);
    return multiplyAdd(f, plan, loadGroups(f, plan, address, count), ones, sum);
  }

  /// A signed B was made larger by 128, an unsigned one smaller.
  void store(Value row, Value sum) {
    Value factor = f.constantOf(plan.compute, plan.bSource.isUnsigned ? 128 : -128);
    auto type = dyn_cast<VectorType>(sum.getType());
    if (type)
      factor = f.splat(factor, type.getNumElements());
    Coordinates at;
    at.index = {row};
    at.vectorDim = type ? 0 : -1;
    at.lanes = type ? type.getNumElements() : 1;
    f.storeBuffer(sums, at, arith::MulIOp::create(f.builder, f.loc, sum, factor));
  }

  /// Sums up a row whose groups are neighbours.
  void sumAlongK(Value row) {
    Value zeros = f.splat(f.constantOf(plan.compute, 0), plan.lanes);
    int64_t whole = plan.steps() / plan.lanes * plan.lanes;
    Value sum = f.emitLoop(0, whole, plan.lanes, {zeros}, [&](Value step, ValueRange old) {
      Scope scope(f);
      return SmallVector<Value>{add(row, step, plan.lanes, old[0])};
    })[0];
    if (whole < plan.steps())
      sum = add(row, f.constantIndex(whole), plan.steps() - whole, sum);
    store(row, vector::ReductionOp::create(f.builder, f.loc, vector::CombiningKind::ADD, sum));
  }

  /// Sums up `count` rows whose groups are neighbours at each step.
  void sumAlongM(Value row, int64_t count) {
    Value zeros = f.splat(f.constantOf(plan.compute, 0), plan.lanes);
    store(row, f.emitLoop(0, plan.steps(), 1, {zeros}, [&](Value step, ValueRange old) {
      Scope scope(f);
      return SmallVector<Value>{add(row, step, count, old[0])};
    })[0]);
  }
};
} // namespace

TileBuffer tw::simd::sumRows(SimdFunction &f, const DotPlan &plan, const DotRows &a) {
  bool isAlongK = a.stepBytes == plan.group * elementBytes(plan.operand);
  int64_t atOnce = isAlongK ? 1 : plan.lanes, whole = plan.m / atOnce * atOnce;
  RowSums rows = {f, plan, a, f.allocate({int64_t(llvm::alignTo(plan.m, atOnce))}, plan.compute)};
  f.emitLoop(0, whole, atOnce, {}, [&](Value row, ValueRange) {
    Scope scope(f);
    isAlongK ? rows.sumAlongK(row) : rows.sumAlongM(row, plan.lanes);
    return SmallVector<Value>();
  });
  if (whole < plan.m)
    rows.sumAlongM(f.constantIndex(whole), plan.m - whole);
  return rows.sums;
}
