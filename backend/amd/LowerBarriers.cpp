// Barriers and releases: fences, and the waits that LLVM leaves out.
#include "backend/amd/LowerAmd.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// A fence of shared memory only, unless it orders all. Without the mark it would also wait for
/// every access to global memory, and on RDNA drop the first level's cache (LLVM, "Memory Model",
/// address space MMRAs).
static void emitFence(Lowering &lowering, LLVM::AtomicOrdering ordering, StringRef scope,
                      bool ordersGlobal) {
  OpBuilder &b = lowering.builder;
  auto fence = LLVM::FenceOp::create(b, lowering.loc, ordering, scope);
  if (!ordersGlobal)
    fence->setAttr(LLVM::LLVMDialect::getMmraAttrName(),
                   LLVM::MMRATagAttr::get(b.getContext(), "amdgpu-synchronize-as", "local"));
}

/// Returns the operand of s_waitcnt (instruction sets, "SOPP: S_WAITCNT") that waits until no
/// access of shared memory is in flight and, if `waitsForGlobal`, none of global memory. It does
/// not wait for exports.
static int64_t waitCountOf(const AmdArch &arch, bool waitsForGlobal) {
  constexpr int64_t anyExport = 7;
  int64_t most = waitsForGlobal ? 0 : 63;
  if (arch.generation == 9)
    return (most & 15) | anyExport << 4 | (most >> 4) << 14;
  return most << 10 | anyExport;
}

static void emitWaitOfGfx12(Lowering &lowering, StringRef counter, int64_t left = 0) {
  Type i16 = lowering.builder.getI16Type();
  callIntrinsic(lowering, "amdgcn.s.wait." + counter, Type(), constantOf(lowering, i16, left));
}

/// Waits until this wave's accesses of shared memory are complete, and those of global memory where
/// they are to be. A release fence means that, but LLVM 22 takes its wait away in a loop that is
/// entered with nothing under way, even where the loop's end leaves accesses behind
/// (SIInsertWaitcnts looks at what the waits of fences are for before it knows of them). A wait
/// that stands by itself it keeps.
static void emitWaits(Lowering &lowering, bool waitsForGlobal) {
  OpBuilder &b = lowering.builder;
  if (lowering.arch.generation == 12) {
    emitWaitOfGfx12(lowering, "dscnt");
    if (waitsForGlobal) {
      emitWaitOfGfx12(lowering, "loadcnt");
      emitWaitOfGfx12(lowering, "storecnt");
    }
    return;
  }
  callIntrinsic(lowering, "amdgcn.s.waitcnt", Type(),
                constantI32(lowering, waitCountOf(lowering.arch, waitsForGlobal)));
  // Stores have a counter of their own from RDNA on, for which there is no intrinsic.
  if (waitsForGlobal && lowering.arch.generation == 11)
    LLVM::InlineAsmOp::create(b, lowering.loc, TypeRange(), ValueRange(),
                              "s_waitcnt_vscnt null, 0x0", "~{memory}",
                              /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

void tw::amd::waitBeforeRelease(Lowering &lowering) {
  emitFence(lowering, LLVM::AtomicOrdering::acq_rel, "wavefront", /*ordersGlobal=*/true);
  emitWaits(lowering, /*waitsForGlobal=*/true);
}

/// Loads and stores of global memory count with the copies: where those are under way, this waits
/// for more than it has to. Copies that a wave may leave out do not count, so that it waits for
/// all; where copies have a counter of their own, it has waited there (`awaitCopies`).
void tw::amd::lowerCopiesWait(Lowering &lowering, simt::CopiesWaitOp op) {
  constexpr int64_t anyExport = 7, anyShared = 15;
  if (op.getOfArrays())
    return emitWaitOfGfx12(lowering, "tensorcnt", std::min<int64_t>(op.getLeft(), 63));
  if (lowering.arch.countsCopies())
    return emitWaitOfGfx12(lowering, "asynccnt", std::min<int64_t>(op.getLeft(), 63));
  int64_t left = lowering.leavesOutCopies ? 0 : std::min<int64_t>(op.getLeft(), 63);
  callIntrinsic(
      lowering, "amdgcn.s.waitcnt", Type(),
      constantI32(lowering, (left & 15) | anyExport << 4 | anyShared << 8 | (left >> 4) << 14));
}

void tw::amd::awaitCopies(Lowering &lowering) { emitWaitOfGfx12(lowering, "asynccnt"); }

static StringRef fenceScopeOf(tile::MemoryScope scope) {
  if (scope == tile::MemoryScope::CTA)
    return "workgroup";
  return scope == tile::MemoryScope::GPU ? "agent" : ""; // "": all of the system
}

/// s_barrier orders no memory: the fences on both sides do. The lanes of one wave access memory in
/// program order, so that a program of one only keeps the compiler from reordering, and from
/// copying what follows into the branches before: their lanes would not go on together. Fences may
/// be copied (they are not convergent), `wave.barrier`, which costs no instruction, may not.
void tw::amd::lowerBarrier(Lowering &lowering, simt::BarrierOp op) {
  bool isOfWave = op.getWarp() || lowering.numWarps == 1;
  auto order = lowering.ordersGlobal.find(op);
  bool ordersGlobal = order != lowering.ordersGlobal.end();
  StringRef scope = isOfWave ? "wavefront" : "workgroup";
  StringRef released = isOfWave || !ordersGlobal ? scope : fenceScopeOf(order->second);
  emitFence(lowering, LLVM::AtomicOrdering::release, released, ordersGlobal);
  // What a wave has read is overwritten by its own copies only after that.
  if (!isOfWave || lowering.copiesDirectly)
    emitWaits(lowering, ordersGlobal);
  callIntrinsic(lowering, isOfWave ? "amdgcn.wave.barrier" : "amdgcn.s.barrier", Type(), {});
  emitFence(lowering, LLVM::AtomicOrdering::acquire, scope, ordersGlobal);
}
