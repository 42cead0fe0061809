// Files that replay a fault of the compiler: the IR before it, and the command to run on it.
#include "backend/compile/Reproducer.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassDumps.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/Stages.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tw;

static std::string reproducerDirectory(const DebugSettings &debug) {
  if (!debug.reproducerDirectory.empty())
    return debug.reproducerDirectory;
  if (!debug.dumpDirectory.empty())
    return debug.dumpDirectory;
  llvm::SmallString<128> directory;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, directory);
  return directory.str().str();
}

std::string tw::writeReproducer(const DebugSettings &debug, llvm::StringRef kernel,
                                llvm::StringRef extension,
                                llvm::function_ref<std::string(llvm::StringRef)> makeText) {
  llvm::SmallString<128> directory(reproducerDirectory(debug));
  (void)llvm::sys::fs::make_absolute(directory);
  (void)llvm::sys::fs::create_directories(directory); // a failure shows in the next call
  llvm::SmallString<128> path;
  int descriptor;
  // A new file for its owner only: the directory may be everybody's.
  std::error_code error = llvm::sys::fs::createUniqueFile(
      directory + "/tilewright-" + fileNameOf(kernel) + "-%%%%%%%%." + extension, descriptor, path,
      llvm::sys::fs::OF_None, llvm::sys::fs::owner_read | llvm::sys::fs::owner_write);
  if (error)
    return "";
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  file << makeText(path);
  file.close();
  bool isWritten = !file.has_error();
  file.clear_error();
  return isWritten ? path.str().str() : "";
}

static std::string quoted(llvm::StringRef word) {
  bool isPlain = llvm::all_of(
      word, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("/._-:,=+").contains(c); });
  return isPlain ? word.str() : "'" + word.str() + "'";
}

static std::string commandFor(const FaultScene &scene, llvm::StringRef path,
                              const std::string &ending) {
  std::string command = "tile-compile " + quoted(path) + " --target " + scene.target.name() +
                        " --num-warps " + std::to_string(scene.options.numWarps) +
                        " --num-stages " + std::to_string(scene.options.numStages);
  if (!scene.options.extra.empty())
    command += " --options " + quoted(scene.options.extra);
  return command + " --unchecked " + ending;
}

static bool isFault(const tw::Diagnostic &diagnostic) {
  return diagnostic.kind == DiagnosticKind::Internal && diagnostic.severity == Severity::Error;
}

static std::string firstMessage(const std::vector<tw::Diagnostic> &diagnostics) {
  for (const tw::Diagnostic &diagnostic : diagnostics)
    if (isFault(diagnostic))
      return llvm::StringRef(diagnostic.message).split('\n').first.str();
  return "";
}

static void addHints(const std::string &path, const std::string &command,
                     std::vector<tw::Diagnostic> &diagnostics) {
  if (path.empty())
    return;
  for (tw::Diagnostic &diagnostic : diagnostics)
    if (isFault(diagnostic))
      diagnostic.hint = "this is a fault of the compiler, please report it with " + path +
                        ", which reproduces it: " + command;
}

/// The first lines of a reproducer, as comments.
static std::string heading(const FaultScene &scene, const std::string &what,
                           const std::string &message) {
  std::string text = "// " + what + "\n// " + message + "\n";
  if (!scene.debug.buildId.empty())
    text += "// build " + scene.debug.buildId + "\n";
  return text;
}

namespace {
/// The pass that fails and the module before it.
struct PassFault {
  unsigned number = 0;
  std::string name;     // empty: no pass fails by itself
  std::string pipeline; // the pass with its options, as tile-opt takes it
  std::string input;
};

/// A run of a pipeline from text, on its own: after a crash all of it is leaked.
struct Replay {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<mlir::PassManager> passes;
};
} // namespace

static void replay(Replay &run, const FaultScene &scene, unsigned firstPass, PassFault &fault) {
  mlir::ScopedDiagnosticHandler silence(run.context.get(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  run.module = mlir::parseSourceString<mlir::ModuleOp>(fault.input, run.context.get());
  if (!run.module)
    return;
  run.passes = std::make_unique<mlir::PassManager>(run.context.get());
  run.passes->enableVerifier(true);
  StagedPasses passes(*run.passes);
  addAllPasses(passes, scene.target, scene.options);
  unsigned number = 0;
  for (mlir::Pass &pass : *run.passes) {
    PassRunOptions one;
    one.begin = number++;
    one.end = number;
    one.numOptional = passLimitOf(scene.options);
    if (one.begin < firstPass)
      continue;
    std::string before = printModule(*run.module, /*withLocations=*/true);
    std::vector<tw::Diagnostic> ignored;
    if (runPasses(*run.passes, *run.module, ignored, one))
      continue;
    fault.number = one.begin;
    fault.name = pass.getName().str();
    if (!pass.getArgument().empty()) {
      fault.name = pass.getArgument().str();
      llvm::raw_string_ostream stream(fault.pipeline);
      pass.printAsTextualPipeline(stream);
    }
    fault.input = std::move(before);
    return;
  }
}

static PassFault findFault(const FaultScene &scene, const std::string &input, unsigned firstPass) {
  auto run = std::make_unique<Replay>();
  PassFault fault;
  fault.number = firstPass;
  fault.input = input;
  std::string crash;
  bool finished = containCrash([&] { replay(*run, scene, firstPass, fault); }, crash);
  if (!finished || isThreadContextAbandoned())
    (void)run.release(); // a pass crashed half way through it
  return fault;
}

void tw::reproducePassFault(const FaultScene &scene, const std::string &input, unsigned firstPass,
                            std::vector<tw::Diagnostic> &diagnostics) {
  if (llvm::none_of(diagnostics, isFault))
    return;
  PassFault fault = findFault(scene, input, firstPass);
  std::string command, what = "The input of compilation";
  if (!fault.name.empty())
    what =
        "The module before the pass " + fault.name + ", number " + std::to_string(fault.number + 1);
  std::string path = writeReproducer(scene.debug, scene.kernel, "mlir", [&](llvm::StringRef file) {
    command = commandFor(
        scene, file, "--from-pass " + std::to_string(fault.number + 1) + " --emit llvm-dialect");
    std::string text = heading(scene, what, firstMessage(diagnostics)) + "//   " + command + "\n";
    if (!fault.pipeline.empty())
      text += "//   tile-opt " + quoted(file) + " --pass-pipeline='builtin.module(" +
              fault.pipeline + ")'\n";
    return text + fault.input;
  });
  addHints(path, command, diagnostics);
}

void tw::reproduceCodeFault(const FaultScene &scene, mlir::ModuleOp lowered,
                            std::vector<tw::Diagnostic> &diagnostics) {
  std::string llvmIr, error, command;
  scene.target.print(lowered, CodeForm::LlvmIr, llvmIr, error);
  if (error.empty() && !llvmIr.empty())
    writeReproducer(scene.debug, scene.kernel, "ll", [&](llvm::StringRef) { return llvmIr; });
  std::string path = writeReproducer(scene.debug, scene.kernel, "mlir", [&](llvm::StringRef file) {
    command = commandFor(scene, file,
                         "--from-stage llvm-dialect --emit " + stagesOf(scene.target).back().str());
    return heading(scene, "The module before LLVM", firstMessage(diagnostics)) + "//   " + command +
           "\n" + printModule(lowered, /*withLocations=*/true);
  });
  addHints(path, command, diagnostics);
}
