// OpenCL devices as targets of the compiler.
#include "backend/spirv/SpirvTarget.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/LlvmRegistry.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/LineTables.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/codegen/Passes.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include <chrono>
#include <mutex>

using namespace mlir;
using namespace tw;

extern "C" {
void LLVMInitializeSPIRVTargetInfo();
void LLVMInitializeSPIRVTarget();
void LLVMInitializeSPIRVTargetMC();
void LLVMInitializeSPIRVAsmPrinter();
}

static void registerSpirv() {
  LLVMInitializeSPIRVTargetInfo();
  LLVMInitializeSPIRVTarget();
  LLVMInitializeSPIRVTargetMC();
  LLVMInitializeSPIRVAsmPrinter();
}

static void initializeSpirv() {
  static std::once_flag isRegistered;
  std::call_once(isRegistered, registerWithLlvm, registerSpirv);
}

// Loops get counters of as many bits as a mask keeps (i2), which LLVM 22's legalization for SPIR-V
// widens without the mask: they no longer wrap. Drivers reduce loops themselves.
static constexpr llvm::StringLiteral kUnusedPasses[] = {"Loop Strength Reduction"};

namespace {
class SpirvTarget final : public Target {
public:
  SpirvTarget(const SpirvArch &arch, SpirvCode code, spirv::DriverAssembler assembler)
      : arch(arch), code(code), assembler(std::move(assembler)) {
    machine.triple = "spirv64v1.4-unknown-unknown";
    machine.initialize = initializeSpirv;
    machine.provides = spirv::isBuiltin;
    machine.unusedPasses = kUnusedPasses;
    spirv::addPasses(machine, arch, code == SpirvCode::Ir);
  }
  std::string name() const override { return "spirv:" + arch.name.str(); }
  std::string describe() const override {
    return machine.triple + ";" + arch.name.str() + (isSimulated() ? ";llvm" : ";spirv") +
           (assembler.name.empty() ? "" : ";" + assembler.name) +
           (assembler.loadsBlocks ? "" : ";without-blocks");
  }
  std::string symbolOf(StringRef kernelName) const override;
  bool keepsLocations() const override { return isSimulated(); }
  ArrayRef<CodeStage> codeStages() const override;
  void addPasses(StagedPasses &passes, const CompileOptions &options) const override;
  ArrayRef<PassInput> passInputs() const override { return spirvPassInputs(); }
  const LlvmMachine *llvmMachine() const override { return &machine; }
  bool compile(ModuleOp lowered, Artifact &artifact, std::string &error) const override;
  bool print(ModuleOp lowered, CodeForm form, std::string &text, std::string &error) const override;

private:
  bool isSimulated() const { return code == SpirvCode::Ir; }
  bool emit(ModuleOp lowered, Artifact &artifact, std::string &error) const;

  const SpirvArch &arch;
  SpirvCode code;
  spirv::DriverAssembler assembler;
  LlvmMachine machine;
};
} // namespace

std::string SpirvTarget::symbolOf(StringRef kernelName) const {
  return gpu::symbolOf(kernelName, {"printf", "vprintf", "main"});
}

ArrayRef<CodeStage> SpirvTarget::codeStages() const {
  static constexpr CodeStage stages[] = {{"llvm-unoptimized", CodeForm::LlvmIr},
                                         {"llvm", CodeForm::OptimizedLlvmIr},
                                         {"asm", CodeForm::Assembly},
                                         {"spirv", CodeForm::Object},
                                         {"resources", CodeForm::Resources}};
  return stages;
}

/// Returns the option that limits the registers of a thread, for machines that have two numbers of
/// them: the larger one has to be allowed.
static gpu::LimitOption registersOption(const SpirvArch &arch) {
  return {gpu::kRegisterLimit, arch.registers, arch.largeRegisters, "a thread has from",
          "registers"};
}

std::vector<std::string> tw::spirvLaunchOptions(const SpirvArch *arch) {
  std::vector<std::string> words = {"no-fusion", "pass_limit", gpu::kSwizzlePrograms.str()};
  if (!arch || arch->largeRegisters)
    words.push_back(gpu::kRegisterLimit.str()); // which processors are compiled without
  if (!arch || arch->loadsBlocks)
    words.push_back("no-tensor-maps");
  return words;
}

void SpirvTarget::addPasses(StagedPasses &passes, const CompileOptions &options) const {
  unsigned numWarps = gpu::numWarpsOf(options);
  SpirvChoices choices{.roundsSeparately = hasExtraOption(options, "no-fusion"),
                       .loadsBlocks =
                           assembler.loadsBlocks && !hasExtraOption(options, "no-tensor-maps")},
      large = choices;
  large.hasLargeRegisters = true;
  auto describer = [&arch = arch](const SpirvChoices &choices) {
    return [&arch, choices](MLIRContext &context) { return describeSpirv(context, arch, choices); };
  };
  gpu::TargetDescription description = {arch.name.str(), describer(choices), nullptr, numWarps};
  if (arch.largeRegisters) {
    unsigned limit = gpu::numberOf(options, registersOption(arch)).value_or(0);
    if (limit == arch.largeRegisters)
      description.describe = describer(large);
    else if (limit == 0)
      description.describeLarger = describer(large);
  }
  description.checkOptions = [options, &arch = arch](Operation *kernel) -> LogicalResult {
    if (arch.largeRegisters && failed(gpu::checkLimit(options, registersOption(arch), kernel)))
      return failure();
    return gpu::checkProgramOrder(options, kernel);
  };
  addSimtPasses(passes, gpu::createDescribeTarget(std::move(description)), numWarps,
                unsigned(std::max(options.numStages, 1)));
  passes.beginStage("llvm-dialect", "the LLVM dialect only, with functions of OpenCL");
  passes.addPass(createLowerSpirv(arch,
                                  isSimulated() ? SpirvRunner::Simulator : SpirvRunner::Driver,
                                  gpu::programOrderOf(options).value_or(gpu::ProgramOrder())));
  passes.addPass(createLowerToLlvm());
  passes.addPass(createCarryBf16AsBits());
  if (isSimulated())
    passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Tables));
}

/// Lets LLVM's back end use the extensions that machines have; modules name those that they need.
static void allowExtensions() {
  llvm::cl::Option *allowed = llvm::cl::getRegisteredOptions().lookup("spirv-ext");
  if (allowed && allowed->getNumOccurrences() == 0)
    allowed->addOccurrence(0, "spirv-ext",
                           "+SPV_INTEL_subgroup_matrix_multiply_accumulate,"
                           "+SPV_INTEL_split_barrier,"
                           "+SPV_INTEL_2d_block_io");
}

/// Begins to generate SPIR-V, in one thread at a time: LLVM 22 keeps the module's state in static
/// variables (SPIRVModuleAnalysis::MAI), and extensions are an option.
static std::unique_lock<std::mutex> beginGeneration() {
  std::unique_lock lock(llvmOptionsLock());
  allowExtensions();
  return lock;
}

/// Returns what the driver's compiler has to be told about code of so many registers a thread: to
/// round quotients of float32 as the code expects it, and to give threads the registers that it was
/// compiled for (CompilerOptions::largeGrf of Intel's compute runtime).
static std::string buildOptionsOf(const SpirvArch &arch, unsigned registers) {
  std::string options = arch.dividesCorrectly ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
  if (registers > arch.registers)
    options += (options.empty() ? "" : " ") +
               ("-cl-intel-" + std::to_string(registers) + "-GRF-per-thread");
  return options;
}

bool SpirvTarget::emit(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  std::unique_lock<std::mutex> lock;
  if (!isSimulated())
    lock = beginGeneration();
  if (!gpu::emitText(lowered, machine, arch.warpSize, artifact, error,
                     isSimulated() ? CodeForm::OptimizedLlvmIr : CodeForm::Object))
    return false;
  artifact.codeBytes = artifact.binary.size();
  if (lowered->hasAttr(spirv::kFailureWord))
    artifact.resources["failure_word"] = 1;
  const unsigned registers = targetOf(lowered).getRegisters();
  artifact.buildOptions = buildOptionsOf(arch, registers);
  if (registers > arch.registers)
    artifact.resources["large_registers"] = registers;
  if (arch.lastVersion)
    artifact.resources.insert(
        {{kFirstVersion.str(), arch.firstVersion}, {kLastVersion.str(), arch.lastVersion}});
  return true;
}

/// Reports what a driver says of a kernel, at the kernel.
static void report(ModuleOp lowered, const RuntimeError &refusal) {
  Operation *place = lowered;
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>())
    if (function.getCConv() == LLVM::cconv::CConv::SPIR_KERNEL)
      place = function;
  InFlightDiagnostic error = emitCoded(place, refusal.code) << refusal.message;
  if (!refusal.hint.empty())
    error.attachNote(place->getLoc()) << refusal.hint;
}

bool SpirvTarget::compile(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  if (!emit(lowered, artifact, error))
    return false;
  if (!assembler.assemble)
    return true;
  auto start = std::chrono::steady_clock::now();
  RuntimeError refusal;
  if (!assembler.assemble(artifact, artifact.assembled, refusal)) {
    report(lowered, refusal);
    return false;
  }
  artifact.assembler = assembler.name;
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  artifact.milliseconds["assemble"] = elapsed.count();
  return true;
}

bool SpirvTarget::print(ModuleOp lowered, CodeForm form, std::string &text,
                        std::string &error) const {
  if (form == CodeForm::Resources) {
    Artifact artifact;
    if (!emit(lowered, artifact, error))
      return false;
    text = gpu::printResources(artifact);
    return true;
  }
  EmittedCode emitted;
  std::unique_lock lock = beginGeneration();
  bool isEmitted = emitLlvm(lowered, machine, form, emitted, error);
  text = std::move(emitted.bytes);
  return isEmitted;
}

std::unique_ptr<Target> tw::makeSpirvTarget(const std::string &arch, SpirvCode code,
                                            spirv::DriverAssembler assembler) {
  const SpirvArch *row = findSpirvArch(arch);
  return row ? std::make_unique<SpirvTarget>(*row, code, std::move(assembler)) : nullptr;
}
