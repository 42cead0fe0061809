// Computes the elements of tile values at coordinates: the deferred trees become scalar and vector
// code.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/math/ExpandArith.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

Type SimdFunction::lowered(Type type) {
  if (isa<PtrType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  return isFloat8(type) ? builder.getI8Type() : type;
}

/// A value with elements of the same bits and another type.
static Value bitcastElements(SimdFunction &f, Value value, Type element) {
  Type type = withElement(value.getType(), element);
  return type == value.getType() ? value : arith::BitcastOp::create(f.builder, f.loc, type, value);
}

Value SimdFunction::asElement(Value value, Type element) {
  return isFloat8(element) ? bitcastElements(*this, value, element) : value;
}

Value SimdFunction::asLowered(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return isFloat8(element) ? bitcastElements(*this, value, lowered(element)) : value;
}

Value SimdFunction::constantIndex(int64_t value) { return constantOf(builder.getI64Type(), value); }

Value SimdFunction::addIndex(Value index, int64_t offset) {
  return builder.createOrFold<arith::AddIOp>(loc, index, constantIndex(offset));
}

Value SimdFunction::scaleIndex(Value index, int64_t factor) {
  return builder.createOrFold<arith::MulIOp>(loc, index, constantIndex(factor));
}

Value SimdFunction::constantOf(Type type, int64_t value) {
  TypedAttr attribute = isa<FloatType>(type) ? TypedAttr(builder.getFloatAttr(type, double(value)))
                                             : TypedAttr(builder.getIntegerAttr(type, value));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value SimdFunction::splat(Value scalar, int64_t lanes) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, scalar.getType()),
                                     scalar);
}

Value SimdFunction::iota(Type element, int64_t lanes) {
  SmallVector<APInt> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.emplace_back(element.getIntOrFloatBitWidth(), lane, false, true);
  auto type = VectorType::get({lanes}, element);
  return arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, values));
}

Value SimdFunction::scalarOf(Value value) {
  auto found = scalars.find(value);
  assert(found != scalars.end() && "scalars are lowered before their uses");
  return found->second;
}

MemoKey tw::simd::memoKey(Value tile, const Coordinates &at) {
  MemoKey key = {tile.getAsOpaquePointer(), at.vectorDim, at.lanes, {}};
  for (Value index : at.index) {
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant)))
      key.index.push_back({constant.getSExtValue(), nullptr});
    else
      key.index.push_back({std::nullopt, index.getAsOpaquePointer()});
  }
  return key;
}

Value SimdFunction::evaluate(Value tile, const Coordinates &at) {
  if (!isa<RankedTensorType>(tile.getType()))
    return scalarOf(tile);
  if (assumedTrue.contains(tile))
    return constantOf(builder.getI1Type(), 1);
  if (at.vectorDim >= 0 && facts.along(tile, at.vectorDim).isInvariant())
    return evaluateUniform(tile, at);
  MemoKey key = memoKey(tile, at);
  auto found = memo.find(key);
  if (found != memo.end())
    return found->second;
  auto kept = buffers.find(tile);
  Value value = kept != buffers.end() ? loadBuffer(kept->second, at)
                                      : evaluateOperation(cast<OpResult>(tile), at);
  memo[key] = value;
  return value;
}

Value SimdFunction::evaluateVector(Value tile, const Coordinates &at) {
  Value value = evaluate(tile, at);
  return at.vectorDim < 0 ? value : splat(value, at.lanes);
}

/// Moves coordinates in front of `loop`; false when one of them is only known inside it.
static bool hoistCoordinates(SimdFunction &f, Operation *loop, Coordinates &at) {
  for (Value &index : at.index) {
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant)))
      index = f.constantIndex(constant.getSExtValue());
    else if (loop->isAncestor(index.getParentBlock()->getParentOp()))
      return false;
  }
  return true;
}

Value SimdFunction::evaluateUniform(Value tile, const Coordinates &at) {
  Coordinates scalarAt = at;
  scalarAt.vectorDim = -1;
  scalarAt.lanes = 1;
  Operation *loop = levels.empty() ? nullptr : levels.back().loop;
  scalarAt.index[at.vectorDim] = constantIndex(0);
  Coordinates hoistedAt = scalarAt;
  OpBuilder::InsertPoint inside = builder.saveInsertionPoint();
  if (loop)
    builder.setInsertionPoint(loop);
  bool isHoisted = loop && hoistCoordinates(*this, loop, hoistedAt);
  if (!isHoisted) {
    builder.restoreInsertionPoint(inside);
    return evaluate(tile, scalarAt);
  }
  std::swap(memo, levels.back().uniform);
  Value known = std::exchange(someTaken, Value()); // by a branch in the loop
  Value value = evaluate(tile, hoistedAt);
  someTaken = known;
  std::swap(memo, levels.back().uniform);
  builder.restoreInsertionPoint(inside);
  return value;
}

Value SimdFunction::cloneElementwise(Operation *op, ArrayRef<Value> operands) {
  int64_t lanes = 0;
  for (Value operand : operands)
    if (auto type = dyn_cast<VectorType>(operand.getType()))
      lanes = type.getDimSize(0);
  Operation *clone = op->clone();
  for (auto [position, operand] : llvm::enumerate(operands)) {
    Value value = asElement(operand, elementTypeOf(op->getOperand(position).getType()));
    clone->setOperand(position, lanes ? splat(value, lanes) : value);
  }
  for (Value result : clone->getResults()) {
    Type element = elementTypeOf(result.getType());
    element = isFloat8(element) ? element : lowered(element);
    result.setType(lanes ? VectorType::get({lanes}, element) : element);
  }
  // Tile constants carry tensor attributes; a scalar or vector one is made where it is evaluated.
  SmallVector<Value> folded;
  if (succeeded(builder.tryFold(clone, folded)) && folded.size() == 1) {
    clone->erase();
    return asLowered(folded.front());
  }
  builder.insert(clone);
  return asLowered(clone->getResult(0));
}

/// Where the source of a shape operation has the elements of the result at `at`.
static Coordinates sourceCoordinates(SimdFunction &f, Value source, ArrayRef<int> dims,
                                     const Coordinates &at) {
  Coordinates sourceAt = at;
  sourceAt.index.assign(shapeOf(source.getType()).size(), f.constantIndex(0));
  sourceAt.vectorDim = -1;
  for (auto [dim, sourceDim] : llvm::enumerate(dims)) {
    if (sourceDim < 0)
      continue;
    sourceAt.index[sourceDim] = at.index[dim];
    if (int(dim) == at.vectorDim)
      sourceAt.vectorDim = sourceDim;
  }
  return sourceAt;
}

static Value evaluateShape(SimdFunction &f, ShapeOp op, const Coordinates &at) {
  Value source = op->getOperand(0);
  if (!isTile(source))
    return f.scalarOf(source);
  if (std::optional<SmallVector<int>> dims = op.getSourceDims())
    return f.evaluate(source, sourceCoordinates(f, source, *dims, at));
  // The source is kept in row-major order, which is the order of the result.
  TileBuffer view = f.buffers.lookup(source);
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0).getType());
  view.shape.assign(shape.begin(), shape.end());
  return f.loadBuffer(view, at);
}

static Value evaluateSplit(SimdFunction &f, OpResult result, const Coordinates &at) {
  auto op = cast<SplitOp>(result.getOwner());
  Coordinates sourceAt = at;
  sourceAt.index.push_back(f.constantIndex(result.getResultNumber()));
  return f.loadBuffer(f.buffers.lookup(op.getSource()), sourceAt);
}

static Value evaluateArange(SimdFunction &f, ArangeOp op, const Coordinates &at) {
  Type i32 = f.builder.getI32Type();
  Value position = f.builder.createOrFold<arith::TruncIOp>(f.loc, i32, at.index[0]);
  Value first = f.builder.createOrFold<arith::AddIOp>(f.loc, position,
                                                      f.constantOf(i32, int32_t(op.getStart())));
  if (at.vectorDim < 0)
    return first;
  return f.builder.createOrFold<arith::AddIOp>(f.loc, f.splat(first, at.lanes),
                                               f.iota(i32, at.lanes));
}

/// Elements of a kept tile at positions that are themselves values: one lane at a time.
static Value evaluateGather(SimdFunction &f, GatherOp op, const Coordinates &at) {
  const TileBuffer &buffer = f.buffers.find(op.getSource())->second;
  int64_t extent = shapeOf(op.getSource().getType())[op.getAxis()];
  bool isWithin = f.facts.isWithin(op.getIndices(), extent);
  Value positions = f.evaluateVector(op.getIndices(), at);
  auto loadOne = [&](Value position, int64_t lane) {
    Coordinates one = at;
    one.vectorDim = -1;
    one.lanes = 1;
    if (at.vectorDim >= 0)
      one.index[at.vectorDim] = f.builder.createOrFold<arith::AddIOp>(f.loc, at.index[at.vectorDim],
                                                                      f.constantIndex(lane));
    Type i64 = f.builder.getI64Type();
    Value place = position.getType() == i64
                      ? position
                      : arith::ExtSIOp::create(f.builder, f.loc, i64, position);
    // What is outside takes the last element, so that no index reads foreign memory.
    if (!isWithin)
      place = arith::MinUIOp::create(f.builder, f.loc, place, f.constantOf(i64, extent - 1));
    one.index[op.getAxis()] = place;
    return f.loadBuffer(buffer, one);
  };
  if (at.vectorDim < 0)
    return loadOne(positions, 0);
  Type element = f.lowered(elementTypeOf(op.getType()));
  Value result = LLVM::PoisonOp::create(f.builder, f.loc, VectorType::get({at.lanes}, element));
  for (int64_t lane = 0; lane < at.lanes; ++lane) {
    Value position = vector::ExtractOp::create(f.builder, f.loc, positions, lane);
    result = vector::InsertOp::create(f.builder, f.loc, loadOne(position, lane), result, lane);
  }
  return result;
}

static Value evaluateAddPtr(SimdFunction &f, AddPtrOp op, const Coordinates &at) {
  Value pointer = f.evaluate(op.getPtr(), at), offset = f.evaluate(op.getOffset(), at);
  Type pointee = cast<PtrType>(elementTypeOf(op.getType())).getPointee();
  unsigned bytes = elementBytes(pointee);
  Type unit = pointee.isInteger(1) ? f.builder.getI8Type() : f.lowered(pointee);
  assert(bytes > 0);
  Type type = pointer.getType();
  auto lanes = dyn_cast<VectorType>(offset.getType());
  if (lanes && !isa<VectorType>(type))
    type = VectorType::get(lanes.getShape(), type);
  return LLVM::GEPOp::create(f.builder, f.loc, type, unit, pointer, ValueRange{offset});
}

template <typename Cast> static Value castAddress(SimdFunction &f, Value value, Type type) {
  if (auto lanes = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(lanes.getShape(), type);
  return Cast::create(f.builder, f.loc, type, value);
}

//===-- Sides of a selection that few lanes take ----------------------------------------------===//

// From this cost on it pays to look whether any lane takes a side: a branch that is foreseen wrong
// costs some 15 cycles.
static constexpr int64_t kBranchedCost = 48;

namespace {
/// The operations computed for one side of a selection alone, and the values that they take from
/// elsewhere.
struct SelectedSide {
  SelectedSide(arith::SelectOp select, unsigned side, const TilePlan &plan);
  bool isDear() const { return cost >= kBranchedCost; }

  int64_t cost = 0;
  SmallVector<Value> leaves;

private:
  llvm::SmallMapVector<Operation *, int64_t, 16> usesLeft; // of operations that are not in it yet
};
} // namespace

SelectedSide::SelectedSide(arith::SelectOp select, unsigned side, const TilePlan &plan) {
  SmallVector<Operation *> pending;
  auto useOnce = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!isTile(value))
      return;
    if (!op || !isElementwise(op) || op->getNumResults() != 1 || plan.isKept(value) ||
        op->getBlock() != select->getBlock())
      return leaves.push_back(value);
    auto [place, isNew] = usesLeft.try_emplace(op, 0);
    if (isNew)
      place->second = std::distance(op->use_begin(), op->use_end());
    if (--place->second == 0)
      pending.push_back(op);
  };
  useOnce(select->getOperand(side));
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    int64_t words = elementBytes(elementTypeOf(op->getResult(0).getType())) > 4 ? 2 : 1;
    cost += operationCost(op) * words;
    for (Value operand : op->getOperands())
      useOnce(operand);
  }
  for (auto [op, uses] : usesLeft)
    if (uses > 0)
      leaves.push_back(op->getResult(0));
}

/// A side that is dear is computed where a lane takes it only.
static Value evaluateSelect(SimdFunction &f, arith::SelectOp op, const Coordinates &at) {
  Value condition = f.evaluate(op.getCondition(), at);
  auto evaluateSide = [&](unsigned side) -> Value {
    Value tile = op->getOperand(side);
    if (!isa<VectorType>(condition.getType()) || !isTile(tile))
      return f.evaluate(tile, at);
    SelectedSide alone(op, side, f.plan);
    if (!alone.isDear())
      return f.evaluate(tile, at);
    for (Value leaf : alone.leaves)
      f.evaluate(leaf, at);
    Value isTaken = condition;
    if (side == 2)
      isTaken = arith::XOrIOp::create(f.builder, f.loc, condition,
                                      f.splat(f.constantOf(f.builder.getI1Type(), 1), at.lanes));
    isTaken = vector::ReductionOp::create(f.builder, f.loc, vector::CombiningKind::OR, isTaken);
    Type type = VectorType::get({at.lanes}, f.lowered(elementTypeOf(tile.getType())));
    return choose(
        f, isTaken, type, [&] { return f.evaluateVector(tile, at); },
        [&]() -> Value { return LLVM::PoisonOp::create(f.builder, f.loc, type); });
  };
  Value chosen = evaluateSide(1), other = evaluateSide(2);
  return f.cloneElementwise(op, {condition, chosen, other});
}

/// The number of an axis in the array at `field` of the TwProgram that the kernel runs as.
static Value loadOfAxis(SimdFunction &f, size_t field, int32_t axis) {
  int32_t offset = int32_t(field + sizeof(int32_t) * axis);
  Value address =
      LLVM::GEPOp::create(f.builder, f.loc, f.programArgument.getType(), f.builder.getI8Type(),
                          f.programArgument, ArrayRef<LLVM::GEPArg>{offset});
  return LLVM::LoadOp::create(f.builder, f.loc, f.builder.getI32Type(), address);
}

Value SimdFunction::evaluateOperation(OpResult result, const Coordinates &at) {
  Operation *op = result.getOwner();
  Location outerLoc = loc;
  loc = op->getLoc();
  Value value =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](arith::ConstantOp constant) -> Value {
            auto splatValue = dyn_cast<SplatElementsAttr>(constant.getValue());
            return asLowered(arith::ConstantOp::create(
                builder, loc,
                splatValue ? cast<TypedAttr>(splatValue.getSplatValue<Attribute>())
                           : cast<TypedAttr>(constant.getValue())));
          })
          .Case([&](ArangeOp arange) { return evaluateArange(*this, arange, at); })
          .Case([&](ShapeOp shape) { return evaluateShape(*this, shape, at); })
          .Case([&](SplitOp) { return evaluateSplit(*this, result, at); })
          .Case([&](GatherOp gather) { return evaluateGather(*this, gather, at); })
          .Case([&](AddPtrOp add) { return evaluateAddPtr(*this, add, at); })
          .Case([&](LoadOp load) { return evaluateLoad(load, at); })
          .Case([&](arith::SelectOp select) { return evaluateSelect(*this, select, at); })
          .Case<HintOp, PtrCastOp>(
              [&](Operation *same) { return evaluate(same->getOperand(0), at); })
          .Case([&](PtrToIntOp cast) {
            return castAddress<LLVM::PtrToIntOp>(*this, evaluate(cast.getSource(), at),
                                                 builder.getI64Type());
          })
          .Case([&](IntToPtrOp cast) {
            return castAddress<LLVM::IntToPtrOp>(*this, evaluate(cast.getSource(), at),
                                                 LLVM::LLVMPointerType::get(builder.getContext()));
          })
          .Case([&](ProgramIdOp id) {
            return loadOfAxis(*this, offsetof(TwProgram, programId), id.getAxis());
          })
          .Case([&](NumProgramsOp num) {
            return loadOfAxis(*this, offsetof(TwProgram, numPrograms), num.getAxis());
          })
          .Default([&](Operation *elementwise) -> Value {
            SmallVector<Value> operands;
            for (Value operand : elementwise->getOperands())
              operands.push_back(evaluate(operand, at));
            if (elementwise->getNumResults() == 1)
              return cloneElementwise(elementwise, operands);
            Value first = cloneElementwise(elementwise, operands);
            return first.getDefiningOp()->getResult(result.getResultNumber());
          });
  loc = outerLoc;
  return value;
}

bool tw::simd::isVectorizable(Region &region) {
  return region.hasOneBlock() &&
         llvm::all_of(region.front().without_terminator(), [](Operation &op) {
           return op.hasTrait<OpTrait::Elementwise>() || isa<arith::ConstantOp>(op);
         });
}

SmallVector<Value> SimdFunction::combine(Region &region, ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  Block &block = region.front();
  if (!isVectorizable(region)) {
    IRMapping mapping;
    SmallVector<Value> arguments(lhs);
    llvm::append_range(arguments, rhs);
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      mapping.map(argument, asElement(value, argument.getType()));
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(region, captured);
    for (Value value : captured)
      mapping.map(value, asElement(scalarOf(value), value.getType()));
    for (Operation &op : block.without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(block.getTerminator()->getOperands(), [&](Value value) {
      return asLowered(mapping.lookupOrDefault(value));
    });
  }
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip(block.getArguments().take_front(lhs.size()), lhs))
    values[argument] = value;
  for (auto [argument, value] : llvm::zip(block.getArguments().drop_front(lhs.size()), rhs))
    values[argument] = value;
  auto lookUp = [&](Value value) {
    auto found = values.find(value);
    return found != values.end() ? found->second : scalarOf(value);
  };
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), lookUp);
    Value first = cloneElementwise(&op, operands);
    for (OpResult result : op.getResults())
      values[result] = op.getNumResults() == 1
                           ? first
                           : first.getDefiningOp()->getResult(result.getResultNumber());
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(), lookUp);
}
