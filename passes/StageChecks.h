// What holds between two stages of compilation, checked where a text could say anything.
#ifndef PASSES_STAGECHECKS_H
#define PASSES_STAGECHECKS_H
#include "mlir/IR/BuiltinOps.h"
#include "passes/StagedPasses.h"

namespace tw {

/// Reports everything that breaks an invariant of the stage `tile`, `padded`, `laid-out`,
/// `scheduled` or `lowered`.
mlir::LogicalResult verifyStage(mlir::ModuleOp module, llvm::StringRef stage);

/// The input that the pass takes, empty for passes that take any module. Passes.td says it of ours,
/// `ofTarget` of a target's own.
llvm::StringRef inputOf(llvm::StringRef pass, llvm::ArrayRef<PassInput> ofTarget);

/// Reports (TW0318) the first thing of the module that the input does not have: operations of other
/// stages, tiles of dynamic shape, tiles without a layout or with one of another machine, accesses
/// that may come before their copies are done. What the compiler itself makes needs no such look, a
/// text given by a user does.
mlir::LogicalResult checkInput(mlir::ModuleOp module, llvm::StringRef input);

/// Adds `passes`, which are registered ones, to `pm`, each after a look at whether the module is
/// what it takes.
mlir::LogicalResult addCheckedPasses(mlir::OpPassManager &pm, mlir::OpPassManager &passes,
                                     llvm::ArrayRef<PassInput> ofTargets);

/// Reports (TW0318) what keeps a module of Tile IR from being compiled for any target: it must have
/// a kernel, a public function of scalars and pointers without results.
mlir::LogicalResult checkKernel(mlir::ModuleOp module);

} // namespace tw
#endif
