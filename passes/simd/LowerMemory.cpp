// Loads and stores: addresses become vector accesses where the pointers are contiguous, gathers and
// scatters otherwise.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// Returns true if some lane of `value` is true wherever some lane of `known` is.
static bool isImplied(Value known, Value value) {
  if (known == value)
    return true;
  Operation *op = known ? known.getDefiningOp() : nullptr;
  return isa_and_nonnull<arith::AndIOp, vector::BroadcastOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value part) { return isImplied(part, value); });
}

Value simd::evaluateMask(SimdFunction &f, Value mask, const Coordinates &at) {
  Value value = mask ? f.evaluate(mask, at) : Value();
  bool isFull = value && (matchPattern(value, m_One()) ||
                          (!isa<VectorType>(value.getType()) && isImplied(f.someTaken, value)));
  return isFull ? Value() : value;
}

Value simd::ifTaken(SimdFunction &f, Value mask, Type type, llvm::function_ref<Value()> access,
                    llvm::function_ref<Value()> otherwise) {
  if (!mask || isImplied(f.someTaken, mask))
    return access();
  Value test = mask;
  if (isa<VectorType>(mask.getType()))
    test = vector::ReductionOp::create(f.builder, f.loc, vector::CombiningKind::OR, mask);
  auto accessTaken = [&] {
    Value known = std::exchange(f.someTaken, mask);
    Value value = access();
    f.someTaken = known;
    return value;
  };
  return choose(f, test, type, accessTaken, otherwise);
}

/// The lanes of a mask that an access within `ifTaken` takes: null for all.
static Value lanesOf(Value mask) {
  return mask && isa<VectorType>(mask.getType()) ? mask : Value();
}

static Coordinates laneOf(SimdFunction &f, const Coordinates &at, int64_t lane) {
  Coordinates one = at;
  one.vectorDim = -1;
  one.lanes = 1;
  if (lane > 0)
    one.index[at.vectorDim] =
        f.builder.createOrFold<arith::AddIOp>(f.loc, at.index[at.vectorDim], f.constantIndex(lane));
  return one;
}

/// The address of lane 0 of a unit-step access: a base in front of the loop plus the loop's index.
static Value contiguousAddress(SimdFunction &f, Value pointer, Type element,
                               const Coordinates &at) {
  Value base = f.evaluateUniform(pointer, at);
  return LLVM::GEPOp::create(f.builder, f.loc, base.getType(), element, base,
                             ValueRange{at.index[at.vectorDim]});
}

/// The addresses of all lanes when neighbours are equally far apart: base + lane * distance.
static Value stridedAddresses(SimdFunction &f, Value pointer, const Coordinates &at) {
  Type i64 = f.builder.getI64Type(), i8 = f.builder.getI8Type();
  Coordinates first = laneOf(f, at, 0), second = first;
  Value base = f.evaluateUniform(pointer, at);
  second.index[at.vectorDim] = f.constantIndex(1);
  OpBuilder::InsertionGuard guard(f.builder);
  Value address = LLVM::PtrToIntOp::create(f.builder, f.loc, i64, base);
  Value next = LLVM::PtrToIntOp::create(f.builder, f.loc, i64, f.evaluate(pointer, second));
  Value distance = arith::SubIOp::create(f.builder, f.loc, next, address);
  Value lane0 = arith::MulIOp::create(f.builder, f.loc, at.index[at.vectorDim], distance);
  Value offsets =
      arith::MulIOp::create(f.builder, f.loc, f.iota(i64, at.lanes), f.splat(distance, at.lanes));
  offsets = arith::AddIOp::create(f.builder, f.loc, offsets, f.splat(lane0, at.lanes));
  auto type = VectorType::get({at.lanes}, base.getType());
  return LLVM::GEPOp::create(f.builder, f.loc, type, i8, base, ValueRange{offsets});
}

static Value laneAddresses(SimdFunction &f, Value pointer, const Coordinates &at) {
  AxisChange change = f.facts.along(pointer, at.vectorDim);
  if (change.kind == AxisChange::Constant || change.kind == AxisChange::Affine)
    return stridedAddresses(f, pointer, at);
  return f.splat(f.evaluate(pointer, at), at.lanes);
}

static Value fullMask(SimdFunction &f, Value mask, int64_t lanes) {
  return mask ? mask : f.splat(f.constantOf(f.builder.getI1Type(), 1), lanes);
}

/// Bytes of an element as vectors hold it.
static unsigned alignmentOf(Type element) {
  return isa<LLVM::LLVMPointerType>(element) ? 8 : elementBytes(element);
}

static Value loadContiguous(SimdFunction &f, Value address, VectorType type, Value mask,
                            Value other) {
  unsigned alignment = alignmentOf(type.getElementType());
  if (!mask)
    return LLVM::LoadOp::create(f.builder, f.loc, type, address, alignment);
  return LLVM::MaskedLoadOp::create(f.builder, f.loc, type, address, mask, other,
                                    f.builder.getI32IntegerAttr(alignment), UnitAttr());
}

/// The same bits as integers, where the elements are f16: LLVM 22 takes gathers, scatters and,
/// without AVX-512, masked stores of them apart. `carry-bf16-as-bits` does the same for bf16.
static Value asMovable(SimdFunction &f, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (!type.getElementType().isF16())
    return vector;
  Type bits = VectorType::get(type.getShape(), f.builder.getI16Type());
  return arith::BitcastOp::create(f.builder, f.loc, bits, vector);
}

static Value gather(SimdFunction &f, Value addresses, VectorType type, Value mask, Value other) {
  Type element = type.getElementType();
  unsigned alignment = alignmentOf(element);
  other = asMovable(f, other);
  Value gathered = LLVM::masked_gather::create(
      f.builder, f.loc, other.getType(), addresses, fullMask(f, mask, type.getDimSize(0)),
      ValueRange{other}, f.builder.getI32IntegerAttr(alignment));
  if (other.getType() == type)
    return gathered;
  return arith::BitcastOp::create(f.builder, f.loc, type, gathered);
}

Value simd::choose(SimdFunction &f, Value test, Type type, llvm::function_ref<Value()> then,
                   llvm::function_ref<Value()> otherwise) {
  SmallVector<Type> types;
  if (type)
    types.push_back(type);
  auto choice = scf::IfOp::create(f.builder, f.loc, types, test, /*withElseRegion=*/true);
  auto emit = [&](Block *block, llvm::function_ref<Value()> body) {
    OpBuilder::InsertionGuard guard(f.builder);
    Scope scope(f);
    if (type)
      f.builder.setInsertionPointToEnd(block);
    else
      f.builder.setInsertionPointToStart(block);
    Value value = body();
    if (type)
      scf::YieldOp::create(f.builder, f.loc, value);
  };
  emit(choice.thenBlock(), then);
  emit(choice.elseBlock(), otherwise);
  return type ? choice.getResult(0) : Value();
}

/// Emits a test that the lanes' addresses are consecutive: that the last one is where it must be.
/// The test is exact for remainders, which only ever jump back.
static Value isConsecutive(SimdFunction &f, Value pointer, unsigned bytes, const Coordinates &at) {
  Type i64 = f.builder.getI64Type();
  Value first =
      LLVM::PtrToIntOp::create(f.builder, f.loc, i64, f.evaluate(pointer, laneOf(f, at, 0)));
  Value last = LLVM::PtrToIntOp::create(f.builder, f.loc, i64,
                                        f.evaluate(pointer, laneOf(f, at, at.lanes - 1)));
  Value distance = arith::SubIOp::create(f.builder, f.loc, last, first);
  return arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::eq, distance,
                               f.constantIndex((at.lanes - 1) * int64_t(bytes)));
}

static Value loadScalar(SimdFunction &f, LoadOp op, Type type, const Coordinates &at) {
  unsigned alignment = elementBytes(elementTypeOf(op.getType()));
  return LLVM::LoadOp::create(f.builder, f.loc, type, f.evaluate(op.getPtr(), at), alignment,
                              isFetchedAgain(op));
}

/// Returns true if an access may touch memory even when its mask takes no lane. The processor looks
/// up the page of a contiguous vector whatever its mask is, and takes 140 ns (Zen 5) for a page
/// that is not mapped.
static bool touchesMaskedOff(SimdFunction &f, Value pointer, const Coordinates &at) {
  AxisChange change = f.facts.along(pointer, at.vectorDim);
  return change.isUnit() || change.kind == AxisChange::WrappedUnit;
}

/// The lanes of a vector that a mask takes, null for all.
static Value loadLanes(SimdFunction &f, LoadOp op, VectorType type, const Coordinates &at,
                       Value mask, Value other) {
  AxisChange change = f.facts.along(op.getPtr(), at.vectorDim);
  if (change.isUnit())
    return loadContiguous(f, contiguousAddress(f, op.getPtr(), type.getElementType(), at), type,
                          mask, other);
  auto gatherLanes = [&] {
    return gather(f, laneAddresses(f, op.getPtr(), at), type, mask, other);
  };
  if (change.kind != AxisChange::WrappedUnit)
    return gatherLanes();
  unsigned bytes = elementBytes(elementTypeOf(op.getType()));
  auto loadRow = [&] {
    Value address = f.evaluate(op.getPtr(), laneOf(f, at, 0));
    return loadContiguous(f, address, type, mask, other);
  };
  return choose(f, isConsecutive(f, op.getPtr(), bytes, at), type, loadRow, gatherLanes);
}

Value SimdFunction::evaluateLoad(LoadOp op, const Coordinates &at) {
  Type type = lowered(elementTypeOf(op.getType()));
  if (at.vectorDim >= 0)
    type = VectorType::get({at.lanes}, type);
  Value mask = evaluateMask(*this, op.getMask(), at);
  auto other = [&]() -> Value {
    if (op.getOther() && mask)
      return evaluateVector(op.getOther(), at);
    return LLVM::ZeroOp::create(builder, loc, type);
  };
  if (at.vectorDim < 0)
    return ifTaken(*this, mask, type, [&] { return loadScalar(*this, op, type, at); }, other);
  auto lanes = cast<VectorType>(type);
  if (!lanesOf(mask)) {
    auto load = [&] {
      return loadLanes(*this, op, lanes, at, {}, LLVM::ZeroOp::create(builder, loc, lanes));
    };
    return ifTaken(*this, mask, type, load, other);
  }
  Value rest = other();
  auto load = [&] { return loadLanes(*this, op, lanes, at, mask, rest); };
  return touchesMaskedOff(*this, op.getPtr(), at)
             ? ifTaken(*this, mask, type, load, [&] { return rest; })
             : load();
}

//===-- Stores --------------------------------------------------------------------------------===//

Value tw::simd::areAligned(SimdFunction &f, ValueRange addresses, int64_t bytes) {
  Value any = f.constantIndex(0);
  for (Value address : addresses)
    any = f.builder.createOrFold<arith::OrIOp>(
        f.loc, any, LLVM::PtrToIntOp::create(f.builder, f.loc, f.builder.getI64Type(), address));
  Value low = arith::AndIOp::create(f.builder, f.loc, any, f.constantIndex(bytes - 1));
  return arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::eq, low, f.constantIndex(0));
}

bool tw::simd::mayStream(SimdFunction &f, StoreOp op, int vectorDim, int64_t lanes) {
  int64_t bytes = lanes * elementBytes(elementTypeOf(op.getValue().getType()));
  return bytes == int64_t(f.machine.getVectorBytes()) && isStreamingStore(op) &&
         f.facts.along(op.getPtr(), vectorDim).isUnit();
}

/// The lanes of a vector that a mask takes, null for all.
static void storeLanes(SimdFunction &f, StoreOp op, const Coordinates &at, Value value, Value mask,
                       bool isStreaming) {
  Type element = elementTypeOf(op.getValue().getType());
  unsigned alignment = elementBytes(element);
  auto storeAt = [&](Value address) {
    if (mask)
      LLVM::MaskedStoreOp::create(f.builder, f.loc, asMovable(f, value), address, mask, alignment);
    else
      LLVM::StoreOp::create(f.builder, f.loc, value, address,
                            isStreaming ? at.lanes * alignment : alignment, false, isStreaming);
  };
  auto scatter = [&]() -> Value {
    LLVM::masked_scatter::create(f.builder, f.loc, asMovable(f, value),
                                 laneAddresses(f, op.getPtr(), at), fullMask(f, mask, at.lanes),
                                 alignment);
    return {};
  };
  AxisChange change = f.facts.along(op.getPtr(), at.vectorDim);
  if (change.isUnit())
    return storeAt(contiguousAddress(f, op.getPtr(), f.lowered(element), at));
  if (change.kind != AxisChange::WrappedUnit)
    return (void)scatter();
  auto storeRow = [&]() -> Value {
    storeAt(f.evaluate(op.getPtr(), laneOf(f, at, 0)));
    return {};
  };
  choose(f, isConsecutive(f, op.getPtr(), alignment, at), Type(), storeRow, scatter);
}

void simd::storeToUser(SimdFunction &f, StoreOp op, const Coordinates &at, bool isStreaming,
                       llvm::function_ref<Value()> value) {
  Value mask = evaluateMask(f, op.getMask(), at);
  auto store = [&]() -> Value {
    if (at.vectorDim >= 0)
      storeLanes(f, op, at, value(), lanesOf(mask), isStreaming);
    else
      LLVM::StoreOp::create(f.builder, f.loc, value(), f.evaluate(op.getPtr(), at),
                            elementBytes(elementTypeOf(op.getValue().getType())));
    return {};
  };
  if (at.vectorDim >= 0 && lanesOf(mask) && !touchesMaskedOff(f, op.getPtr(), at))
    store();
  else
    ifTaken(f, mask, Type(), store, [] { return Value(); });
}

LogicalResult SimdFunction::lowerStore(StoreOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getPtr().getType());
  if (shape.empty()) {
    storeToUser(*this, op, Coordinates(), false,
                [&] { return evaluate(op.getValue(), Coordinates()); });
    return success();
  }
  SmallVector<Value> trees = {op.getValue(), op.getPtr()};
  auto [vectorDim, lanes] = chooseVector(trees, shape);
  auto [readDim, readLanes] = chooseVector({op.getValue()}, shape);
  auto [writeDim, writeLanes] = chooseVector({op.getPtr()}, shape);
  if (op.getMask())
    trees.push_back(op.getMask());
  bool streams = mayStream(*this, op, vectorDim, lanes);
  auto emitAll = [&, vectorDim = vectorDim, lanes = lanes, readDim = readDim, writeDim = writeDim] {
    auto storeVector = [&](const Coordinates &at, Value value) {
      storeToUser(*this, op, at, false, [&] { return value; });
    };
    if (emitTransposed(op.getValue(), {}, readDim, writeDim, lanes, storeVector))
      return;
    bool isUnmasked = !op.getMask() || isFullMask(*this, op.getMask());
    emitOuterLoops(shape, vectorDim, [&](const Coordinates &outer) {
      auto emit = [&](bool isStreaming) {
        auto store = [&](const Coordinates &at) {
          storeToUser(*this, op, at, isStreaming && at.vectorDim >= 0,
                      [&] { return evaluateVector(op.getValue(), at); });
        };
        emitVectorLoop(shape[vectorDim], outer, vectorDim, lanes, store,
                       /*splitsAtKnownMasks=*/true);
      };
      if (!streams || !isUnmasked)
        return emit(false);
      // Non-temporal stores trap on addresses that are not aligned to the whole vector.
      Value isAligned = areAligned(*this, evaluate(op.getPtr(), outer), machine.getVectorBytes());
      choose(
          *this, isAligned, Type(), [&] { return emit(true), Value(); },
          [&] { return emit(false), Value(); });
    });
  };
  // Stores past the caches are chosen for a whole row without masks.
  withFullMasks(trees, emitAll, /*rowStep=*/shape.size() == 1 && !streams ? lanes : 0);
  return success();
}

//===-- Buffers -------------------------------------------------------------------------------===//

static Type memoryType(SimdFunction &f, Type element) {
  return element.isInteger(1) ? f.builder.getI8Type() : f.lowered(element);
}

Value SimdFunction::bufferAddress(const TileBuffer &buffer, ArrayRef<Value> index) {
  Value linear;
  for (auto [extent, position] : llvm::zip(buffer.shape, index)) {
    if (linear)
      linear = builder.createOrFold<arith::MulIOp>(loc, linear, constantIndex(extent));
    linear = linear ? builder.createOrFold<arith::AddIOp>(loc, linear, position) : position;
  }
  if (!linear)
    return buffer.base;
  return LLVM::GEPOp::create(builder, loc, buffer.base.getType(), memoryType(*this, buffer.element),
                             buffer.base, ValueRange{linear});
}

/// Addresses of the lanes along a dimension that is not the last.
static Value bufferLaneAddresses(SimdFunction &f, const TileBuffer &buffer, const Coordinates &at) {
  int64_t distance = 1;
  for (int64_t extent : ArrayRef(buffer.shape).drop_front(at.vectorDim + 1))
    distance *= extent;
  Value offsets = arith::MulIOp::create(f.builder, f.loc, f.iota(f.builder.getI64Type(), at.lanes),
                                        f.splat(f.constantIndex(distance), at.lanes));
  Value base = f.bufferAddress(buffer, at.index);
  return LLVM::GEPOp::create(f.builder, f.loc, VectorType::get({at.lanes}, base.getType()),
                             memoryType(f, buffer.element), base, ValueRange{offsets});
}

static bool isLastDim(const TileBuffer &buffer, int dim) {
  return llvm::all_of(ArrayRef(buffer.shape).drop_front(dim + 1),
                      [](int64_t extent) { return extent == 1; });
}

Value SimdFunction::loadBuffer(const TileBuffer &buffer, const Coordinates &at) {
  Type element = memoryType(*this, buffer.element);
  unsigned bytes = elementBytes(buffer.element);
  Value value;
  if (at.vectorDim < 0) {
    value = LLVM::LoadOp::create(builder, loc, element, bufferAddress(buffer, at.index), bytes);
  } else if (isLastDim(buffer, at.vectorDim)) {
    value = LLVM::LoadOp::create(builder, loc, VectorType::get({at.lanes}, element),
                                 bufferAddress(buffer, at.index), bytes);
  } else {
    auto type = VectorType::get({at.lanes}, element);
    value = gather(*this, bufferLaneAddresses(*this, buffer, at), type, {},
                   LLVM::ZeroOp::create(builder, loc, type));
  }
  if (!buffer.element.isInteger(1))
    return value;
  Type bit = builder.getI1Type();
  return arith::TruncIOp::create(builder, loc,
                                 at.vectorDim < 0 ? bit : VectorType::get({at.lanes}, bit), value);
}

void SimdFunction::storeBuffer(const TileBuffer &buffer, const Coordinates &at, Value value) {
  unsigned bytes = elementBytes(buffer.element);
  if (at.vectorDim >= 0)
    value = splat(value, at.lanes);
  if (buffer.element.isInteger(1)) {
    Type byte = builder.getI8Type();
    value = arith::ExtUIOp::create(
        builder, loc, at.vectorDim < 0 ? byte : VectorType::get({at.lanes}, byte), value);
  }
  if (at.vectorDim < 0 || isLastDim(buffer, at.vectorDim))
    LLVM::StoreOp::create(builder, loc, value, bufferAddress(buffer, at.index), bytes);
  else
    LLVM::masked_scatter::create(builder, loc, asMovable(*this, value),
                                 bufferLaneAddresses(*this, buffer, at),
                                 fullMask(*this, {}, at.lanes), bytes);
}
