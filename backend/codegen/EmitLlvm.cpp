// From the LLVM dialect to machine code: translation, optimization and code generation.
#include "backend/codegen/EmitLlvm.h"
#include "backend/codegen/Bitcode.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/GenerateCode.h"
#include "backend/codegen/SampleModule.h"
#include "backend/codegen/UnrollShortLoops.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include <chrono>
#include <mutex>

using namespace tw;

void tw::registerLlvmTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

/// Returns true if a function is so large that passes whose time is quadratic in its loops or
/// memory accesses (IndVarSimplify and InstCombine of LLVM 22) would take most of the compilation:
/// code of several hundred unrolled bodies.
static bool isLarge(const llvm::Module &module) {
  constexpr size_t kLargeInstructions = 20'000, kLargeBlocks = 600;
  return llvm::any_of(module, [](const llvm::Function &function) {
    return function.size() > kLargeBlocks || function.getInstructionCount() > kLargeInstructions;
  });
}

/// Returns true if a function has float arithmetic that could be joined in pairs. The search for
/// pairs tries every vector that is built of elements, too: in a product of matrices, which has
/// many of these and no such arithmetic, it would take half of the compilation.
static bool hasPairsOfFloats(const llvm::Module &module) {
  constexpr int kPair = 2;
  auto isFloatArithmetic = [](const llvm::Instruction &instruction) {
    return instruction.getType()->isFloatTy() &&
           (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator>(instruction) ||
            llvm::isa<llvm::IntrinsicInst>(instruction));
  };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::count_if(llvm::instructions(function), isFloatArithmetic) >= kPair;
  });
}

/// Bounds how far apart in a block the search for pairs joins elements. Its time is quadratic in
/// the accesses between them: in unrolled code it was most of the compilation, for the same pairs.
/// The bound is the option's default, to which lld sets all options back.
static void boundSearchForPairs() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr int kFarthest = 1500;
    llvm::cl::Option *budget = llvm::cl::getRegisteredOptions().lookup("slp-schedule-budget");
    assert(budget && "another release of LLVM");
    static_cast<llvm::cl::opt<int> *>(budget)->setInitialValue(kFarthest);
  });
}

// The passes that unrolled code needs most, whose time is linear.
static constexpr llvm::StringLiteral kLinearPasses =
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,loop-mssa(loop-rotate,licm),"
    "reassociate,early-cse<memssa>,simplifycfg,adce";

static llvm::FunctionPassManager simplify(llvm::PassBuilder &builder, llvm::StringRef pipeline) {
  if (pipeline.empty())
    return builder.buildFunctionSimplificationPipeline(llvm::OptimizationLevel::O2,
                                                       llvm::ThinOrFullLTOPhase::None);
  llvm::FunctionPassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
  return passes;
}

static void registerOwnPasses(llvm::PassBuilder &builder) {
  builder.registerPipelineParsingCallback([](llvm::StringRef name,
                                             llvm::FunctionPassManager &passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name != kUnrollShortLoops)
      return false;
    passes.addPass(UnrollShortLoops());
    return true;
  });
}

/// Writes into the text of a module which pass was the last that a limit let run.
static void nameLastPass(llvm::Module &module, llvm::StringRef pass) {
  llvm::LLVMContext &context = module.getContext();
  module.getOrInsertNamedMetadata(kLastLlvmPass)
      ->addOperand(llvm::MDNode::get(context, llvm::MDString::get(context, pass)));
}

/// Runs the scalar clean-ups of the machine. The code is vector code already, so the vectorizer of
/// loops stays off; there is one function, so there is no inliner beyond the functions that demand
/// it.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine, const LlvmMachine &wishes,
                     unsigned passLimit) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = false;
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager callAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerBeforeNonSkippedPassCallback(
      [](llvm::StringRef, llvm::Any) { stopIfInterrupted(); });
  // Is not asked for the passes that LLVM cannot do without.
  std::string last;
  callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef name, llvm::Any) {
    if (passLimit == 0)
      return false;
    last = name.str();
    --passLimit;
    return true;
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(callAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  registerOwnPasses(builder);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses, callAnalyses, moduleAnalyses);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  llvm::FunctionPassManager functionPasses =
      simplify(builder, isLarge(module) ? llvm::StringRef(kLinearPasses) : wishes.simplifications);
  functionPasses.addPass(llvm::SimplifyCFGPass());
  if (wishes.pairsFloats && !isLarge(module) && hasPairsOfFloats(module)) {
    boundSearchForPairs();
    functionPasses.addPass(llvm::SLPVectorizerPass());
    functionPasses.addPass(llvm::EarlyCSEPass());
  }
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functionPasses)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, moduleAnalyses);
  if (passLimit == 0 && !last.empty())
    nameLastPass(module, last);
}

uint64_t tw::countCodeBytes(const std::string &object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef &section : (*file)->sections())
    if (section.isText())
      bytes += section.getSize();
  return bytes;
}

namespace {
/// Keeps LLVM's errors as text; without a handler LLVM prints them and calls exit().
struct ErrorCollector : llvm::DiagnosticHandler {
  explicit ErrorCollector(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    if (!llvm::StringRef(errors).contains(text)) // unrolled code repeats its faults
      errors += text + "\n";
    return true;
  }
  std::string &errors;
};

/// Measures consecutive pieces of work.
class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double milliseconds = std::chrono::duration<double, std::milli>(now - last).count();
    last = now;
    return milliseconds;
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

/// Ends code generation between its passes where it was interrupted, and leaves "straight line
/// strength reduction" out of the code generators that have it. In LLVM 22 its time
/// is quadratic in the number of addresses (25 s for 1,600 loads), and the machine code of every
/// kernel of the benchmark is the same without it: assemblers do it themselves, and
/// `sink-offsets` does what matters before.
struct CodegenGate : llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef passName, llvm::StringRef) const override {
    stopIfInterrupted();
    return passName != "slsr";
  }
};

/// Everything that LLVM works on, on the heap: after a crash it is leaked as a whole.
struct Emission {
  CodegenGate gate;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

static std::string printModule(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// Makes the LLVM module; false leaves `error` set.
static bool translate(Emission &emission, mlir::ModuleOp module, const LlvmMachine &machine,
                      std::string &error) {
  emission.module = mlir::translateModuleToLLVMIR(module, emission.context);
  if (!emission.module) {
    error = "the module could not be translated to LLVM IR";
    return false;
  }
  placeOn(*emission.module, *emission.machine);
  if (!linkBitcode(module, *emission.module, machine, error))
    return false;
  describeMachine(*emission.module, machine);
  return true;
}

/// Takes the optimized module of an emission before; false leaves `error` set.
static bool takeOptimized(Emission &emission, const std::string &bitcode, std::string &error) {
  llvm::Expected<std::unique_ptr<llvm::Module>> read =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel"), emission.context);
  if (!read) {
    error = llvm::toString(read.takeError());
    return false;
  }
  emission.module = std::move(*read);
  return true;
}

static void runPasses(llvm::ArrayRef<ModulePass> passes, llvm::Module &module) {
  for (const ModulePass &pass : passes)
    pass.run(module);
}

/// Turns an optimized module into what the code generator takes.
static void applyVariant(const CodeVariant &variant, llvm::Module &module) {
  runPasses(variant.passes, module);
  for (llvm::Function &function : module)
    for (const FunctionAttribute &attribute : variant.attributes)
      if (!function.isDeclaration())
        function.addFnAttr(attribute.key, attribute.value);
}

/// How many of LLVM's optional passes run.
static unsigned passLimitOf(mlir::ModuleOp module) {
  auto limit = module->getAttrOfType<mlir::IntegerAttr>(kLlvmPassLimit);
  return limit ? limit.getInt() : std::numeric_limits<unsigned>::max();
}

static void optimizeModule(Emission &emission, const LlvmMachine &machine, unsigned passLimit) {
  runPasses(machine.prepare, *emission.module);
  optimize(*emission.module, *emission.machine, machine, passLimit);
  if (!machine.optimized)
    return;
  llvm::raw_string_ostream stream(*machine.optimized);
  llvm::WriteBitcodeToFile(*emission.module, stream);
}

/// Emits one form; an early return leaves `error` set.
static void runEmission(Emission &emission, mlir::ModuleOp module, const LlvmMachine &machine,
                        CodeForm form, EmittedCode &code, std::string &error) {
  Stopwatch watch;
  emission.machine = makeTargetMachine(machine, error);
  if (!emission.machine)
    return;
  bool isOptimized = machine.optimized && !machine.optimized->empty() && form != CodeForm::LlvmIr;
  if (isOptimized ? !takeOptimized(emission, *machine.optimized, error)
                  : !translate(emission, module, machine, error))
    return;
  code.numLinkedFunctions = countLinkedFunctions(module);
  code.translateMilliseconds = watch.lap();
  if (form != CodeForm::LlvmIr && !isOptimized)
    optimizeModule(emission, machine, passLimitOf(module));
  applyVariant(machine.variants.front(), *emission.module);
  code.optimizeMilliseconds = watch.lap();
  if (form == CodeForm::LlvmIr || form == CodeForm::OptimizedLlvmIr) {
    code.bytes = printModule(*emission.module);
    return;
  }
  emission.context.setOptPassGate(emission.gate);
  auto type = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if (!generateCode(*emission.module, *emission.machine, machine, type, code.bytes))
    error = "this machine cannot emit that form of code";
  code.generateMilliseconds = watch.lap();
  if (form == CodeForm::Object)
    code.codeBytes = countCodeBytes(code.bytes);
}

/// Runs the emission, contained. What LLVM worked on is leaked if it crashed.
static bool contain(llvm::function_ref<void(Emission &, std::string &)> action,
                    std::string &error) {
  auto emission = std::make_unique<Emission>();
  std::string collected, failure;
  emission->context.setDiagnosticHandler(std::make_unique<ErrorCollector>(collected));
  bool finished = containCrash([&] { action(*emission, failure); }, error);
  if (!finished) {
    (void)emission.release();
    return false;
  }
  error = collected + failure;
  return error.empty();
}

bool tw::emitLlvm(mlir::ModuleOp module, const LlvmMachine &machine, CodeForm form,
                  EmittedCode &code, std::string &error) {
  bool isEmitted = contain(
      [&](Emission &emission, std::string &failure) {
        runEmission(emission, module, machine, form, code, failure);
      },
      error);
  if (!isEmitted && code.numLinkedFunctions > 0 && !wasInterrupted())
    blameBitcode(module, machine, error);
  return isEmitted;
}

/// Emits the sample; an early return leaves `error` set.
static void runSample(Emission &emission, const LlvmMachine &machine, std::string &error) {
  emission.machine = makeTargetMachine(machine, error);
  if (!emission.machine)
    return;
  emission.module = makeSampleModule(emission.context);
  placeOn(*emission.module, *emission.machine);
  describeMachine(*emission.module, machine);
  optimizeModule(emission, machine, std::numeric_limits<unsigned>::max());
  applyVariant(machine.variants.front(), *emission.module);
  emission.context.setOptPassGate(emission.gate);
  std::string bytes;
  generateCode(*emission.module, *emission.machine, machine, llvm::CodeGenFileType::ObjectFile,
               bytes);
}

void tw::warmUpEmission(const LlvmMachine &machine) {
  std::string ignored; // a fault comes back when something is compiled
  (void)contain(
      [&](Emission &emission, std::string &failure) { runSample(emission, machine, failure); },
      ignored);
}

void tw::addTimes(const EmittedCode &code, Artifact &artifact) {
  artifact.milliseconds["llvm"] =
      code.translateMilliseconds + code.optimizeMilliseconds + code.generateMilliseconds;
  artifact.milliseconds["llvm/translate"] = code.translateMilliseconds;
  artifact.milliseconds["llvm/optimize"] = code.optimizeMilliseconds;
  artifact.milliseconds["llvm/codegen"] = code.generateMilliseconds;
}
