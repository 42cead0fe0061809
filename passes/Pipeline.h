// The passes from Tile IR to lowered IR, for each machine model.
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "passes/StagedPasses.h"
#include <string>
#include <vector>

namespace tw {

/// An instruction acc = f(acc, a, b) of whole registers that adds, to each 32-bit lane of `acc`,
/// the products of the narrow elements which lie in that lane of `a` and `b`.
struct DotInstruction {
  /// "bf16", for f32 accumulators; or "i8" for i32 ones, where `a` is unsigned and `b` signed.
  std::string element;
  std::string intrinsic; // of LLVM
};

/// Widths and features of a SIMD machine, filled by a target's description.
struct SimdMachine {
  unsigned vectorBytes;  // 64 with 512-bit vectors, 32, 16
  unsigned numRegisters; // vector registers
  /// Those that are worth using: faster than widening the elements first.
  std::vector<DotInstruction> dotInstructions;
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
