// What one thread does in the `simt` dialect, as LLVM dialect for AMD GPUs.
#ifndef BACKEND_AMD_LOWERAMD_H
#define BACKEND_AMD_LOWERAMD_H
#include "backend/amd/addresses/SteadyAccesses.h"
#include "backend/amd/machine/AmdArch.h"
#include "backend/gpu/GlobalOrder.h"
#include "backend/gpu/ThreadLowering.h"
#include "backend/gpu/UniformValues.h"
#include "passes/StagedPasses.h"
#include <memory>

namespace mlir::LLVM {
class LLVMFuncOp;
}

namespace tw {

/// The pass `lower-amd`: from the stage lowered, after expand-simt-math; lower-to-llvm follows.
std::unique_ptr<mlir::Pass> createLowerAmd(const AmdArch &arch, AmdLimits limits = {});
/// Registers the passes of this folder by name for tile-opt.
void registerAmdPasses();
/// Returns the inputs that the passes of this folder take.
llvm::ArrayRef<PassInput> amdPassInputs();

namespace amd {
struct Lowering;
/// Notes whether a kernel copies directly, and whether waves may leave out copies.
void noteCopies(Lowering &lowering);
/// Notes exchanges of rows whose lanes have one value each.
void noteRows(Lowering &lowering);

/// The state of lowering one kernel.
struct Lowering : gpu::ThreadLowering {
  Lowering(mlir::Operation *kernel, unsigned numWarps, tile::TargetAttr target, const AmdArch &arch)
      : ThreadLowering(kernel, numWarps, target), arch(arch), uniform(kernel), steady(kernel) {
    stackSpace = 5;
    ordersGlobal = gpu::barriersOfGlobalMemory(kernel);
    noteCopies(*this);
    noteRows(*this);
  }
  const AmdArch &arch;
  gpu::UniformValues uniform;
  SteadyAccesses steady;
  /// The barriers that do, with the scope to which waves release before them.
  llvm::DenseMap<mlir::Operation *, tile::MemoryScope> ordersGlobal;
  bool hasPrint = false, keepsFarOffsets = false;
  bool copiesDirectly = false;  // from global to shared memory, not through registers
  bool leavesOutCopies = false; // a wave whose masks are all false starts fewer than others
  /// The branch around the copies that were lowered last, and their mask.
  std::pair<mlir::Operation *, mlir::Value> branchOfCopies;
  mlir::Value lane; // this thread's number in its wave, once it was asked for
  llvm::DenseSet<mlir::Operation *> ofWholeRows;   // exchanges of rows whose lanes have one value
  llvm::DenseSet<mlir::Operation *> broadcasts;    // exchanges of which only the last row's count
  llvm::DenseMap<mlir::Value, mlir::Value> starts; // of buffers, by argument
  /// The bounds of accesses whose mask all threads share, by mask, block and what they are else.
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Block *, uint32_t>, mlir::Value> maskBounds;
};

/// Calls `llvm.` + name; `result` is null for intrinsics without one.
mlir::Value callIntrinsic(Lowering &lowering, const llvm::Twine &name, mlir::Type result,
                          mlir::ValueRange operands);
/// A number that an intrinsic gives, which lies in [lower, upper).
mlir::Value readNumber(Lowering &lowering, const llvm::Twine &name, int64_t lower, int64_t upper);

// One function per group; each replaces the operation's results but leaves it to be erased.
// LowerAmd.cpp
mlir::Value threadId(Lowering &lowering);
mlir::Value programId(Lowering &lowering, unsigned axis);
mlir::Value numPrograms(Lowering &lowering, unsigned axis);
// LowerBarriers.cpp
void lowerBarrier(Lowering &lowering, simt::BarrierOp op);
void lowerCopiesWait(Lowering &lowering, simt::CopiesWaitOp op);
/// Waits for all copies, where they have a counter of their own.
void awaitCopies(Lowering &lowering);
/// Waits for what an atomic that releases has to come after; the fence of it that orders nothing
/// between waves keeps accesses in front of the wait.
void waitBeforeRelease(Lowering &lowering);
// DeclareKernel.cpp
void declareKernel(mlir::LLVM::LLVMFuncOp kernel, unsigned numWarps, const AmdArch &arch,
                   const AmdLimits &limits);
// LowerGlobalAccess.cpp
void lowerGlobalLoad(Lowering &lowering, simt::GlobalLoadOp op);
void lowerGlobalStore(Lowering &lowering, simt::GlobalStoreOp op);
/// Returns true if accesses of a pointer may go through a buffer resource.
bool hasBuffer(Lowering &lowering, mlir::Value pointer);
/// Returns the operands that all buffer accesses end with (resource, offset, scalar offset,
/// policy); none where there is no resource.
llvm::SmallVector<mlir::Value> bufferAccess(Lowering &lowering, mlir::Value pointer,
                                            mlir::Value mask, bool isStreamed);
/// Returns a pointer as a base that all threads share and an offset of 32 bits, where it can be.
mlir::Value fromScalarBase(Lowering &lowering, mlir::Value pointer, mlir::Value mask);
/// Returns a mask that all threads share as compared by scalar instructions, where it compares
/// numbers: the limit of a loop may come from arithmetic that only vectors have.
mlir::Value asScalarMask(Lowering &lowering, mlir::Value mask);
// LowerCopies.cpp
void lowerGlobalToShared(Lowering &lowering, simt::GlobalToSharedOp op);
// LowerArrayCopies.cpp
void lowerCopyArray(Lowering &lowering, simt::CopyArrayOp op);
// LowerAtomics.cpp
void lowerAtomic(Lowering &lowering, simt::AtomicOp op);
// LowerLanes.cpp
mlir::Value lowerShuffle(Lowering &lowering, simt::ShuffleOp op);
// LowerMath.cpp
mlir::Value lowerApprox(Lowering &lowering, simt::ApproxOp op);
mlir::Value lowerDivide(Lowering &lowering, simt::DivideOp op);
/// Rounds to bf16 where the machine has no instruction for it.
void roundToBf16(mlir::LLVM::LLVMFuncOp kernel);
// LowerMatrix.cpp
void lowerLoadTransposed(Lowering &lowering, simt::LoadTransposedOp op);
mlir::LogicalResult lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op);
// LowerInlineAsm.cpp
mlir::LogicalResult lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op);
/// Reports that the assembler refuses text of the user's, where its log says so. `lowered` is the
/// module that `assembly` was made of.
bool blameInlineAsm(mlir::ModuleOp lowered, llvm::StringRef assembly, llvm::StringRef log);
// LowerDebugCalls.cpp
mlir::LogicalResult lowerPrint(Lowering &lowering, simt::PrintOp op);
void lowerAssert(Lowering &lowering, simt::AssertOp op);

} // namespace amd
} // namespace tw
#endif
