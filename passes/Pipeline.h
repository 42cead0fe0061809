// The passes from Tile IR to lowered IR, for each machine model.
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "passes/StagedPasses.h"
#include <string>

namespace tw {

/// Clean-ups on Tile IR that every target shares.
void addTilePasses(StagedPasses &passes);
/// Tile IR to LLVM dialect for the SIMD machine that `machine` describes: the text of a
/// `#tile.simd`. Afterwards the module holds one llvm.func
/// `NAME(const uint64_t *arguments, const TwProgram *program)`, see backend/cpu/KernelAbi.h, and
/// the module attribute `simd.scratch_bytes` (i64): private memory per running program.
void addSimdPasses(StagedPasses &passes, const std::string &machine);

/// Tile IR to the stage lowered for SIMT machines, except for what `simt` operations of one thread
/// become: the target's passes say that and end with lower-to-llvm. `describeTarget` gives the
/// module the attribute `tile.target` (ir/target/TargetDesc.h); null where it has that. Afterwards
/// it holds one llvm.func with the attribute `simt.kernel` and the module attributes of
/// ir/simt/Simt.h.
void addSimtPasses(StagedPasses &passes, std::unique_ptr<mlir::Pass> describeTarget,
                   unsigned numWarps, unsigned numStages);

/// Adds the part of those passes that makes the buffers in shared memory which pipelined loops have
/// beside their slots.
void addStagingPasses(mlir::OpPassManager &passes);

/// Returns true if kernels compute the same without the pass of that name. The passes that lower
/// the IR, and those that order accesses, are not among them.
bool isOptionalPass(llvm::StringRef pass);

/// Registers all passes by name for tile-opt.
void registerPasses();

} // namespace tw
#endif
