// Loads, stores and atomics: addresses become vector accesses where the pointers are contiguous,
// gathers and scatters otherwise.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// The mask at the coordinates: null when it is known to be full.
static Value evaluateMask(SimdFunction &f, Value mask, const Coordinates &at) {
  if (!mask)
    return {};
  Value value = f.evaluate(mask, at);
  if (matchPattern(value, m_One()))
    return {};
  return at.vectorDim < 0 ? value : f.splat(value, at.lanes);
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
  AxisChange change = f.contiguity.along(pointer, at.vectorDim);
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

/// The same bits as integers, where the elements are 16-bit floats. LLVM 22 takes gathers, scatters
/// and, without AVX-512, masked stores of them apart. It cannot select the shuffles of bf16 vectors
/// that result on x86, and single bf16 elements are slow (64 x 64 took 7 times as long).
static Value asMovable(SimdFunction &f, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  if (!element.isBF16() && !element.isF16())
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

/// Whether the addresses of the lanes are consecutive: the last one is where it must be. Exact for
/// remainders, which only ever jump back.
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

static Value loadScalar(SimdFunction &f, LoadOp op, Type type, const Coordinates &at, Value mask) {
  unsigned alignment = elementBytes(elementTypeOf(op.getType()));
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(f.builder, f.loc, type, f.evaluate(op.getPtr(), at), alignment,
                                isFetchedAgain(op));
  };
  if (!mask)
    return load();
  return choose(f, mask, type, load, [&]() -> Value {
    if (op.getOther())
      return f.evaluate(op.getOther(), at);
    return LLVM::ZeroOp::create(f.builder, f.loc, type);
  });
}

Value SimdFunction::evaluateLoad(LoadOp op, const Coordinates &at) {
  Type element = lowered(elementTypeOf(op.getType()));
  Value mask = evaluateMask(*this, op.getMask(), at);
  if (at.vectorDim < 0)
    return loadScalar(*this, op, element, at, mask);
  auto type = VectorType::get({at.lanes}, element);
  AxisChange change = contiguity.along(op.getPtr(), at.vectorDim);
  Value other = op.getOther() && mask ? evaluateVector(op.getOther(), at)
                                      : Value(LLVM::ZeroOp::create(builder, loc, type));
  if (change.isUnit())
    return loadContiguous(*this, contiguousAddress(*this, op.getPtr(), element, at), type, mask,
                          other);
  auto gatherLanes = [&] {
    return gather(*this, laneAddresses(*this, op.getPtr(), at), type, mask, other);
  };
  if (change.kind != AxisChange::WrappedUnit)
    return gatherLanes();
  Value test = isConsecutive(*this, op.getPtr(), elementBytes(element), at);
  return choose(
      *this, test, type,
      [&] {
        Value address = evaluate(op.getPtr(), laneOf(*this, at, 0));
        return loadContiguous(*this, address, type, mask, other);
      },
      gatherLanes);
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
  return bytes == int64_t(f.machine.vectorBytes) && isStreamingStore(op) &&
         f.contiguity.along(op.getPtr(), vectorDim).isUnit();
}

void SimdFunction::storeToUser(StoreOp op, const Coordinates &at, Value value, bool isStreaming) {
  Type element = elementTypeOf(op.getValue().getType());
  unsigned alignment = elementBytes(element);
  element = lowered(element);
  Value mask = evaluateMask(*this, op.getMask(), at);
  if (at.vectorDim < 0) {
    auto store = [&]() -> Value {
      LLVM::StoreOp::create(builder, loc, value, evaluate(op.getPtr(), at), alignment);
      return {};
    };
    if (!mask)
      store();
    else
      choose(*this, mask, Type(), store, [] { return Value(); });
    return;
  }
  auto storeAt = [&](Value address) {
    if (mask)
      LLVM::MaskedStoreOp::create(builder, loc, asMovable(*this, value), address, mask, alignment);
    else
      LLVM::StoreOp::create(builder, loc, value, address,
                            isStreaming ? at.lanes * alignment : alignment, false, isStreaming);
  };
  auto scatter = [&]() -> Value {
    LLVM::masked_scatter::create(builder, loc, asMovable(*this, value),
                                 laneAddresses(*this, op.getPtr(), at),
                                 fullMask(*this, mask, at.lanes), alignment);
    return {};
  };
  AxisChange change = contiguity.along(op.getPtr(), at.vectorDim);
  if (change.isUnit())
    return storeAt(contiguousAddress(*this, op.getPtr(), element, at));
  if (change.kind != AxisChange::WrappedUnit)
    return (void)scatter();
  Value test = isConsecutive(*this, op.getPtr(), alignment, at);
  choose(
      *this, test, Type(),
      [&]() -> Value {
        storeAt(evaluate(op.getPtr(), laneOf(*this, at, 0)));
        return {};
      },
      scatter);
}

LogicalResult SimdFunction::lowerStore(StoreOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getPtr().getType());
  if (shape.empty()) {
    storeToUser(op, Coordinates(), evaluate(op.getValue(), Coordinates()), false);
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
      storeToUser(op, at, value, false);
    };
    if (emitTransposed(op.getValue(), {}, readDim, writeDim, lanes, storeVector))
      return;
    bool isUnmasked = !op.getMask() || isFullMask(*this, op.getMask());
    emitOuterLoops(shape, vectorDim, [&](const Coordinates &outer) {
      auto emit = [&](bool isStreaming) {
        auto store = [&](const Coordinates &at) {
          storeToUser(op, at, evaluateVector(op.getValue(), at), isStreaming && at.vectorDim >= 0);
        };
        emitVectorLoop(shape[vectorDim], outer, vectorDim, lanes, store,
                       /*splitsAtKnownMasks=*/true);
      };
      if (!streams || !isUnmasked)
        return emit(false);
      // Non-temporal stores trap on addresses that are not aligned to the whole vector.
      Value isAligned = areAligned(*this, evaluate(op.getPtr(), outer), machine.vectorBytes);
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

//===-- Atomics -------------------------------------------------------------------------------===//

static LLVM::AtomicOrdering orderingOf(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemoryOrder::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemoryOrder::Release:
    return LLVM::AtomicOrdering::release;
  case MemoryOrder::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  }
  return LLVM::AtomicOrdering::seq_cst;
}

static LLVM::AtomicBinOp binaryOf(AtomicKind kind) {
  using B = LLVM::AtomicBinOp;
  static constexpr B kinds[] = {B::add,  B::fadd, B::max,  B::min, B::umax, B::umin,
                                B::fmax, B::fmin, B::_and, B::_or, B::_xor, B::xchg};
  return kinds[unsigned(kind)];
}

static Value emitCompareExchange(SimdFunction &f, MemoryAccess access, Value pointer, Value compare,
                                 Value value) {
  Type type = value.getType();
  // The instruction compares bits.
  Type bits = f.builder.getIntegerType(elementBytes(type) * 8);
  auto toBits = [&](Value v) -> Value {
    return isa<FloatType>(type) ? arith::BitcastOp::create(f.builder, f.loc, bits, v) : v;
  };
  LLVM::AtomicOrdering order = orderingOf(*access.getAtomicOrder());
  bool releases =
      order == LLVM::AtomicOrdering::release || order == LLVM::AtomicOrdering::monotonic;
  Value pair = LLVM::AtomicCmpXchgOp::create(
      f.builder, f.loc, pointer, toBits(compare), toBits(value), order,
      releases ? LLVM::AtomicOrdering::monotonic : LLVM::AtomicOrdering::acquire);
  Value old = LLVM::ExtractValueOp::create(f.builder, f.loc, pair, 0);
  return isa<FloatType>(type) ? arith::BitcastOp::create(f.builder, f.loc, type, old) : old;
}

static Value emitUpdate(SimdFunction &f, MemoryAccess access, Value pointer, Value value) {
  LLVM::AtomicOrdering order = orderingOf(*access.getAtomicOrder());
  if (access.getAtomicKind() == AtomicKind::Load)
    return LLVM::LoadOp::create(f.builder, f.loc, value.getType(), pointer,
                                elementBytes(value.getType()), /*isVolatile=*/false,
                                /*isNonTemporal=*/false, /*isInvariant=*/false,
                                /*isInvariantGroup=*/false, order);
  return LLVM::AtomicRMWOp::create(f.builder, f.loc, binaryOf(access.getAtomicKind()), pointer,
                                   value, order);
}

/// One element of an atomic; yields the old value.
static Value emitAtomic(SimdFunction &f, MemoryAccess access, const Coordinates &at) {
  Value expected = access.getExpectedValue();
  Value pointer = f.evaluate(access.getPointers(), at);
  Value compare = expected ? f.evaluate(expected, at) : Value();
  Value value = f.evaluate(access.getWrittenValue(), at);
  auto emit = [&] {
    return compare ? emitCompareExchange(f, access, pointer, compare, value)
                   : emitUpdate(f, access, pointer, value);
  };
  Value mask = evaluateMask(f, access.getAccessMask(), at);
  if (!mask)
    return emit();
  Type type = value.getType();
  return choose(f, mask, type, emit,
                [&]() -> Value { return LLVM::ZeroOp::create(f.builder, f.loc, type); });
}

//===-- Atomics under locks -------------------------------------------------------------------===//

// A vector has no atomic update, and a locked instruction an element takes some 20 cycles. Under a
// lock for each block of memory that a row touches, updates are vectors: 20 times the speed for
// rows of 256 f32, measured with two threads.

namespace {
struct LockedUpdate {
  SimdFunction &f;
  AtomicRmwOp op;
  Value locks;
  int dim;
  int64_t extent, lanes;
  TileBuffer values, mask; // a row; the mask's base is null where it is known to be full
  Type element = {};       // in memory

  void emit();

private:
  void emitRow(const Coordinates &outer);
  void prefetch(Value address);
  void emitBlock(Value address, Value number);
  void updateUnmasked(Value begin, Value end, Value address);
  void updateMasked(Value begin, Value end, Value address);
  Value combine(Value old, Value value);
  void forUpTo(Value begin, Value end, int64_t step, int64_t most, SimdFunction::Body body);
  void take(Value lock);

  template <typename Op> Value make(Value lhs, Value rhs) {
    return f.builder.createOrFold<Op>(f.loc, lhs, rhs);
  }
  Value number(int64_t value) { return f.constantIndex(value); }
  unsigned bytes() const { return elementBytes(values.element); }
  Value at(Value address, Value index) {
    return LLVM::GEPOp::create(f.builder, f.loc, address.getType(), element, address,
                               ValueRange{index});
  }
};
} // namespace

Value LockedUpdate::combine(Value old, Value value) {
  switch (op.getKind()) {
  case AtomicKind::Add:
    return make<arith::AddIOp>(old, value);
  case AtomicKind::FAdd:
    return make<arith::AddFOp>(old, value);
  case AtomicKind::Max:
    return make<arith::MaxSIOp>(old, value);
  case AtomicKind::Min:
    return make<arith::MinSIOp>(old, value);
  case AtomicKind::UMax:
    return make<arith::MaxUIOp>(old, value);
  case AtomicKind::UMin:
    return make<arith::MinUIOp>(old, value);
  case AtomicKind::FMax:
    return make<arith::MaxNumFOp>(old, value);
  case AtomicKind::FMin:
    return make<arith::MinNumFOp>(old, value);
  case AtomicKind::And:
    return make<arith::AndIOp>(old, value);
  case AtomicKind::Or:
    return make<arith::OrIOp>(old, value);
  case AtomicKind::Xor:
    return make<arith::XOrIOp>(old, value);
  case AtomicKind::Xchg:
  case AtomicKind::Load:
    break;
  }
  llvm_unreachable("updatedDim takes no others");
}

/// A loop that nothing leaves early.
void LockedUpdate::forUpTo(Value begin, Value end, int64_t step, int64_t most,
                           SimdFunction::Body body) {
  auto loop = scf::ForOp::create(f.builder, f.loc, begin, end, number(step));
  loop->setAttr(kMostIterations, f.builder.getI64IntegerAttr(most));
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(loop.getBody());
  Scope scope(f);
  Coordinates one;
  one.index = {loop.getInductionVar()};
  one.vectorDim = step > 1 ? 0 : -1;
  one.lanes = step;
  body(one);
}

/// Waits by reading, so that others keep the line.
void LockedUpdate::take(Value lock) {
  OpBuilder &b = f.builder;
  Type i32 = b.getI32Type();
  auto untilZero = [&](llvm::function_ref<Value()> read, llvm::function_ref<void()> between) {
    auto loop = scf::WhileOp::create(b, f.loc, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value isTaken =
        arith::CmpIOp::create(b, f.loc, arith::CmpIPredicate::ne, read(), f.constantOf(i32, 0));
    scf::ConditionOp::create(b, f.loc, isTaken, ValueRange());
    b.createBlock(&loop.getAfter());
    between();
    scf::YieldOp::create(b, f.loc);
  };
  auto exchange = [&]() -> Value {
    return LLVM::AtomicRMWOp::create(b, f.loc, LLVM::AtomicBinOp::xchg, lock, f.constantOf(i32, 1),
                                     LLVM::AtomicOrdering::acquire);
  };
  auto look = [&]() -> Value {
    return LLVM::LoadOp::create(b, f.loc, i32, lock, 4, /*isVolatile=*/false,
                                /*isNonTemporal=*/false, /*isInvariant=*/false,
                                /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
  };
  untilZero(exchange, [&] { untilZero(look, [] {}); });
}

void LockedUpdate::updateUnmasked(Value begin, Value end, Value address) {
  Value count = make<arith::SubIOp>(end, begin);
  Value rest = make<arith::AndIOp>(count, number(lanes - 1));
  Value main = make<arith::SubIOp>(end, rest);
  auto update = [&](const Coordinates &place) {
    Value value = f.loadBuffer(values, place), target = at(address, place.index[0]);
    Value old = LLVM::LoadOp::create(f.builder, f.loc, value.getType(), target, bytes());
    LLVM::StoreOp::create(f.builder, f.loc, combine(old, value), target, bytes());
  };
  forUpTo(begin, main, lanes, extent / lanes + 1, update);
  forUpTo(main, end, 1, lanes, update);
}

/// Elements that the mask or the block leaves out are not touched.
void LockedUpdate::updateMasked(Value begin, Value end, Value address) {
  Type i64 = f.builder.getI64Type();
  forUpTo(begin, end, lanes, extent / lanes + 1, [&](const Coordinates &place) {
    Value value = f.loadBuffer(values, place), target = at(address, place.index[0]);
    Value left = make<arith::SubIOp>(end, place.index[0]);
    Value isInside = arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::slt,
                                           f.iota(i64, lanes), f.splat(left, lanes));
    isInside = make<arith::AndIOp>(isInside, f.loadBuffer(mask, place));
    Value none = LLVM::ZeroOp::create(f.builder, f.loc, value.getType());
    Value old = LLVM::MaskedLoadOp::create(f.builder, f.loc, value.getType(), target, isInside,
                                           none, f.builder.getI32IntegerAttr(bytes()), UnitAttr());
    LLVM::MaskedStoreOp::create(f.builder, f.loc, combine(old, value), target, isInside, bytes());
  });
}

/// The part of the row in one block of memory: the elements that begin in it.
void LockedUpdate::emitBlock(Value address, Value block) {
  Value size = number(int64_t(1) << kLockedBlockLog2);
  Value start = LLVM::PtrToIntOp::create(f.builder, f.loc, f.builder.getI64Type(), address);
  auto indexOf = [&](Value place) {
    Value distance = make<arith::SubIOp>(place, start);
    distance = make<arith::AddIOp>(distance, number(bytes() - 1));
    return make<arith::ShRSIOp>(distance, number(llvm::Log2_32(bytes())));
  };
  Value blockStart = make<arith::MulIOp>(block, size);
  Value begin = make<arith::MaxSIOp>(indexOf(blockStart), number(0));
  Value end = make<arith::MinSIOp>(indexOf(make<arith::AddIOp>(blockStart, size)), number(extent));
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the top bits of a product
  // with 2^64 over the golden ratio.
  Value hash = make<arith::MulIOp>(block, number(int64_t(0x9E3779B97F4A7C15)));
  hash = make<arith::ShRUIOp>(hash, number(64 - kNumLocksLog2));
  Value lock = LLVM::GEPOp::create(f.builder, f.loc, locks.getType(), f.builder.getI8Type(), locks,
                                   ValueRange{make<arith::ShLIOp>(hash, number(kLockStrideLog2))});
  take(lock);
  if (mask.base)
    updateMasked(begin, end, address);
  else
    updateUnmasked(begin, end, address);
  LLVM::StoreOp::create(f.builder, f.loc, f.constantOf(f.builder.getI32Type(), 0), lock, 4,
                        /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::release);
}

/// Taking a lock is a barrier: without this, the row's misses would begin behind it, and others
/// would wait for them too. What a mask may leave out is not fetched, and of a long row no more
/// than one block's size, so that the row's values stay in the first cache.
void LockedUpdate::prefetch(Value address) {
  OpBuilder &b = f.builder;
  int64_t size = std::min(extent * int64_t(bytes()), int64_t(1) << kLockedBlockLog2);
  auto fetch = [&](Value offset) {
    Value place = LLVM::GEPOp::create(b, f.loc, address.getType(), b.getI8Type(), address,
                                      ValueRange{offset});
    LLVM::Prefetch::create(b, f.loc, place, /*rw=*/1, /*hint=*/3, /*cache=*/1);
  };
  int64_t step = int64_t(1) << kLockStrideLog2; // a line, as a lock has one to itself
  forUpTo(number(0), number(size), step, llvm::divideCeil(size, step),
          [&](const Coordinates &line) { fetch(line.index[0]); });
  fetch(number(size - 1)); // in one line more where the row begins within a line
}

void LockedUpdate::emitRow(const Coordinates &outer) {
  Value address = f.evaluate(op.getPtr(), outer);
  if (!mask.base)
    prefetch(address);
  f.emitVectorLoop(extent, outer, dim, lanes, [&](const Coordinates &place) {
    Coordinates inRow = place;
    inRow.index = {place.index[dim]};
    inRow.vectorDim = place.vectorDim < 0 ? -1 : 0;
    f.storeBuffer(values, inRow, f.evaluate(op.getValue(), place));
    if (mask.base)
      f.storeBuffer(mask, inRow, f.evaluate(op.getMask(), place));
  });
  Value first = LLVM::PtrToIntOp::create(f.builder, f.loc, f.builder.getI64Type(), address);
  Value last = make<arith::AddIOp>(first, number(extent * bytes() - 1));
  Value shift = number(kLockedBlockLog2);
  Value end = make<arith::AddIOp>(make<arith::ShRUIOp>(last, shift), number(1));
  int64_t most = (extent * bytes() >> kLockedBlockLog2) + 2;
  forUpTo(make<arith::ShRUIOp>(first, shift), end, 1, most,
          [&](const Coordinates &block) { emitBlock(address, block.index[0]); });
}

void LockedUpdate::emit() {
  Type type = elementTypeOf(op.getValue().getType());
  element = f.lowered(type);
  lanes = std::min<int64_t>(f.machine.vectorBytes / elementBytes(type),
                            llvm::bit_floor(uint64_t(extent)));
  // The last vector of a masked row may reach behind it.
  values = f.allocate({extent + lanes}, type);
  TileBuffer flags;
  if (op.getMask())
    flags = f.allocate({extent + lanes}, f.builder.getI1Type());
  SmallVector<Value> trees = {op.getValue(), op.getPtr()};
  if (op.getMask())
    trees.push_back(op.getMask());
  f.withFullMasks(trees, [&] {
    bool isFull = !op.getMask() || f.assumedTrue.contains(op.getMask());
    mask = isFull ? TileBuffer() : flags;
    f.emitOuterLoops(shapeOf(op.getPtr().getType()), dim,
                     [&](const Coordinates &outer) { emitRow(outer); });
  });
}

LogicalResult SimdFunction::lowerAtomic(Operation *op) {
  auto access = cast<MemoryAccess>(op);
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result.getType());
  if (shape.empty()) {
    scalars[result] = emitAtomic(*this, access, Coordinates());
    return success();
  }
  auto emitElements = [&] {
    TileBuffer buffer;
    if (!result.use_empty())
      buffers[result] = buffer = allocate(result);
    emitNest(shape, int(shape.size()) - 1, 1, [&](const Coordinates &at) {
      Value old = emitAtomic(*this, access, at);
      if (!result.use_empty())
        storeBuffer(buffer, at, old);
    });
    return Value();
  };
  if (!plan.takesLocks(op)) {
    emitElements();
    return success();
  }
  Value locks =
      LLVM::GEPOp::create(builder, loc, scratch.getType(), builder.getI8Type(), programArgument,
                          ArrayRef<LLVM::GEPArg>{int32_t(offsetof(TwProgram, locks))});
  locks = LLVM::LoadOp::create(builder, loc, scratch.getType(), locks);
  Value none = LLVM::ZeroOp::create(builder, loc, locks.getType());
  Value hasLocks = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, locks, none);
  int dim = updatedDim(op, contiguity);
  LockedUpdate update = {*this, cast<AtomicRmwOp>(op), locks, dim, shape[dim], 1, {}, {}};
  choose(*this, hasLocks, Type(), [&] { return update.emit(), Value(); }, emitElements);
  return success();
}
