// Compiles one kernel written in Tile IR text: shows it at any stage, or runs it on made-up
// arguments.
#include "backend/TargetKind.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/ReadModule.h"
#include "backend/inspect/Inspection.h"
#include "backend/tools/RunKernel.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace tw;
namespace cl = llvm::cl;

namespace {
/// The command line. Its options live on main's stack, so there are no static constructors.
struct CommandLine {
  cl::opt<std::string> input{cl::Positional, cl::desc("<kernel.mlir>"), cl::init("-")};
  cl::opt<std::string> output{"o", cl::desc("output file of --emit"), cl::init("-")};
  cl::opt<std::string> target{
      "target", cl::desc("one of the build's targets; an unknown one lists them"), cl::init("cpu")};
  cl::opt<std::string> stage{
      "emit", cl::desc("print a stage, as tile, lowered, llvm, resources; an unknown one "
                       "lists those of the target")};
  cl::opt<int> numWarps{"num-warps", cl::desc("warps of a program, on GPUs"), cl::init(4)};
  cl::opt<int> numStages{"num-stages", cl::desc("iterations of a loop in flight, on GPUs"),
                         cl::init(3)};
  cl::opt<std::string> fromStage{"from-stage",
                                 cl::desc("the input is what this stage ends with; needs --emit")};
  cl::opt<unsigned> fromPass{
      "from-pass", cl::desc("the input is what this pass begins with, by its number in dumps"),
      cl::init(0)};
  cl::opt<std::string> dumpDirectory{
      "dump-to", cl::desc("write the IR to DIR/NAME/NN-PASS.mlir after each pass that changes it")};
  cl::opt<std::string> overrideDirectory{
      "override", cl::desc("take DIR/NAME.STAGE instead of what compilation makes of that stage")};
  cl::opt<bool> unchecked{
      "unchecked",
      cl::desc("the input is what the compiler itself made, as in reproducers: take it "
               "as it is, and blame the compiler for what fails")};
  cl::opt<bool> remarks{"remarks", cl::desc("print what the passes say of their decisions")};
  cl::opt<std::string> options{"options", cl::desc("target options, as verify")};
  cl::opt<bool> run{"run", cl::desc("compile, launch, print sums of the arrays")};
  cl::opt<std::string> grid{"grid", cl::desc("4 or 4,2,1"), cl::init("1")};
  cl::list<std::string> arguments{
      "arg", cl::desc("f32[1024]=random|iota|zeros|1.5, const f32[8]=iota, or i32=5; in order")};
  cl::opt<unsigned> time{"time", cl::desc("time this many launches"), cl::init(0)};
  cl::opt<unsigned> show{"show", cl::desc("print this many elements of every array"), cl::init(0)};
  cl::opt<int> threads{"num-threads", cl::desc("threads of the cpu, 0: all cores"), cl::init(0)};
};
} // namespace

/// The target of a name and its device, or null after saying which there are.
static std::optional<TargetEntry> openTarget(const std::string &name) {
  RuntimeError error;
  std::optional<TargetEntry> entry = makeTarget(targetKinds(), name, /*settings=*/{}, error);
  if (!entry)
    llvm::errs() << "error: " << error.message << "\nhint: " << error.hint << "\n";
  return entry;
}

static void show(const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics)
    llvm::errs() << renderDiagnostic(diagnostic, {});
}

static DebugSettings debugSettingsOf(const CommandLine &line) {
  DebugSettings debug;
  debug.dumpDirectory = line.dumpDirectory;
  debug.overrideDirectory = line.overrideDirectory;
  debug.collectsRemarks = line.remarks;
  debug.checksInput = !line.unchecked;
  return debug;
}

static int writeOutput(const std::string &path, const std::string &text) {
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_None);
  if (error) {
    llvm::errs() << path << ": " << error.message() << "\n";
    return 1;
  }
  file.os() << text;
  file.keep();
  return 0;
}

static int printStage(const CommandLine &line, mlir::ModuleOp module, const Target &target,
                      const CompileOptions &options) {
  const std::string output = line.output; // a linker in this process resets all options
  std::vector<Diagnostic> diagnostics;
  std::string text;
  bool printed = inspectModule(module, target, options, line.stage, text, diagnostics,
                               debugSettingsOf(line), {line.fromStage, line.fromPass});
  show(diagnostics);
  return printed ? writeOutput(output, text) : 1;
}

static int compileAndRun(const CommandLine &line, mlir::ModuleOp module, const TargetEntry &entry,
                         const CompileOptions &options) {
  // Read before a linker in this process resets all options.
  const bool runs = line.run;
  const int threads = line.threads;
  const RunRequest request{
      {line.arguments.begin(), line.arguments.end()}, line.grid, line.time, line.show};
  std::vector<Diagnostic> diagnostics;
  Artifact artifact;
  bool compiled =
      compileModule(module, *entry.target, options, artifact, diagnostics, debugSettingsOf(line));
  show(diagnostics);
  if (!compiled)
    return 1;
  llvm::outs() << "compiled " << artifact.symbol << ": " << artifact.codeBytes << " bytes of code";
  for (const auto &[piece, milliseconds] : artifact.milliseconds)
    llvm::outs() << llvm::formatv(", {0} {1:F1} ms", piece, milliseconds);
  llvm::outs() << "\n";
  if (!runs)
    return 0;
  if (threads > 0)
    entry.device->setNumThreads(threads);
  return runKernel(artifact, *entry.device, request) ? 0 : 1;
}

/// The kernel's module; null after saying why the file has none.
static mlir::OwningOpRef<mlir::ModuleOp> readInput(const std::string &path,
                                                   mlir::MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    llvm::errs() << "error: " << path << ": " << buffer.getError().message() << "\n";
    return {};
  }
  SourceText source{(*buffer)->getBufferIdentifier().str(), 1, (*buffer)->getBuffer().str()};
  std::vector<Diagnostic> diagnostics;
  auto module = readModule(source, context, Code::UnreadableText, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics)
    llvm::errs() << renderDiagnostic(diagnostic, {source});
  return module;
}

int main(int argc, char **argv) {
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "Compiles a kernel written in Tile IR\n");
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = readInput(line.input, *context);
  if (!module)
    return 1;
  std::optional<TargetEntry> entry = openTarget(line.target);
  if (!entry)
    return 1;
  CompileOptions options;
  options.extra = line.options;
  options.numWarps = line.numWarps;
  options.numStages = line.numStages;
  if (line.stage.empty() && (!line.fromStage.empty() || line.fromPass > 0)) {
    llvm::errs() << "error: --from-stage and --from-pass need --emit\n";
    return 1;
  }
  int status = line.stage.empty() ? compileAndRun(line, *module, *entry, options)
                                  : printStage(line, *module, *entry->target, options);
  if (isThreadContextAbandoned())
    (void)module.release(); // a pass crashed half way through it
  return status;
}
