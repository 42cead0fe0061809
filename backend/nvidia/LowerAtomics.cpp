// Atomics on global memory: one predicated instruction where the machine has it, else a loop of
// compare-and-swap.
#include "backend/gpu/RegisterWords.h"
#include "backend/gpu/atomics/AtomicLoops.h"
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <optional>

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
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
} // namespace

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
  if (type.isBF16() && hasFeature(lowering.target, tile::Feature::AtomicBF16))
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

/// The instruction that the loops of compare-and-swap repeat.
static auto swapOf(Lowering &lowering, const AtomicAccess &access) {
  return [&lowering, access](Value address, Value expected, Value desired) {
    AtomicAccess swap{address, Value(), access.order, access.scope};
    std::string bits = std::to_string(expected.getType().getIntOrFloatBitWidth());
    return emitAtom(lowering, swap, "cas.b" + bits, {expected, desired});
  };
}

/// One load that no other access of the element tears, and that orders what follows when it
/// acquires (PTX ISA, "ld").
static Value emitAtomicLoad(Lowering &lowering, const AtomicAccess &access, Type type) {
  InlinePtx code(lowering.builder, lowering.loc);
  WordForm form = wordFormOf(type);
  Value zero = access.mask ? constantOf(lowering, form.word, 0) : Value();
  std::string result = code.addResult(form.word, zero);
  std::string text = code.addGuard(access.mask) + "ld" + access.modifiers() + ".b" +
                     std::to_string(form.bits) + " " + result + ", [" +
                     code.addOperand(access.ptr) + "];";
  Value word = code.emit(text, /*hasEffects=*/true).front();
  return fromWords(lowering.builder, lowering.loc, word, type);
}

/// A compare-and-swap by one instruction; null where there is none: of a byte.
static Value emitCas(Lowering &lowering, const AtomicAccess &access, simt::AtomicOp op) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  WordForm form = wordFormOf(type);
  if (form.bytes == 1 || op.getKind() != tile::AtomicKind::Xchg)
    return {};
  Value expected = toWords(b, lowering.loc, op.getExpected()).front();
  Value value = toWords(b, lowering.loc, op.getValue()).front();
  std::string operation = "cas.b" + std::to_string(form.bytes * 8);
  return fromWords(b, lowering.loc, emitAtom(lowering, access, operation, {expected, value}), type);
}

/// Any other update by one instruction; null where there is none.
static Value emitUpdate(Lowering &lowering, const AtomicAccess &access, simt::AtomicOp op) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  if (op.getKind() == tile::AtomicKind::Load)
    return emitAtomicLoad(lowering, access, type);
  std::optional<std::string> native = nativeOperation(lowering, op.getKind(), type);
  if (!native)
    return {};
  Value word = toWords(b, lowering.loc, op.getValue()).front();
  bool isOneWay =
      access.order == tile::MemoryOrder::Relaxed || access.order == tile::MemoryOrder::Release;
  if (!op.use_empty() || !isOneWay || op.getKind() == tile::AtomicKind::Xchg)
    return fromWords(b, lowering.loc, emitAtom(lowering, access, *native, word), type);
  emitRed(lowering, access, *native, word);
  return op.getValue(); // nobody asks for what was there
}

void tw::nvidia::lowerAtomic(Lowering &lowering, simt::AtomicOp op) {
  AtomicAccess access{op.getPtr(), neededMask(op.getMask()), op.getOrder(), op.getScope()};
  Value before =
      op.getExpected() ? emitCas(lowering, access, op) : emitUpdate(lowering, access, op);
  if (!before)
    before = emitAtomicLoop(lowering, op, access.mask, swapOf(lowering, access));
  op.replaceAllUsesWith(before);
}
