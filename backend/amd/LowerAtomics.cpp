// Atomics on global memory: LLVM's, which knows what each machine has instructions for and writes
// loops of compare-and-swap for the rest.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/AtomicLoops.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// Atomics order accesses to global memory only: what is in LDS, barriers order ("-one-as": LLVM,
/// "Memory Model", synchronization scopes of one address space).
static StringRef scopeOf(tile::MemoryScope scope) {
  switch (scope) {
  case tile::MemoryScope::CTA:
    return "workgroup-one-as";
  case tile::MemoryScope::GPU:
    return "agent-one-as";
  case tile::MemoryScope::System:
    return "one-as";
  }
  return "one-as";
}

static LLVM::AtomicOrdering orderingOf(tile::MemoryOrder order) {
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

/// Returns the part of an ordering that applies to a load or a failed swap: it releases nothing.
static LLVM::AtomicOrdering loadOrderingOf(tile::MemoryOrder order) {
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
static Value bitsOf(Lowering &lowering, Value value) {
  return toInteger(lowering.builder, lowering.loc, value);
}

static Value valueOf(Lowering &lowering, Value bits, Type type) {
  return fromInteger(lowering.builder, lowering.loc, bits, type);
}

static Value emitRmw(Lowering &lowering, simt::AtomicOp op) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  unsigned bytes = bytesOf(type);
  StringRef scope = scopeOf(op.getScope());
  if (op.getKind() == tile::AtomicKind::Load) {
    Value word = LLVM::LoadOp::create(
        b, lowering.loc, b.getIntegerType(8 * bytes), op.getPtr(), bytes, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false, /*isInvariantGroup=*/false,
        loadOrderingOf(op.getOrder()), scope);
    return valueOf(lowering, word, type);
  }
  bool isExchange = op.getKind() == tile::AtomicKind::Xchg;
  Value value = isExchange ? bitsOf(lowering, op.getValue()) : op.getValue();
  Value before = LLVM::AtomicRMWOp::create(b, lowering.loc, operationOf(op.getKind()), op.getPtr(),
                                           value, orderingOf(op.getOrder()), scope, bytes);
  return isExchange ? valueOf(lowering, before, type) : before;
}

static Value emitCas(Lowering &lowering, simt::AtomicOp op) {
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  Value expected = bitsOf(lowering, op.getExpected()), value = bitsOf(lowering, op.getValue());
  Value both = LLVM::AtomicCmpXchgOp::create(
      b, lowering.loc, op.getPtr(), expected, value, orderingOf(op.getOrder()),
      loadOrderingOf(op.getOrder()), scopeOf(op.getScope()), bytesOf(type));
  Value found = LLVM::ExtractValueOp::create(b, lowering.loc, both, int64_t(0));
  return valueOf(lowering, found, type);
}

void tw::amd::lowerAtomic(Lowering &lowering, simt::AtomicOp op) {
  bool releases =
      op.getOrder() == tile::MemoryOrder::Release || op.getOrder() == tile::MemoryOrder::AcqRel;
  if (releases && op.getKind() != tile::AtomicKind::Load)
    waitBeforeRelease(lowering);
  Value mask = neededMask(op.getMask());
  op.replaceAllUsesWith(emitMasked(lowering, mask, op.getResult().getType(), [&] {
    return op.getExpected() ? emitCas(lowering, op) : emitRmw(lowering, op);
  }));
}
