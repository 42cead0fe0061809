// What one thread does in the `simt` dialect, as LLVM dialect for OpenCL devices.
#ifndef BACKEND_SPIRV_LOWERSPIRV_H
#define BACKEND_SPIRV_LOWERSPIRV_H
#include "backend/gpu/GlobalOrder.h"
#include "backend/gpu/ThreadLowering.h"
#include "backend/spirv/machine/SpirvArch.h"
#include "passes/StagedPasses.h"
#include <memory>

namespace mlir::LLVM {
class LLVMFuncOp;
}

namespace tw {

/// The machine that executes the code.
enum class SpirvRunner {
  Driver,    // OpenCL's: printf is its own, and a failed assertion leaves a word behind
  Simulator, // of this project: vprintf and traps
};

/// The pass `lower-spirv`: from the stage lowered, after expand-simt-math; lower-to-llvm follows.
std::unique_ptr<mlir::Pass> createLowerSpirv(const SpirvArch &arch,
                                             SpirvRunner runner = SpirvRunner::Driver,
                                             gpu::ProgramOrder order = {});
/// Registers the passes of this folder by name for tile-opt.
void registerSpirvPasses();
/// Returns the inputs that the passes of this folder take.
llvm::ArrayRef<PassInput> spirvPassInputs();

namespace spirv {

/// The module attribute that says that the kernel's last parameter is the word in which failed
/// assertions leave a mark.
inline constexpr llvm::StringLiteral kFailureWord = "spirv.failure_word";

/// The state of lowering one kernel.
struct Lowering : gpu::ThreadLowering {
  Lowering(mlir::Operation *kernel, unsigned numWarps, tile::TargetAttr target,
           const SpirvArch &arch, SpirvRunner runner)
      : ThreadLowering(kernel, numWarps, target), arch(arch), runner(runner),
        ordersGlobal(gpu::barriersOfGlobalMemory(kernel)) {}
  const SpirvArch &arch;
  SpirvRunner runner;
  /// The barriers that do, with the scope to which threads release before them.
  llvm::DenseMap<mlir::Operation *, tile::MemoryScope> ordersGlobal;
  mlir::Value lane, warp;  // numbers of this thread and of its subgroup, once they were asked for
  mlir::Value failureWord; // the address of it; null: the kernel has none
};

/// Calls a function of OpenCL or SPIR-V by the name that LLVM's back end knows; `result` is null
/// for those without one.
struct Builtin {
  llvm::StringRef name;
  bool isConvergent = false; // what it does depends on which threads reach it together
  bool hasEffects = false;
};
mlir::Value callBuiltin(Lowering &lowering, const Builtin &builtin, mlir::Type result,
                        mlir::ValueRange operands);

// One function per group; each replaces the operation's results but leaves it to be erased.
// LowerThreads.cpp
mlir::Value threadId(Lowering &lowering);
mlir::Value programId(Lowering &lowering, unsigned axis);
mlir::Value numPrograms(Lowering &lowering, unsigned axis);
mlir::Value lowerShuffle(Lowering &lowering, simt::ShuffleOp op);
void lowerBarrier(Lowering &lowering, simt::BarrierOp op);
enum class BarrierPart { Arrive, Wait };
/// Emits one part of a barrier of all threads that orders shared memory.
void emitBarrierPart(Lowering &lowering, BarrierPart part);
// SplitBarriers.cpp
/// Replaces barriers by two parts where something that takes long lies in between.
void splitBarriers(Lowering &lowering);
// LowerMatrix.cpp
/// Fails where the machine does not have the instruction that a pass has chosen.
mlir::LogicalResult lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op);
// LowerBlocks.cpp
/// Fails where the machine does not load the block that a pass has chosen.
mlir::LogicalResult lowerLoadBlock(Lowering &lowering, simt::LoadBlockOp op);
// LowerAtomics.cpp
void lowerAtomic(Lowering &lowering, simt::AtomicOp op);
// LowerMath.cpp
mlir::Value lowerApprox(Lowering &lowering, simt::ApproxOp op);
/// Divides float32 as OpenCL does, within 2.5 units: marked as approximate, so that
/// `round-quotients` leaves it alone.
mlir::Value divideNearly(Lowering &lowering, mlir::Value above, mlir::Value below);
/// Replaces arithmetic on bf16, which the devices have no type for.
void expandBf16(Lowering &lowering);
/// Replaces products of 64-bit integers with 128 bits, which the devices have no type for, either.
void expandWideProducts(Lowering &lowering);
// LowerDebugCalls.cpp
void lowerPrint(Lowering &lowering, simt::PrintOp op);
void lowerAssert(Lowering &lowering, simt::AssertOp op);
// DeclareKernel.cpp
/// Adds the parameter that failed assertions write to, where the kernel has any.
void addFailureWord(Lowering &lowering);
void declareKernel(Lowering &lowering);

} // namespace spirv
} // namespace tw
#endif
