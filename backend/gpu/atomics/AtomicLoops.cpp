// Atomics that a machine has no instruction for, as loops of compare-and-swap.
#include "backend/gpu/atomics/AtomicLoops.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

namespace {
/// The word that a compare-and-swap loop works on. An element that is narrower lies `shift` bits
/// into its aligned word.
struct CasWord {
  Value address;
  Type type; // i16, i32 or i64
  Value shift;
};
} // namespace

/// Emits the value that `kind` stores, as Tile IR defines it (ir/README.md): floats of 16 bits by
/// way of f32, which rounds once, and fmax and fmin prefer numbers to NaN.
static Value combine(OpBuilder &b, Location loc, tile::AtomicKind kind, Value old, Value value) {
  switch (kind) {
  case tile::AtomicKind::Add:
    return arith::AddIOp::create(b, loc, old, value);
  case tile::AtomicKind::FAdd:
    return arith::AddFOp::create(b, loc, old, value);
  case tile::AtomicKind::Max:
    return arith::MaxSIOp::create(b, loc, old, value);
  case tile::AtomicKind::Min:
    return arith::MinSIOp::create(b, loc, old, value);
  case tile::AtomicKind::UMax:
    return arith::MaxUIOp::create(b, loc, old, value);
  case tile::AtomicKind::UMin:
    return arith::MinUIOp::create(b, loc, old, value);
  case tile::AtomicKind::FMax:
    return arith::MaxNumFOp::create(b, loc, old, value);
  case tile::AtomicKind::FMin:
    return arith::MinNumFOp::create(b, loc, old, value);
  case tile::AtomicKind::And:
    return arith::AndIOp::create(b, loc, old, value);
  case tile::AtomicKind::Or:
    return arith::OrIOp::create(b, loc, old, value);
  case tile::AtomicKind::Xor:
    return arith::XOrIOp::create(b, loc, old, value);
  case tile::AtomicKind::Load:
    return old;
  case tile::AtomicKind::Xchg:
    return value;
  }
  return value;
}

static Value widened(OpBuilder &b, Location loc, Value value) {
  bool isNarrow = isa<FloatType>(value.getType()) && value.getType().getIntOrFloatBitWidth() < 32;
  return isNarrow ? Value(arith::ExtFOp::create(b, loc, b.getF32Type(), value)) : value;
}

static Value narrowed(OpBuilder &b, Location loc, Value value, Type type) {
  return value.getType() == type ? value : Value(arith::TruncFOp::create(b, loc, type, value));
}

/// The aligned word that a byte or a half is part of. Memory is allocated in whole words.
static CasWord wordAround(ThreadLowering &lowering, Value ptr) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type i64 = b.getI64Type();
  Value address = LLVM::PtrToIntOp::create(b, loc, i64, ptr);
  Value aligned = arith::AndIOp::create(b, loc, address, constantOf(lowering, i64, ~uint64_t(3)));
  Value bytes = arith::AndIOp::create(b, loc, address, constantOf(lowering, i64, 3));
  Value bits = arith::ShLIOp::create(b, loc, bytes, constantOf(lowering, i64, 3));
  return {LLVM::IntToPtrOp::create(b, loc, ptr.getType(), aligned), b.getI32Type(),
          arith::TruncIOp::create(b, loc, b.getI32Type(), bits)};
}

static Value elementOfWord(ThreadLowering &lowering, const CasWord &place, Value word, Type type) {
  if (place.shift)
    word = arith::TruncIOp::create(
        lowering.builder, lowering.loc, lowering.builder.getIntegerType(bitsOf(type)),
        arith::ShRUIOp::create(lowering.builder, lowering.loc, word, place.shift));
  return fromWords(lowering.builder, lowering.loc, word, type);
}

/// `word` with `element` in its place.
static Value replaceElement(ThreadLowering &lowering, const CasWord &place, Value word,
                            Value element) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (!place.shift)
    return toWords(b, loc, element).front();
  element = toInteger(b, loc, element);
  uint64_t all = llvm::maskTrailingOnes<uint64_t>(bitsOf(element.getType()));
  Value ones = arith::ShLIOp::create(b, loc, constantOf(lowering, place.type, all), place.shift);
  Value others = arith::XOrIOp::create(b, loc, ones, constantOf(lowering, place.type, 0xffffffff));
  Value kept = arith::AndIOp::create(b, loc, word, others);
  Value wide = arith::ExtUIOp::create(b, loc, place.type, element);
  return arith::OrIOp::create(b, loc, kept, arith::ShLIOp::create(b, loc, wide, place.shift));
}

/// Replaces the element by `update` of it until no other thread came between. The first guess is 0:
/// when it is wrong, the failed swap has read the word, as a load would have.
static Value emitCasLoop(ThreadLowering &lowering, Value ptr, Type type, SwapEmitter swap,
                         unsigned narrowest, llvm::function_ref<Value(Value old)> update) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  CasWord place{ptr, wordFormOf(type).word, Value()};
  if (wordFormOf(type).bytes < narrowest)
    place = wordAround(lowering, ptr);
  auto before = [&](OpBuilder &, Location, ValueRange guess) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(cast<BlockArgument>(guess[0]).getOwner());
    Value updated = update(elementOfWord(lowering, place, guess[0], type));
    Value desired = replaceElement(lowering, place, guess[0], updated);
    Value found = swap(place.address, guess[0], desired);
    Value changed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, found, guess[0]);
    scf::ConditionOp::create(b, loc, changed, found);
  };
  auto after = [&](OpBuilder &nested, Location, ValueRange found) {
    scf::YieldOp::create(nested, loc, found);
  };
  auto loop = scf::WhileOp::create(b, loc, TypeRange(place.type),
                                   ValueRange(constantOf(lowering, place.type, 0)), before, after);
  return elementOfWord(lowering, place, loop.getResult(0), type);
}

Value tw::gpu::emitMasked(ThreadLowering &lowering, Value mask, Type type,
                          llvm::function_ref<Value()> emit) {
  if (!mask)
    return emit();
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, TypeRange(type), mask,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, lowering.loc, emit());
  b.setInsertionPointToStart(branch.elseBlock());
  Value zero = LLVM::ZeroOp::create(b, lowering.loc, type);
  scf::YieldOp::create(b, lowering.loc, zero);
  return branch.getResult(0);
}

/// `updated` where the element is of the expected bits.
static Value selectExpected(ThreadLowering &lowering, simt::AtomicOp op, Value old, Value updated) {
  OpBuilder &b = lowering.builder;
  Value expected = toWords(b, lowering.loc, op.getExpected()).front();
  Value bits = toWords(b, lowering.loc, old).front();
  Value equal = arith::CmpIOp::create(b, lowering.loc, arith::CmpIPredicate::eq, bits, expected);
  return arith::SelectOp::create(b, lowering.loc, equal, updated, old);
}

Value tw::gpu::emitAtomicLoop(ThreadLowering &lowering, simt::AtomicOp op, Value mask,
                              SwapEmitter swap, unsigned narrowest) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = op.getResult().getType();
  auto update = [&](Value old) {
    Value updated = op.getValue();
    if (op.getKind() != tile::AtomicKind::Xchg)
      updated = narrowed(
          b, loc, combine(b, loc, op.getKind(), widened(b, loc, old), widened(b, loc, updated)),
          type);
    return op.getExpected() ? selectExpected(lowering, op, old, updated) : updated;
  };
  return emitMasked(lowering, mask, type, [&] {
    return emitCasLoop(lowering, op.getPtr(), type, swap, narrowest, update);
  });
}
