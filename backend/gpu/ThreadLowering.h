// What lowering the operations of one thread to LLVM dialect shares between GPUs.
#ifndef BACKEND_GPU_THREADLOWERING_H
#define BACKEND_GPU_THREADLOWERING_H
#include "backend/gpu/ProgramOrder.h"
#include "ir/simt/Simt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <map>

namespace mlir::LLVM {
class LLVMFuncOp;
}

namespace tw::gpu {

/// The state of lowering one kernel. `builder` stands at the operation being lowered.
struct ThreadLowering {
  ThreadLowering(mlir::Operation *kernel, unsigned numWarps, tile::TargetAttr target)
      : builder(kernel), loc(kernel->getLoc()), module(kernel->getParentOfType<mlir::ModuleOp>()),
        kernel(kernel), numWarps(numWarps), target(target) {}

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::ModuleOp module;
  mlir::Operation *kernel; // the llvm.func
  unsigned numWarps;
  tile::TargetAttr target;                          // may be null: the plainest machine
  std::map<std::string, mlir::Operation *> strings; // llvm.mlir.global by text
  llvm::DenseMap<mlir::Type, mlir::Value> buffers;  // on the stack, of the values of printed lines
  unsigned sharedAlignment = 16;                    // of all shared memory, in bytes
  unsigned sharedBytes = 0;                         // that the code declares; 0: launches say
  unsigned stackSpace = 0;                          // the address space of the stack
  ProgramOrder order;
  std::array<mlir::Value, 3> programs; // numbers along the axes, where they are not the grid's
  llvm::DenseMap<mlir::Location, unsigned> assemblies; // of the user's, numbered by place
};

/// Calls `lower` for each kernel of a module, with its number of warps.
mlir::LogicalResult lowerKernels(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::LogicalResult(mlir::LLVM::LLVMFuncOp kernel, unsigned numWarps)>
        lower);
/// Lowers the operations of `simt` in the kernel, and what else `isLowered` names, in their order,
/// and erases them. `builder` and `loc` are set for each.
mlir::LogicalResult
lowerOperations(ThreadLowering &lowering,
                llvm::function_ref<mlir::LogicalResult(mlir::Operation *)> lower,
                llvm::function_ref<bool(mlir::Operation *)> isLowered = nullptr);

mlir::Value constantOf(ThreadLowering &lowering, mlir::Type type, uint64_t value);
mlir::Value constantI32(ThreadLowering &lowering, int64_t value);
/// The mask as an operand of instructions: null when it is absent or constantly true.
mlir::Value neededMask(mlir::Value mask);

/// Shared memory as one array, and the address of a byte of it.
mlir::Value sharedAddress(ThreadLowering &lowering, int64_t offset);

/// Removes the attributes of Tile IR from a kernel's arguments: LLVM does not know them.
void dropArgumentFacts(mlir::FunctionOpInterface kernel);

/// Moves a value between lanes by the machine's shuffle of one 32-bit register.
mlir::Value
lowerShuffle(ThreadLowering &lowering, simt::ShuffleOp op,
             llvm::function_ref<mlir::Value(mlir::Value word, mlir::Value lane)> shuffleWord);
/// Returns the lane that a shuffle by `operand` reads in lane `lane`; the own one where that is
/// none of the warp's.
mlir::Value laneToRead(ThreadLowering &lowering, simt::ShuffleMode mode, mlir::Value lane,
                       mlir::Value operand, unsigned warpSize);

/// Rounds an f32 as simt.round_tf32 does, by arithmetic on its bits.
mlir::Value emitRoundTf32(ThreadLowering &lowering, mlir::Value x);

} // namespace tw::gpu
#endif
