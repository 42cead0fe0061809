// Atomics: an instruction an element, or rows of vectors under locks.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

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

/// Emits a compare-and-swap. Returns whether memory held the expected bits, and the bits that it
/// held. The instruction compares bits.
static std::pair<Value, Value> emitSwap(SimdFunction &f, LLVM::AtomicOrdering order, Value pointer,
                                        Value expected, Value bits) {
  bool releases =
      order == LLVM::AtomicOrdering::release || order == LLVM::AtomicOrdering::monotonic;
  Value pair = LLVM::AtomicCmpXchgOp::create(f.builder, f.loc, pointer, expected, bits, order,
                                             releases ? LLVM::AtomicOrdering::monotonic
                                                      : LLVM::AtomicOrdering::acquire);
  return {LLVM::ExtractValueOp::create(f.builder, f.loc, pair, 1),
          LLVM::ExtractValueOp::create(f.builder, f.loc, pair, 0)};
}

static Value withType(SimdFunction &f, Value value, Type type) {
  return value.getType() == type ? value
                                 : Value(arith::BitcastOp::create(f.builder, f.loc, type, value));
}

static Value emitCompareExchange(SimdFunction &f, MemoryAccess access, Value pointer, Value compare,
                                 Value value) {
  Type type = value.getType(), bits = f.builder.getIntegerType(elementBytes(type) * 8);
  return withType(f,
                  emitSwap(f, orderingOf(*access.getAtomicOrder()), pointer,
                           withType(f, compare, bits), withType(f, value, bits))
                      .second,
                  type);
}

static Value emitLoad(SimdFunction &f, Type type, Value pointer, LLVM::AtomicOrdering order) {
  return LLVM::LoadOp::create(f.builder, f.loc, type, pointer, elementBytes(type),
                              /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
                              /*isInvariantGroup=*/false, order);
}

/// The maximum or minimum of floats: LLVM's own loop leaves the order of zeros open.
static Value emitExtremum(SimdFunction &f, MemoryAccess access, Value pointer, Value value) {
  OpBuilder &b = f.builder;
  Type type = value.getType(), bits = b.getIntegerType(elementBytes(type) * 8);
  bool isMax = access.getAtomicKind() == AtomicKind::FMax;
  Value first = emitLoad(f, bits, pointer, LLVM::AtomicOrdering::monotonic);
  auto loop = scf::WhileOp::create(b, f.loc, TypeRange(bits), ValueRange(first));
  OpBuilder::InsertionGuard guard(b);
  Value expected = b.createBlock(&loop.getBefore(), {}, bits, f.loc)->getArgument(0);
  Value old = withType(f, expected, type);
  Value chosen = isMax ? Value(arith::MaxNumFOp::create(b, f.loc, old, value))
                       : Value(arith::MinNumFOp::create(b, f.loc, old, value));
  auto [isSwapped, found] = emitSwap(f, orderingOf(*access.getAtomicOrder()), pointer, expected,
                                     withType(f, chosen, bits));
  Value isMissed = arith::XOrIOp::create(b, f.loc, isSwapped, f.constantOf(b.getI1Type(), 1));
  scf::ConditionOp::create(b, f.loc, isMissed, found);
  Value next = b.createBlock(&loop.getAfter(), {}, bits, f.loc)->getArgument(0);
  scf::YieldOp::create(b, f.loc, next);
  b.setInsertionPointAfter(loop);
  return withType(f, loop.getResult(0), type);
}

static Value emitUpdate(SimdFunction &f, MemoryAccess access, Value pointer, Value value) {
  LLVM::AtomicOrdering order = orderingOf(*access.getAtomicOrder());
  switch (access.getAtomicKind()) {
  case AtomicKind::Load:
    return emitLoad(f, value.getType(), pointer, order);
  case AtomicKind::FMax:
  case AtomicKind::FMin:
    return emitExtremum(f, access, pointer, value);
  default:
    return LLVM::AtomicRMWOp::create(f.builder, f.loc, binaryOf(access.getAtomicKind()), pointer,
                                     value, order);
  }
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
  Type type = value.getType();
  return ifTaken(f, evaluateMask(f, access.getAccessMask(), at), type, emit,
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
  lanes = std::min<int64_t>(f.machine.getVectorBytes() / elementBytes(type),
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
  int dim = updatedDim(op, facts);
  LockedUpdate update = {*this, cast<AtomicRmwOp>(op), locks, dim, shape[dim], 1, {}, {}};
  choose(*this, hasLocks, Type(), [&] { return update.emit(), Value(); }, emitElements);
  return success();
}
