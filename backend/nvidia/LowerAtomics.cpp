// Atomics on global memory: one predicated instruction where the machine has it, else a loop of
// compare-and-swap.
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/RegisterWords.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

using namespace mlir;
using namespace tw;
using namespace tw::nvidia;

namespace {
/// Where and how an atomic acts.
struct AtomicAccess {
  Value ptr, mask; // the mask may be null
  tile::MemoryOrder order;
  tile::MemoryScope scope;
  /// ".acq_rel.gpu.global", which follows "atom" or "red".
  std::string modifiers() const {
    return ("." + tile::stringifyMemoryOrder(order) + "." + tile::stringifyMemoryScope(scope) +
            ".global")
        .str();
  }
};

/// The word that a compare-and-swap loop works on. A byte lies `shift` bits into its aligned word.
struct CasWord {
  Value address;
  Type type; // i16, i32 or i64
  Value shift;
};
} // namespace

static Value constantOf(Lowering &lowering, Type type, uint64_t value) {
  return LLVM::ConstantOp::create(lowering.builder, lowering.loc, type,
                                  lowering.builder.getIntegerAttr(type, value));
}

/// One instruction. The result is 0 where the mask is false.
static Value emitAtom(Lowering &lowering, const AtomicAccess &access, StringRef operation,
                      ValueRange words) {
  InlinePtx code(lowering.builder, lowering.loc);
  Type type = words.front().getType();
  std::string result = code.addResult(type, access.mask ? constantOf(lowering, type, 0) : Value());
  std::string text = code.addGuard(access.mask) + "atom" + access.modifiers() + "." +
                     operation.str() + " " + result + ", [" + code.addOperand(access.ptr) + "]";
  for (Value word : words)
    text += ", " + code.addOperand(word);
  return code.emit(text + ";", /*hasEffects=*/true).front();
}

/// The same without a result.
static void emitRed(Lowering &lowering, const AtomicAccess &access, StringRef operation,
                    Value word) {
  InlinePtx code(lowering.builder, lowering.loc);
  std::string text = code.addGuard(access.mask) + "red" + access.modifiers() + "." +
                     operation.str() + " [" + code.addOperand(access.ptr) + "], ";
  code.emit(text + code.addOperand(word) + ";", /*hasEffects=*/true);
}

static std::optional<std::string> nativeFloatAdd(const Lowering &lowering, Type type) {
  if (type.isF32() || type.isF64())
    return type.isF32() ? "add.f32" : "add.f64";
  if (type.isF16())
    return "add.noftz.f16";
  if (type.isBF16() && hasFeature(lowering, "atomic-bf16"))
    return "add.noftz.bf16";
  return std::nullopt;
}

/// Operation and type of the instruction that does it all (PTX ISA, "atom"), if there is one.
static std::optional<std::string> nativeOperation(const Lowering &lowering, tile::AtomicKind kind,
                                                  Type type) {
  if (kind == tile::AtomicKind::FAdd)
    return nativeFloatAdd(lowering, type);
  unsigned bits = wordFormOf(type).bytes * 8;
  if (bits < 32)
    return std::nullopt;
  std::string width = std::to_string(bits);
  switch (kind) {
  case tile::AtomicKind::Add:
    return "add.u" + width;
  case tile::AtomicKind::Max:
    return "max.s" + width;
  case tile::AtomicKind::Min:
    return "min.s" + width;
  case tile::AtomicKind::UMax:
    return "max.u" + width;
  case tile::AtomicKind::UMin:
    return "min.u" + width;
  case tile::AtomicKind::And:
    return "and.b" + width;
  case tile::AtomicKind::Or:
    return "or.b" + width;
  case tile::AtomicKind::Xor:
    return "xor.b" + width;
  case tile::AtomicKind::Xchg:
    return "exch.b" + width;
  default: // the instructions have no minimum and maximum of floats
    return std::nullopt;
  }
}

/// What `kind` stores, as Tile IR defines it (ir/README.md): floats of 16 bits by way of f32, which
/// rounds once, and fmax and fmin prefer numbers to NaN.
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

/// The aligned word that a byte is part of. Memory is allocated in whole words.
static CasWord wordOfByte(Lowering &lowering, Value ptr) {
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

static Value elementOfWord(Lowering &lowering, const CasWord &place, Value word, Type type) {
  if (place.shift)
    word = arith::TruncIOp::create(
        lowering.builder, lowering.loc, lowering.builder.getI8Type(),
        arith::ShRUIOp::create(lowering.builder, lowering.loc, word, place.shift));
  return fromWords(lowering.builder, lowering.loc, word, type);
}

/// `word` with `element` in its place.
static Value replaceElement(Lowering &lowering, const CasWord &place, Value word, Value element) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (!place.shift)
    return toWords(b, loc, element).front();
  Value ones = arith::ShLIOp::create(b, loc, constantOf(lowering, place.type, 0xff), place.shift);
  Value others = arith::XOrIOp::create(b, loc, ones, constantOf(lowering, place.type, 0xffffffff));
  Value kept = arith::AndIOp::create(b, loc, word, others);
  Value wide = arith::ExtUIOp::create(b, loc, place.type, element);
  return arith::OrIOp::create(b, loc, kept, arith::ShLIOp::create(b, loc, wide, place.shift));
}

/// Replaces the element by `update` of it until no other thread came between. The first guess is 0:
/// when it is wrong, the failed swap has read the word, as a load would have.
static Value emitCasLoop(Lowering &lowering, AtomicAccess access, Type type,
                         llvm::function_ref<Value(Value old)> update) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  CasWord place{access.ptr, wordFormOf(type).word, Value()};
  if (wordFormOf(type).bytes == 1)
    place = wordOfByte(lowering, access.ptr);
  access.ptr = place.address;
  access.mask = Value();
  std::string operation = "cas.b" + std::to_string(place.type.getIntOrFloatBitWidth());
  auto before = [&](OpBuilder &, Location, ValueRange guess) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(cast<BlockArgument>(guess[0]).getOwner());
    Value updated = update(elementOfWord(lowering, place, guess[0], type));
    Value desired = replaceElement(lowering, place, guess[0], updated);
    Value found = emitAtom(lowering, access, operation, {guess[0], desired});
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

/// A loop that only threads whose mask is true enter; the others get 0.
static Value emitMaskedCasLoop(Lowering &lowering, const AtomicAccess &access, Type type,
                               llvm::function_ref<Value(Value old)> update) {
  if (!access.mask)
    return emitCasLoop(lowering, access, type, update);
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, TypeRange(type), access.mask,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, lowering.loc, emitCasLoop(lowering, access, type, update));
  b.setInsertionPointToStart(branch.elseBlock());
  Value zero = LLVM::ZeroOp::create(b, lowering.loc, type);
  scf::YieldOp::create(b, lowering.loc, zero);
  return branch.getResult(0);
}

/// One load that no other access of the element tears, and that orders what follows when it
/// acquires (PTX ISA, "ld").
static Value emitAtomicLoad(Lowering &lowering, const AtomicAccess &access, Type type) {
  InlinePtx code(lowering.builder, lowering.loc);
  WordForm form = wordFormOf(type);
  Value zero = access.mask ? constantOf(lowering, form.word, 0) : Value();
  std::string result = code.addResult(form.word, zero);
  std::string text = code.addGuard(access.mask) + "ld" + access.modifiers() + "." + form.type +
                     " " + result + ", [" + code.addOperand(access.ptr) + "];";
  Value word = code.emit(text, /*hasEffects=*/true).front();
  return fromWords(lowering.builder, lowering.loc, word, type);
}

void tw::nvidia::lowerAtomicRmw(Lowering &lowering, simt::AtomicRmwOp op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = op.getResult().getType();
  AtomicAccess access{op.getPtr(), neededMask(op.getMask()), op.getOrder(), op.getScope()};
  if (op.getKind() == tile::AtomicKind::Load)
    return op.replaceAllUsesWith(emitAtomicLoad(lowering, access, type));
  if (std::optional<std::string> native = nativeOperation(lowering, op.getKind(), type)) {
    Value word = toWords(b, loc, op.getValue()).front();
    bool isOneWay =
        access.order == tile::MemoryOrder::Relaxed || access.order == tile::MemoryOrder::Release;
    if (op.use_empty() && isOneWay && op.getKind() != tile::AtomicKind::Xchg)
      emitRed(lowering, access, *native, word);
    else
      op.replaceAllUsesWith(fromWords(b, loc, emitAtom(lowering, access, *native, word), type));
    return;
  }
  op.replaceAllUsesWith(emitMaskedCasLoop(lowering, access, type, [&](Value old) {
    Value updated =
        combine(b, loc, op.getKind(), widened(b, loc, old), widened(b, loc, op.getValue()));
    return narrowed(b, loc, updated, type);
  }));
}

void tw::nvidia::lowerAtomicCas(Lowering &lowering, simt::AtomicCasOp op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = op.getResult().getType();
  AtomicAccess access{op.getPtr(), neededMask(op.getMask()), op.getOrder(), op.getScope()};
  WordForm form = wordFormOf(type);
  Value compare = toWords(b, loc, op.getCompare()).front();
  if (form.bytes > 1) {
    Value value = toWords(b, loc, op.getValue()).front();
    std::string operation = "cas.b" + std::to_string(form.bytes * 8);
    op.replaceAllUsesWith(
        fromWords(b, loc, emitAtom(lowering, access, operation, {compare, value}), type));
    return;
  }
  op.replaceAllUsesWith(emitMaskedCasLoop(lowering, access, type, [&](Value old) -> Value {
    Value bits = toWords(b, loc, old).front();
    Value equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bits, compare);
    return arith::SelectOp::create(b, loc, equal, op.getValue(), old);
  }));
}
