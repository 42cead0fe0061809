// Atomics on global memory: OpenCL's on integers of 32 and 64 bits, and loops of compare-and-swap
// for the rest.
#include "backend/gpu/RegisterWords.h"
#include "backend/gpu/atomics/AtomicLoops.h"
#include "backend/gpu/atomics/LlvmAtomics.h"
#include "backend/spirv/LowerSpirv.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

/// The scopes of LLVM's back end; none is all devices.
static constexpr ScopeNames kScopes = {"workgroup", "device", ""};

/// Returns true if SPIR-V has one instruction for it. Updates of floats are extensions ("SPV_EXT_
/// shader_atomic_float_add" and others), which devices may lack. What is moved is moved as bits.
static bool isNative(simt::AtomicOp op) {
  Type type = op.getResult().getType();
  if (gpu::bitsOf(type) < 32)
    return false;
  return isa<IntegerType>(type) || op.getExpected() || op.getKind() == tile::AtomicKind::Xchg ||
         op.getKind() == tile::AtomicKind::Load;
}

void tw::spirv::lowerAtomic(Lowering &lowering, simt::AtomicOp op) {
  Value mask = neededMask(op.getMask());
  if (isNative(op) && (!op.getExpected() || op.getKind() == tile::AtomicKind::Xchg))
    return op.replaceAllUsesWith(emitMasked(lowering, mask, op.getResult().getType(),
                                            [&] { return emitLlvmAtomic(lowering, op, kScopes); }));
  op.replaceAllUsesWith(emitAtomicLoop(
      lowering, op, mask,
      [&](Value address, Value expected, Value desired) {
        return emitLlvmSwap(lowering, op, address, expected, desired, kScopes);
      },
      /*narrowest=*/4));
}
