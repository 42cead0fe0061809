// The passes from Tile IR to lowered IR, for each machine model.
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "passes/StagedPasses.h"
#include <string>

namespace tw {

/// Widths and features of a SIMD machine, filled by a target's description.
struct SimdMachine {
  unsigned vectorBytes;  // 64 with 512-bit vectors, 32, 16
  unsigned numRegisters; // vector registers
  /// LLVM intrinsic acc = f(acc, a, b) that adds products of bf16 pairs to f32 lanes of a whole
  /// register; empty where there is none.
  std::string bf16DotIntrinsic;
};

/// Clean-ups on Tile IR that every target shares.
void addTilePasses(StagedPasses &passes);
/// Tile IR to LLVM dialect for SIMD machines. Afterwards the module holds one llvm.func
/// `NAME(const uint64_t *arguments, const TwProgram *program)`, see backend/cpu/KernelAbi.h, and
/// the module attribute `simd.scratch_bytes` (i64): private memory per running program.
void addSimdPasses(StagedPasses &passes, const SimdMachine &machine);

/// Tile IR to the stage lowered for SIMT machines, except for what `simt` operations of one thread
/// become: the target's passes say that and end with lower-to-llvm. `describeTarget` gives the
/// module the attribute `tile.target` (ir/target/TargetDesc.h); null where it has that. Afterwards
/// it holds one llvm.func with the attribute `simt.kernel` and the module attributes of
/// ir/simt/Simt.h.
void addSimtPasses(StagedPasses &passes, std::unique_ptr<mlir::Pass> describeTarget,
                   unsigned numWarps, unsigned numStages);

/// Of these, what makes the buffers in shared memory that pipelined loops have beside their slots.
void addStagingPasses(mlir::OpPassManager &passes);

/// Registers all passes by name for tile-opt.
void registerPasses();

} // namespace tw
#endif
