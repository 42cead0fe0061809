// A target whose binary is the kernel's Tile IR itself, for devices that interpret it.
#include "backend/reference/BytecodeTarget.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "passes/Passes.h"

using namespace tw;

namespace {
class BytecodeTarget final : public Target {
public:
  explicit BytecodeTarget(std::string name) : targetName(std::move(name)) {}
  std::string name() const override { return targetName; }
  std::string describe() const override { return "tile bytecode"; }
  bool keepsLocations() const override { return true; }
  bool runsTilePasses() const override { return false; }
  llvm::ArrayRef<CodeStage> codeStages() const override { return {}; }
  void addPasses(StagedPasses &passes, const CompileOptions &) const override {
    passes.beginStage("tile-passes", "no assembly is left");
    passes.addPass(createRefuseAssembly());
  }
  bool compile(mlir::ModuleOp module, Artifact &artifact, std::string &error) const override {
    llvm::raw_string_ostream stream(artifact.binary);
    if (mlir::succeeded(mlir::writeBytecodeToFile(module, stream)))
      return true;
    error = "the module could not be written as bytecode";
    return false;
  }
  bool print(mlir::ModuleOp, CodeForm, std::string &, std::string &error) const override {
    error = "target " + targetName + " has no code below Tile IR";
    return false;
  }

private:
  std::string targetName;
};
} // namespace

std::unique_ptr<Target> tw::makeBytecodeTarget(std::string name) {
  return std::make_unique<BytecodeTarget>(std::move(name));
}
