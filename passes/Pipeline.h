// The passes from Tile IR to lowered IR, for each machine model.
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H
#include "passes/StagedPasses.h"
#include <string>
#include <vector>

namespace tw {

/// How a machine multiplies and adds elements of one type, and how fast.
struct DotInstruction {
  enum class Form { Vectors, Pairs, Matrices };
  /// "f32": a multiply-add, which other types are widened for; "bf16", "f16": for f32 accumulators;
  /// "i8": for i32 ones.
  std::string element;
  /// The name of LLVM's intrinsic; empty for "f32". For vectors, acc = f(acc, a, b) adds to each
  /// 32-bit lane of `acc` the products of the narrow elements in that lane of `a` and `b`; of
  /// bytes, `a` is unsigned and `b` signed. Pairs are of signed 16-bit integers, to which bytes are
  /// widened: f(a, b) is the sum of their products, without `acc`. For matrix registers, f(acc, a,
  /// b) takes their numbers and has a `##` in its name for the signs of a and b (s or u).
  std::string intrinsic;
  double productsPerCycle = 1; // measured, of a core that has its operands in registers
  Form form = Form::Vectors;
  bool ofMatrices() const { return form == Form::Matrices; }
};

/// Registers for matrices of rows of 32-bit lanes, as intrinsics of LLVM act on them: `load` and
/// `store` take a register's number, an address and the bytes between rows.
struct MatrixUnit {
  std::string configure, release, zero, load, store; // all empty: there are none
  int64_t extent = 0;                                // of a register: so many rows of so many lanes
};

/// Widths and features of a SIMD machine, filled by a target's description.
struct SimdMachine {
  unsigned vectorBytes;  // 64 with 512-bit vectors, 32, 16
  unsigned numRegisters; // vector registers
  bool hasFma = true;    // one instruction multiplies and adds
  /// Each product goes to the one that is estimated to take the fewest cycles.
  std::vector<DotInstruction> dotInstructions;
  MatrixUnit matrixUnit;
  std::string matrixRefusal; // why a matrix unit that is there must not be used
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

/// Adds the part of those passes that makes the buffers in shared memory which pipelined loops have
/// beside their slots.
void addStagingPasses(mlir::OpPassManager &passes);

/// Registers all passes by name for tile-opt.
void registerPasses();

} // namespace tw
#endif
