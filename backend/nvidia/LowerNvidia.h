// What one thread does in the `simt` dialect, as LLVM dialect for NVIDIA GPUs.
#ifndef BACKEND_NVIDIA_LOWERNVIDIA_H
#define BACKEND_NVIDIA_LOWERNVIDIA_H
#include "backend/gpu/ThreadLowering.h"
#include "passes/StagedPasses.h"
#include <memory>

namespace mlir::LLVM {
class CallIntrinsicOp;
}

namespace tw {

/// The pass `lower-nvidia`: from the stage lowered, after expand-simt-math; lower-to-llvm follows.
/// A thread gets at most `maxRegisters` registers where that is not 0.
std::unique_ptr<mlir::Pass> createLowerNvidia(unsigned maxRegisters = 0,
                                              gpu::ProgramOrder order = {});
/// Registers the passes of this folder by name for tile-opt.
void registerNvidiaPasses();
/// Returns the inputs of the passes of this folder.
llvm::ArrayRef<PassInput> nvidiaPassInputs();

namespace nvidia {

/// The state of lowering one kernel.
struct Lowering : gpu::ThreadLowering {
  using ThreadLowering::ThreadLowering;
  unsigned maxRegisters = 0; // of a thread; 0: no limit
  /// Addresses of tensor maps, by number, that are held in registers in front of a loop.
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, mlir::Value> heldMaps;
};

/// Calls `llvm.nvvm.` + name; `result` is null for intrinsics without one.
mlir::LLVM::CallIntrinsicOp callIntrinsic(Lowering &lowering, const llvm::Twine &name,
                                          mlir::Type result, mlir::ValueRange operands);
/// A 32-bit special register such as "ctaid.x" whose value lies in [lower, upper).
mlir::Value readSpecialRegister(Lowering &lowering, llvm::StringRef name, int64_t lower,
                                int64_t upper);

/// Returns the program's number along an axis of the grid.
mlir::Value programId(Lowering &lowering, unsigned axis);

/// Returns what a shuffle gives, by the instruction that moves one 32-bit register.
mlir::Value lowerWordShuffle(Lowering &lowering, simt::ShuffleOp op);

/// PTX's word for an element type of matrix instructions.
llvm::StringRef ptxName(mlir::Type type);
void replaceAll(mlir::Operation *op, llvm::ArrayRef<mlir::Value> values);

// One function per group; each replaces the operation's results but leaves it to be erased.
// LowerGlobalAccess.cpp
void lowerGlobalLoad(Lowering &lowering, simt::GlobalLoadOp op);
void lowerGlobalStore(Lowering &lowering, simt::GlobalStoreOp op);
// LowerAtomics.cpp
void lowerAtomic(Lowering &lowering, simt::AtomicOp op);
// LowerMatrix.cpp
void lowerLoadMatrix(Lowering &lowering, simt::LoadMatrixOp op);
void lowerStoreMatrix(Lowering &lowering, simt::StoreMatrixOp op);
void lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op);
void lowerGlobalToShared(Lowering &lowering, simt::GlobalToSharedOp op);
// LowerAsyncMma.cpp
void lowerGroupMma(Lowering &lowering, simt::GroupMmaOp op);
void lowerGroupWait(Lowering &lowering, simt::GroupWaitOp op);
// LowerBoxes.cpp
void addTensorMaps(mlir::LLVM::LLVMFuncOp kernel);
void lowerTensorMap(Lowering &lowering, simt::TensorMapOp op);
void lowerPhaseInit(Lowering &lowering, simt::PhaseInitOp op);
void lowerPhaseDrop(Lowering &lowering, simt::PhaseDropOp op);
void lowerPhaseExpect(Lowering &lowering, simt::PhaseExpectOp op);
void lowerPhaseAwait(Lowering &lowering, simt::PhaseAwaitOp op);
void lowerPhaseArrive(Lowering &lowering, simt::PhaseArriveOp op);
void lowerElect(Lowering &lowering, simt::ElectOp op);
void lowerCopyBox(Lowering &lowering, simt::CopyBoxOp op);
void lowerStoreBox(Lowering &lowering, simt::StoreBoxOp op);
void lowerStoresWait(Lowering &lowering, simt::StoresWaitOp op);
// RegisterShares.cpp.
/// Gives a kernel a whole warpgroup for its loader where the program's warps need more registers
/// than an equal share.
void chooseLoaderWarps(Lowering &lowering);
bool sharesRegisters(mlir::Operation *kernel);
void lowerTurn(Lowering &lowering, simt::TurnOp op);
void lowerShareRegisters(Lowering &lowering, simt::ShareRegistersOp op);
// LowerFloat8.cpp: arith.extf from and arith.truncf to 8-bit floats, in pairs
bool isFloat8Cast(mlir::Operation *op);
void lowerFloat8Cast(Lowering &lowering, mlir::Operation *op);
// LowerInlineAsm.cpp
mlir::LogicalResult lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op);
/// Reports that an assembler refuses text of the user's, where its log says so. `lowered` is the
/// module that `ptx` was made of.
bool blameInlineAsm(mlir::ModuleOp lowered, llvm::StringRef ptx, llvm::StringRef log);
// LowerDebugCalls.cpp
void lowerPrint(Lowering &lowering, simt::PrintOp op);
void lowerAssert(Lowering &lowering, simt::AssertOp op);

} // namespace nvidia
} // namespace tw
#endif
