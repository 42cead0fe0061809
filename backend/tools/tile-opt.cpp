// Runs passes over Tile IR text: mlir-opt with our dialects and passes, for tests and debugging.
#include "backend/compile/Compiler.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipeline.h"
#include "passes/StageChecks.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// The command line's passes, each after a look at whether the module is what it takes.
static mlir::MlirOptMainConfig checkedConfig() {
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig checked = config;
  checked.setPassPipelineSetupFn([config](mlir::PassManager &pm) {
    mlir::PassManager passes(pm.getContext());
    if (failed(config.setupPassPipeline(passes)))
      return mlir::failure();
    return tw::addCheckedPasses(pm, passes);
  });
  return checked;
}

static mlir::LogicalResult run(int argc, char **argv, mlir::DialectRegistry &registry) {
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Runs passes over Tile IR\n", registry);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &error);
  if (!buffer || !file) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
  if (failed(mlir::MlirOptMain(file->os(), std::move(buffer), registry, checkedConfig())))
    return mlir::failure();
  file->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tw::registerCompilerDialects(registry);
  tw::registerPasses();
  tw::registerNvidiaPasses();
  mlir::registerTransformsPasses();
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
  return mlir::asMainReturnCode(run(argc, argv, registry));
}
