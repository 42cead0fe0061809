// From a Tile IR module to an artifact of one target.
#include "backend/Compiler.h"
#include "backend/EmitLlvm.h"
#include "backend/PassRun.h"
#include "backend/StoredParameters.h"
#include "ir/RegisterDialects.h"
#include "ir/tile/Tables.h"
#include "ir/tile/Tile.h"
#include "passes/Pipeline.h"
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
  return std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
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

/// The name of a parameter's type in signatures: "fp32", "*fp32".
static std::string signatureType(mlir::Type type) {
  if (auto pointer = llvm::dyn_cast<tile::PtrType>(type))
    return "*" + signatureType(pointer.getPointee());
  for (const tile::ElementTypeRow &row : tile::elementTypes())
    if (llvm::StringRef(row.Kind) != "uint" && tile::irTypeOf(row, type.getContext()) == type)
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
    parameter.sourceIndex = argument.getArgNumber();
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

mlir::func::FuncOp tw::findKernel(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      return function;
  return nullptr;
}

bool tw::compileModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                       Artifact &artifact, std::vector<Diagnostic> &diagnostics) {
  mlir::func::FuncOp kernel = findKernel(module);
  if (!kernel) {
    diagnostics.push_back(internalError("the module has no public function"));
    return false;
  }
  artifact.target = target.name();
  artifact.symbol = target.symbolOf(kernel.getName());
  kernel.setName(artifact.symbol);
  artifact.parameters = describeParameters(kernel);

  auto start = std::chrono::steady_clock::now();
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(hasExtraOption(options, "verify"));
  if (target.runsTilePasses())
    addTilePasses(pm);
  target.addPasses(pm, options);
  bool passed = runPasses(pm, module, diagnostics);
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  artifact.milliseconds["passes"] = elapsed.count();
  if (!passed)
    return false;

  std::string error;
  if (target.compile(module, artifact, error))
    return true;
  diagnostics.push_back(internalError(std::move(error)));
  return false;
}
