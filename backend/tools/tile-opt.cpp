// Runs passes over Tile IR text: mlir-opt with our dialects and passes, for tests and debugging.
#include "backend/Compiler.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipeline.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tw::registerCompilerDialects(registry);
  tw::registerPasses();
  tw::registerNvidiaPasses();
  mlir::registerTransformsPasses();
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Runs passes over Tile IR\n", registry));
}
