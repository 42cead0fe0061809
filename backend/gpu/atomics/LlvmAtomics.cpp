// Atomics that LLVM has an operation for, on global memory.
#include "backend/gpu/atomics/LlvmAtomics.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

StringRef ScopeNames::of(tile::MemoryScope scope) const {
  switch (scope) {
  case tile::MemoryScope::CTA:
    return cta;
  case tile::MemoryScope::GPU:
    return gpu;
  case tile::MemoryScope::System:
    return system;
  }
  return system;
}

LLVM::AtomicOrdering tw::gpu::orderingOf(tile::MemoryOrder order) {
  switch (order) {
  case tile::MemoryOrder::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case tile::MemoryOrder::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case tile::MemoryOrder::Release:
    return LLVM::AtomicOrdering::release;
  case tile::MemoryOrder::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  }
  return LLVM::AtomicOrdering::acq_rel;
}

LLVM::AtomicOrdering tw::gpu::loadOrderingOf(tile::MemoryOrder order) {
  bool acquires = order == tile::MemoryOrder::Acquire || order == tile::MemoryOrder::AcqRel;
  return acquires ? LLVM::AtomicOrdering::acquire : LLVM::AtomicOrdering::monotonic;
}

static LLVM::AtomicBinOp operationOf(tile::AtomicKind kind) {
  switch (kind) {
  case tile::AtomicKind::Add:
    return LLVM::AtomicBinOp::add;
  case tile::AtomicKind::FAdd:
    return LLVM::AtomicBinOp::fadd;
  case tile::AtomicKind::Max:
    return LLVM::AtomicBinOp::max;
  case tile::AtomicKind::Min:
    return LLVM::AtomicBinOp::min;
  case tile::AtomicKind::UMax:
    return LLVM::AtomicBinOp::umax;
  case tile::AtomicKind::UMin:
    return LLVM::AtomicBinOp::umin;
  case tile::AtomicKind::FMax:
    return LLVM::AtomicBinOp::fmax;
  case tile::AtomicKind::FMin:
    return LLVM::AtomicBinOp::fmin;
  case tile::AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case tile::AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case tile::AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case tile::AtomicKind::Xchg:
  case tile::AtomicKind::Load:
    return LLVM::AtomicBinOp::xchg;
  }
  return LLVM::AtomicBinOp::xchg;
}

static unsigned bytesOf(Type type) { return std::max(1u, bitsOf(type) / 8); }

/// The bits of a value as an integer of its width.
static Value asBits(ThreadLowering &lowering, Value value) {
  return toInteger(lowering.builder, lowering.loc, value);
}

static Value valueOf(ThreadLowering &lowering, Value bits, Type type) {
  return fromInteger(lowering.builder, lowering.loc, bits, type);
}

static Value emitRmw(ThreadLowering &lowering, simt::AtomicOp op, StringRef scope) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  unsigned bytes = bytesOf(type);
  if (op.getKind() == tile::AtomicKind::Load) {
    Value word = LLVM::LoadOp::create(
        b, lowering.loc, b.getIntegerType(8 * bytes), op.getPtr(), bytes, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false, /*isInvariantGroup=*/false,
        loadOrderingOf(op.getOrder()), scope);
    return valueOf(lowering, word, type);
  }
  bool isExchange = op.getKind() == tile::AtomicKind::Xchg;
  Value value = isExchange ? asBits(lowering, op.getValue()) : op.getValue();
  Value before = LLVM::AtomicRMWOp::create(b, lowering.loc, operationOf(op.getKind()), op.getPtr(),
                                           value, orderingOf(op.getOrder()), scope, bytes);
  return isExchange ? valueOf(lowering, before, type) : before;
}

Value tw::gpu::emitLlvmSwap(ThreadLowering &lowering, simt::AtomicOp op, Value address,
                            Value expected, Value desired, const ScopeNames &scopes) {
  OpBuilder &b = lowering.builder;
  Value both = LLVM::AtomicCmpXchgOp::create(
      b, lowering.loc, address, expected, desired, orderingOf(op.getOrder()),
      loadOrderingOf(op.getOrder()), scopes.of(op.getScope()), bytesOf(expected.getType()));
  return LLVM::ExtractValueOp::create(b, lowering.loc, both, int64_t(0));
}

Value tw::gpu::emitLlvmAtomic(ThreadLowering &lowering, simt::AtomicOp op,
                              const ScopeNames &scopes) {
  if (!op.getExpected())
    return emitRmw(lowering, op, scopes.of(op.getScope()));
  Value found = emitLlvmSwap(lowering, op, op.getPtr(), asBits(lowering, op.getExpected()),
                             asBits(lowering, op.getValue()), scopes);
  return valueOf(lowering, found, op.getResult().getType());
}
