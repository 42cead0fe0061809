// Runs passes over Tile IR text, and single passes over LLVM IR: mlir-opt with our dialects and
// passes, for tests and debugging.
#include "backend/TargetKind.h"
#include "backend/compile/Compiler.h"
#include "backend/inspect/StageList.h"
#include "backend/tools/RunCodePass.h"
#include "ir/Diagnostic.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipeline.h"
#include "passes/StageChecks.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

/// Shows the codes of reports, which travel beside their text, in front of it; `other` is that of
/// those that have none.
static void showCodes(mlir::MLIRContext *context, std::optional<tw::Code> other = std::nullopt) {
  context->getDiagEngine().registerHandler([context, other](mlir::Diagnostic &diagnostic) {
    std::optional<tw::Code> code = tw::codeOf(diagnostic);
    // What has been shown comes by again, as the report of a handler.
    if (!code && !llvm::StringRef(diagnostic.str()).starts_with("[TW"))
      code = other;
    if (!code)
      return mlir::failure();
    mlir::Diagnostic shown(diagnostic.getLocation(), diagnostic.getSeverity());
    shown << "[" + tw::codeName(*code) + "] " + diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      shown.attachNote(note.getLocation()) << note.str();
    context->getDiagEngine().emit(std::move(shown));
    return mlir::success();
  });
}

/// Returns the inputs of the passes of all targets.
static std::vector<tw::PassInput> inputsOfTargets() {
  std::vector<tw::PassInput> inputs;
  for (const tw::TargetKind &kind : tw::targetKinds())
    llvm::append_range(inputs, kind.passInputs);
  return inputs;
}

/// Returns the command line's passes, each behind a check that the module is what it takes.
static mlir::MlirOptMainConfig checkedConfig() {
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig checked = config;
  checked.setPassPipelineSetupFn([config](mlir::PassManager &pm) {
    showCodes(pm.getContext());
    mlir::PassManager passes(pm.getContext());
    if (failed(config.setupPassPipeline(passes)))
      return mlir::failure();
    return tw::addCheckedPasses(pm, passes, inputsOfTargets());
  });
  return checked;
}

/// Returns true if the parser and the operations' verifiers take the input; reports with a code
/// what they refuse. MlirOptMain reads for itself, but reports without a code.
static bool isReadable(llvm::MemoryBufferRef input, mlir::DialectRegistry &registry,
                       const mlir::MlirOptMainConfig &config) {
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  llvm::SourceMgr source;
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(input), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(source, &context);
  // Warnings are MlirOptMain's to show.
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    return mlir::success(diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error);
  });
  showCodes(&context, tw::Code::UnreadableText);
  mlir::Block block;
  return succeeded(mlir::parseSourceFile(
      source, &block, mlir::ParserConfig(&context, config.shouldVerifyOnParsing())));
}

/// Returns true if tile-opt looks at the input before MlirOptMain does. Tests of messages, several
/// texts in a file and reproducers have a form of their own.
static bool isPlain(const mlir::MlirOptMainConfig &config) {
  return !config.shouldVerifyDiagnostics() && config.inputSplitMarker().empty() &&
         !config.shouldRunReproducer();
}

/// Makes the target of a name; null after saying which there are.
static std::unique_ptr<tw::Target> openTarget(const std::string &name) {
  tw::RuntimeError error;
  std::optional<tw::TargetEntry> entry =
      tw::makeTarget(tw::targetKinds(), name, /*settings=*/{}, error);
  if (entry)
    return std::move(entry->target);
  llvm::errs() << "error: " << error.message << "\nhint: " << error.hint << "\n";
  return nullptr;
}

/// Prints the pipeline of a target, or the names of targets where none is given.
static mlir::LogicalResult listStages(const std::string &name) {
  if (name.empty()) {
    llvm::outs() << llvm::join(tw::namesOf(tw::targetKinds()), "\n") << "\n";
    return mlir::success();
  }
  std::unique_ptr<tw::Target> target = openTarget(name);
  if (target)
    tw::listStages(*target, {}, llvm::outs());
  return mlir::success(target != nullptr);
}

static mlir::LogicalResult run(int argc, char **argv, mlir::DialectRegistry &registry) {
  llvm::cl::opt<bool> lists("list-stages",
                            llvm::cl::desc("print the stages and passes of --target, or without it "
                                           "the names of targets"));
  llvm::cl::opt<std::string> codePass(
      "code-pass", llvm::cl::desc("run this pass around LLVM's of --target over LLVM IR"));
  llvm::cl::opt<std::string> target("target",
                                    llvm::cl::desc("of --list-stages and --code-pass: cpu, ..."));
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Runs passes over Tile IR\n", registry);
  if (lists)
    return listStages(target);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = mlir::openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &error);
  if (!buffer || !file) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
  if (!codePass.empty()) {
    std::unique_ptr<tw::Target> opened = openTarget(target);
    if (!opened || failed(tw::runCodePass(*opened, codePass, *buffer, file->os())))
      return mlir::failure();
    file->keep();
    return mlir::success();
  }
  mlir::MlirOptMainConfig config = checkedConfig();
  if (isPlain(config) && !isReadable(*buffer, registry, config))
    return mlir::failure();
  if (failed(mlir::MlirOptMain(file->os(), std::move(buffer), registry, config)))
    return mlir::failure();
  file->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tw::registerCompilerDialects(registry);
  tw::registerPasses();
  for (const tw::TargetKind &kind : tw::targetKinds())
    if (kind.registerPasses)
      kind.registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
  return mlir::asMainReturnCode(run(argc, argv, registry));
}
