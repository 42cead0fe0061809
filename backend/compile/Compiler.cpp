// From a Tile IR module to an artifact of one target.
#include "backend/compile/Compiler.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/EmitLlvm.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/Promises.h"
#include "backend/compile/Reproducer.h"
#include "backend/compile/StageRun.h"
#include "backend/compile/StoredParameters.h"
#include "ir/RegisterDialects.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Tables.h"
#include "ir/tile/Tile.h"
#include "runtime/codes/Codes.h"
#include <chrono>

using namespace tw;

void tw::registerCompilerDialects(mlir::DialectRegistry &registry) {
  registerTileDialects(registry);
  registerLlvmTranslations(registry);
  registry
      .insert<mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect, mlir::cf::ControlFlowDialect>();
}

std::unique_ptr<mlir::MLIRContext> tw::makeCompilerContext() {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  // Users see their own source, not operations: printing those for each remark would be wasted.
  context->printOpOnDiagnostic(false);
  return context;
}

namespace {
struct ThreadContext {
  std::shared_ptr<mlir::MLIRContext> context;
  int numUses = 0;
};
} // namespace

/// A context keeps every type, attribute and location it ever made: after this many compiles a new
/// one costs less than what the old one holds.
static constexpr int kUsesPerContext = 256;

static ThreadContext &threadContext() {
  static thread_local ThreadContext context;
  return context;
}

std::shared_ptr<mlir::MLIRContext> tw::acquireThreadContext() {
  ThreadContext &current = threadContext();
  if (!current.context || ++current.numUses > kUsesPerContext) {
    current.context = makeCompilerContext();
    current.numUses = 1;
  }
  return current.context;
}

void tw::abandonThreadContext() {
  // One more owner that never lets go.
  (void)new std::shared_ptr<mlir::MLIRContext>(std::move(threadContext().context));
}

bool tw::isThreadContextAbandoned() { return !threadContext().context; }

bool tw::hasExtraOption(const CompileOptions &options, llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(options.extra).split(words, ',');
  return llvm::is_contained(words, word);
}

std::optional<llvm::StringRef> tw::extraOption(const CompileOptions &options,
                                               llvm::StringRef name) {
  for (llvm::StringRef word : llvm::split(options.extra, ','))
    if (word.consume_front(name) && word.consume_front("="))
      return word;
  return std::nullopt;
}

/// The name of a parameter's type in signatures: "fp32", "*fp32".
static std::string signatureType(mlir::Type type) {
  if (auto pointer = llvm::dyn_cast<tile::PtrType>(type))
    return "*" + signatureType(pointer.getPointee());
  // Floats that IR has as integers are such.
  const char *kind = llvm::isa<mlir::FloatType>(type) ? "float" : "sint";
  for (const tile::ElementTypeRow &row : tile::elementTypes())
    if ((row.is(kind) || type.isInteger(1)) && tile::irTypeOf(row, type.getContext()) == type)
      return row.ShortName;
  return "?";
}

static std::vector<ArtifactParameter> describeParameters(mlir::func::FuncOp function) {
  std::vector<ArtifactParameter> parameters;
  for (mlir::BlockArgument argument : function.getArguments()) {
    ArtifactParameter parameter;
    if (auto name =
            function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), tile::kArgName))
      parameter.name = name.str();
    parameter.type = signatureType(argument.getType());
    parameter.isStored = isStoredThrough(argument);
    parameter.isLoaded = isLoadedThrough(argument);
    parameter.sourceIndex = argument.getArgNumber();
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

static LaunchProduct productOf(simt::LaunchProductAttr product) {
  return {product.getFactor(), {product.getArguments().begin(), product.getArguments().end()}};
}

static MapElement elementOf(mlir::Type type) {
  if (type.isBF16())
    return MapElement::BF16;
  unsigned bits = type.getIntOrFloatBitWidth();
  if (llvm::isa<mlir::FloatType>(type) && bits >= 16)
    return bits == 16 ? MapElement::F16 : bits == 32 ? MapElement::F32 : MapElement::F64;
  return bits == 8    ? MapElement::U8
         : bits == 16 ? MapElement::U16
         : bits == 32 ? MapElement::U32
                      : MapElement::U64;
}

/// Describes the tensor maps that passes, or a text, gave the kernel. False where no launch can
/// fill one in.
static bool describeTensorMaps(mlir::ModuleOp module, Artifact &artifact) {
  for (mlir::Attribute attribute : simt::tensorMapsOf(module)) {
    auto map = llvm::dyn_cast<simt::TensorMapAttr>(attribute);
    if (!map)
      return false;
    TensorMapRecipe recipe;
    recipe.parameter = map.getArgument();
    recipe.element = elementOf(map.getElementType());
    for (simt::LaunchProductAttr extent : map.getExtents())
      recipe.extents.push_back(productOf(extent));
    for (simt::LaunchProductAttr stride : map.getStrides())
      recipe.strides.push_back(productOf(stride));
    recipe.box.assign(map.getBox().begin(), map.getBox().end());
    recipe.spanBytes = map.getSpanBytes();
    if (!isWellFormed(recipe, artifact.parameters))
      return false;
    artifact.tensorMaps.push_back(std::move(recipe));
  }
  return true;
}

/// An error about tensor maps: of a text that somebody wrote, or of a pass.
static Diagnostic tensorMapError(bool isOfText) {
  Diagnostic error = internalError("the module has a tensor map that no launch can fill in");
  if (!isOfText)
    return error;
  error.kind = rowOfCode(Code::UnreadableText).kind;
  error.code = Code::UnreadableText;
  error.hint = "the array is an argument of the kernel, and so are numbers in extents and strides";
  return error;
}

mlir::func::FuncOp tw::findKernel(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      return function;
  return nullptr;
}

/// The target's compile. Where that assembles nothing, remarks are those of its assembler, too.
static bool compileCode(mlir::ModuleOp lowered, const StageRun &run, Artifact &artifact,
                        std::vector<Diagnostic> &diagnostics, std::string &error) {
  bool isMade = false, collectsRemarks = run.debug.collectsRemarks;
  collectReports(*lowered.getContext(), collectsRemarks, diagnostics, [&] {
    isMade = run.target.compile(lowered, artifact, error);
    std::string text, ignored;
    if (isMade && collectsRemarks && artifact.assembled.empty() &&
        llvm::any_of(run.target.codeStages(),
                     [](const CodeStage &stage) { return stage.form == CodeForm::Resources; }))
      run.target.print(lowered, CodeForm::Resources, text, ignored);
  });
  return isMade;
}

/// Lowered IR to code, or to the code that an override gives.
static bool makeCode(mlir::ModuleOp lowered, const StageRun &run, const StageRunResult &stages,
                     Artifact &artifact, std::vector<Diagnostic> &diagnostics) {
  std::string error;
  if (!compileCode(lowered, run, artifact, diagnostics, error)) {
    if (wasInterrupted()) {
      diagnostics.push_back(interruptedDiagnostic());
      return false;
    }
    if (hasError(diagnostics))
      return false; // a fault of the kernel's, which the target has reported
    std::vector<Diagnostic> reported = {internalError(std::move(error))};
    blameText(run, reported);
    reproduceCodeFault({run.target, run.options, run.debug, stages.kernel}, lowered, reported);
    diagnostics.push_back(std::move(reported.front()));
    return false;
  }
  const StageOverride *text = stages.textOverride(run.target);
  if (text && !run.target.compileText(text->text, artifact, error)) {
    diagnostics.push_back(overrideError(*text, error));
    return false;
  }
  const std::string own = run.target.hasTextBinary() ? artifact.binary : "";
  dumpCode(run, stages, lowered, text ? text->text : own, diagnostics);
  return true;
}

bool tw::compileModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                       Artifact &artifact, std::vector<Diagnostic> &diagnostics,
                       const DebugSettings &debug) {
  StageRun run{target, options, debug, /*verifies=*/hasExtraOption(options, "verify")};
  StageRunResult stages;
  if (!startStages(module, run, stages, diagnostics))
    return false;
  mlir::func::FuncOp kernel = findKernel(module);
  if (!kernel) {
    diagnostics.push_back(internalError("the module has no public function"));
    return false;
  }
  artifact.target = target.name();
  artifact.symbol = target.symbolOf(kernel.getName());
  artifact.parameters = describeParameters(kernel);
  if (target.checksPromises == AccessChecks::Always ||
      (target.checksPromises == AccessChecks::DebugBuilds && options.debug))
    artifact.promises = promisesOf(module, artifact.symbol);

  const bool isOfText = !simt::tensorMapsOf(module).empty() || !stages.overrides.empty();
  auto start = std::chrono::steady_clock::now();
  bool passed = runStages(module, run, stages, diagnostics);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  artifact.milliseconds["passes"] = elapsed.count();
  if (debug.timesPasses)
    for (const auto &[pass, milliseconds] : stages.passTimes)
      artifact.milliseconds["passes/" + pass] = milliseconds;
  if (passed && !describeTensorMaps(module, artifact)) {
    diagnostics.push_back(tensorMapError(isOfText));
    return false;
  }
  return passed && makeCode(module, run, stages, artifact, diagnostics);
}
