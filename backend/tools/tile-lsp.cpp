// Serves editors that show IR text: a language server that knows the dialects of its stages.
#include "ir/Diagnostic.h"
#include "ir/RegisterDialects.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tw::registerTileDialects(registry);
  registry
      .insert<mlir::LLVM::LLVMDialect, mlir::cf::ControlFlowDialect, mlir::vector::VectorDialect>();
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
