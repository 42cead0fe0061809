// Emits what both operands of a product need: their values, where memory holds them, and how much
// of them is needed.
#include "passes/simd/product/Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

//===-- Values --------------------------------------------------------------------------------===//

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
    StringAttr name = f.builder.getStringAttr(plan.instruction.getIntrinsic());
    if (plan.isBFirst())
      std::swap(a, b);
    auto call = [&](ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(f.builder, f.loc, acc.getType(), name, operands)
          .getResult(0);
    };
    if (plan.instruction.getSums() == Sums::Zero)
      return arith::AddIOp::create(f.builder, f.loc, acc, call({a, b}));
    return call({acc, a, b});
  }
  if (isa<FloatType>(plan.compute) && hasFeature(f.machine, Feature::FMA))
    return math::FmaOp::create(f.builder, f.loc, a, b, acc);
  if (isa<FloatType>(plan.compute)) {
    Value product = arith::MulFOp::create(f.builder, f.loc, a, b);
    return arith::AddFOp::create(f.builder, f.loc, acc, product);
  }
  Value product = arith::MulIOp::create(f.builder, f.loc, a, b);
  return arith::AddIOp::create(f.builder, f.loc, acc, product);
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

Value tw::simd::convertOperand(SimdFunction &f, const DotPlan &plan, const DotOperand &source,
                               Value value) {
  Type element = elementTypeOf(source.tile.getType());
  value = f.asElement(value, element);
  if (!source.isUnsigned || element == plan.operand)
    return convertDotElements(f, value, plan.operand);
  Type type = plan.operand;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return arith::ExtUIOp::create(f.builder, f.loc, type, value);
}

Value tw::simd::interleave(SimdFunction &f, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> even, odd;
  for (auto [i, vector] : llvm::enumerate(vectors))
    (i < vectors.size() / 2 ? even : odd).push_back(vector);
  Value first = interleave(f, even), second = interleave(f, odd);
  int64_t size = cast<VectorType>(first.getType()).getNumElements();
  int64_t run = even.size();
  SmallVector<int64_t> order;
  for (int64_t begin = 0; begin < size; begin += run)
    for (int64_t source : {begin, size + begin})
      for (int64_t i = 0; i < run; ++i)
        order.push_back(source + i);
  return vector::ShuffleOp::create(f.builder, f.loc, first, second, order);
}

//===-- Operands in memory --------------------------------------------------------------------===//

static Value asInteger(SimdFunction &f, Value pointer) {
  return LLVM::PtrToIntOp::create(f.builder, f.loc, f.builder.getI64Type(), pointer);
}

std::pair<Value, Value> tw::simd::rowsOf(SimdFunction &f, LoadOp load, ArrayRef<Value> batch) {
  Value zero = f.constantIndex(0);
  Coordinates first = matrixAt(batch, zero, zero);
  Value base = f.evaluate(load.getPtr(), first);
  if (shapeOf(load.getType())[batch.size()] == 1)
    return std::pair(base, zero);
  Value second = f.evaluate(load.getPtr(), matrixAt(batch, f.constantIndex(1), zero));
  Value distance =
      arith::SubIOp::create(f.builder, f.loc, asInteger(f, second), asInteger(f, base));
  return std::pair(base, distance);
}

std::optional<std::pair<Value, Value>> tw::simd::readInPlace(SimdFunction &f, LoadOp load,
                                                             ArrayRef<Value> batch) {
  if (load.getMask() && !isFullMask(f, load.getMask()))
    return std::nullopt;
  return rowsOf(f, load, batch);
}

//===-- What is needed of a product -----------------------------------------------------------===//

/// The load of an operand that masks fill up with zeros; none where it is something else.
static LoadOp zeroFilledLoad(SimdFunction &f, const DotOperand &source) {
  auto load = source.tile.getDefiningOp<LoadOp>();
  if (!load || f.plan.isKept(load.getResult()) || isFetchedAgain(load))
    return {};
  Value other = load.getOther();
  bool isZero = !other || matchPattern(other, m_Zero()) || matchPattern(other, m_PosZeroFloat());
  return isZero ? load : LoadOp();
}

/// Where the mask of an operand ends, if it decides about nothing but rows and columns.
static MaskEnds endsOfOperand(SimdFunction &f, const DotOperand &source, size_t numBatch) {
  LoadOp load = zeroFilledLoad(f, source);
  if (!load || !load.getMask())
    return {{}, false};
  MaskEnds ends = emitMaskEnds(f, load.getMask(), shapeOf(load.getType()));
  for (size_t dim = 0; dim < numBatch; ++dim)
    ends.areAll &= !ends.along[dim].holds;
  return ends;
}

/// Whole blocks of `size` up to `end`; `most` where that is null.
static Value blocksUpTo(SimdFunction &f, Value end, int64_t size, int64_t most) {
  if (!end)
    return f.constantIndex(most);
  Value filled = f.addIndex(end, size - 1);
  Value blocks = f.builder.createOrFold<arith::DivUIOp>(f.loc, filled, f.constantIndex(size));
  return f.builder.createOrFold<arith::MinSIOp>(f.loc, blocks, f.constantIndex(most));
}

Value tw::simd::holdsFor(SimdFunction &f, const MaskEnd &end, Value count) {
  if (!end.holds)
    return {};
  return f.builder.createOrFold<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sge, end.holds, count);
}

Value tw::simd::both(SimdFunction &f, Value x, Value y) {
  return x && y ? f.builder.createOrFold<arith::AndIOp>(f.loc, x, y) : x ? x : y;
}

DotExtent tw::simd::emitExtent(SimdFunction &f, const DotPlan &plan, size_t numBatch,
                               StoreOp store) {
  MaskEnd rows, columns, ofA, ofB;
  DotExtent needed;
  // Sums over A's rows read all of them.
  const bool isFixed =
      plan.matrix || plan.bPlace.kind == OperandPlace::Kind::Once || plan.shiftsB();
  if (store && !isFixed) {
    MaskEnds ends = emitMaskEnds(f, store.getMask(), shapeOf(store.getValue().getType()));
    rows = ends.along[numBatch];
    columns = ends.along[numBatch + 1];
  }
  needed.a.areAll = needed.b.areAll = false;
  if (!isFixed) {
    needed.a = endsOfOperand(f, plan.aSource, numBatch);
    needed.b = endsOfOperand(f, plan.bSource, numBatch);
  }
  if (!needed.a.along.empty() && !needed.b.along.empty()) {
    ofA = needed.a.along[numBatch + 1];
    ofB = needed.b.along[numBatch];
  }
  Value blocks = blocksUpTo(f, rows.ends, plan.rows, llvm::divideCeil(plan.m, plan.rows));
  needed.rows = f.builder.createOrFold<arith::MinSIOp>(f.loc, f.scaleIndex(blocks, plan.rows),
                                                       f.constantIndex(plan.m));
  needed.panels = blocksUpTo(f, columns.ends, plan.panel(), plan.n / plan.panel());
  needed.steps = f.constantIndex(plan.steps());
  if (!ofA.ends || !ofB.ends)
    return needed;
  // Behind the end of one operand the other's elements may be infinite: zero times that is NaN.
  Value last = f.builder.createOrFold<arith::MaxSIOp>(f.loc, ofA.ends, ofB.ends);
  needed.steps = blocksUpTo(f, last, plan.group, plan.steps());
  return needed;
}
