// Atomics on global memory: LLVM's, which knows what each machine has instructions for and writes
// loops of compare-and-swap for the rest.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/atomics/AtomicLoops.h"
#include "backend/gpu/atomics/LlvmAtomics.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// Atomics order accesses to global memory only: what is in LDS, barriers order ("-one-as": LLVM,
/// "Memory Model", synchronization scopes of one address space).
static constexpr ScopeNames kScopes = {"workgroup-one-as", "agent-one-as", "one-as"};

void tw::amd::lowerAtomic(Lowering &lowering, simt::AtomicOp op) {
  bool releases =
      op.getOrder() == tile::MemoryOrder::Release || op.getOrder() == tile::MemoryOrder::AcqRel;
  if (releases && op.getKind() != tile::AtomicKind::Load)
    waitBeforeRelease(lowering);
  Value mask = neededMask(op.getMask());
  op.replaceAllUsesWith(emitMasked(lowering, mask, op.getResult().getType(),
                                   [&] { return emitLlvmAtomic(lowering, op, kScopes); }));
}
