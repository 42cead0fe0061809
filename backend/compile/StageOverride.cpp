// Replaces a stage of a kernel by the content of a file, for experiments.
#include "backend/compile/StageOverride.h"
#include "backend/compile/PassDumps.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/ReadModule.h"
#include "backend/compile/Stages.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tw;

tw::Diagnostic tw::overrideError(const StageOverride &file, const std::string &message) {
  tw::Diagnostic diagnostic;
  diagnostic.code = Code::UnfitStageFile;
  diagnostic.message = "the override " + file.path + " cannot be used: " + message;
  diagnostic.hint = "the files of TILEWRIGHT_DUMP have the form that is asked for";
  return diagnostic;
}

static tw::Diagnostic missingDirectory(const std::string &path) {
  tw::Diagnostic diagnostic;
  diagnostic.code = Code::UnfitStageFile;
  diagnostic.message = "there is no directory " + path + ", from which stages are to be taken";
  diagnostic.hint = "name one that has files NAME.STAGE in TILEWRIGHT_OVERRIDE, or unset it";
  return diagnostic;
}

static tw::Diagnostic overrideWarning(const StageOverride &file, llvm::StringRef kernel) {
  tw::Diagnostic diagnostic;
  diagnostic.severity = Severity::Warning;
  diagnostic.code = Code::StageFromFile;
  diagnostic.message = "the stage " + file.stage + " of `" + kernel.str() + "` is taken from " +
                       file.path + ", not compiled";
  return diagnostic;
}

/// Stages after which compilation can go on from their text.
static bool isReplaceable(llvm::StringRef stage, const Target &target) {
  return stage == target.textStage() || llvm::is_contained(target.irStages(), stage);
}

bool tw::findOverrides(const DebugSettings &debug, llvm::StringRef kernel, const Target &target,
                       std::vector<StageOverride> &overrides,
                       std::vector<tw::Diagnostic> &diagnostics) {
  if (debug.overrideDirectory.empty())
    return true;
  if (!llvm::sys::fs::is_directory(debug.overrideDirectory)) {
    diagnostics.push_back(missingDirectory(debug.overrideDirectory));
    return false;
  }
  for (llvm::StringRef stage : stagesOf(target)) {
    StageOverride file;
    file.stage = stage.str();
    file.path = debug.overrideDirectory + "/" + fileNameOf(kernel) + "." + file.stage;
    if (!llvm::sys::fs::exists(file.path))
      continue;
    if (!isReplaceable(stage, target)) {
      diagnostics.push_back(
          overrideError(file, "no other text can replace this stage on " + target.name()));
      return false;
    }
    auto buffer = llvm::MemoryBuffer::getFile(file.path, /*IsText=*/true);
    if (!buffer) {
      diagnostics.push_back(overrideError(file, buffer.getError().message()));
      return false;
    }
    file.text = (*buffer)->getBuffer().str();
    diagnostics.push_back(overrideWarning(file, kernel));
    overrides.push_back(std::move(file));
  }
  return true;
}

/// The kernel of a module at any stage: its one public function with a body.
static mlir::FunctionOpInterface kernelOf(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::FunctionOpInterface>())
    if (function.isPublic() && !function.isExternal())
      return function;
  return {};
}

static mlir::OwningOpRef<mlir::ModuleOp> parse(const StageOverride &file,
                                               mlir::MLIRContext &context,
                                               std::vector<tw::Diagnostic> &diagnostics) {
  std::vector<tw::Diagnostic> found;
  auto module = readModule({file.path, 1, file.text}, context, Code::UnfitStageFile, found);
  for (tw::Diagnostic &mistake : found) {
    tw::Diagnostic error = overrideError(file, mistake.message);
    error.labels = std::move(mistake.labels);
    diagnostics.push_back(std::move(error));
  }
  return module;
}

bool tw::applyOverride(const StageOverride &file, mlir::ModuleOp module,
                       std::vector<tw::Diagnostic> &diagnostics) {
  mlir::OwningOpRef<mlir::ModuleOp> parsed = parse(file, *module.getContext(), diagnostics);
  if (!parsed)
    return false;
  mlir::FunctionOpInterface own = kernelOf(module), other;
  if (own)
    other = parsed->lookupSymbol<mlir::FunctionOpInterface>(own.getName());
  if (!other)
    other = kernelOf(*parsed);
  // The caller's arguments are laid out for the kernel as it was.
  if (own && (!other || other.getArgumentTypes() != own.getArgumentTypes())) {
    diagnostics.push_back(
        overrideError(file, "it does not define a public function with the kernel's parameters"));
    return false;
  }
  if (own)
    other.setName(own.getName());
  module.getBodyRegion().takeBody(parsed->getBodyRegion());
  module->setAttrs(parsed->getOperation()->getAttrDictionary());
  return true;
}
