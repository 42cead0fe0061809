// AMD GPUs as targets of the compiler.
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/RegisterLimits.h"
#include "backend/amd/codegen/CodeObject.h"
#include "backend/amd/codegen/Variants.h"
#include "backend/codegen/AssembleText.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/LlvmRegistry.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/LineTables.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/TargetSelect.h"
#include <chrono>
#include <mutex>

using namespace mlir;
using namespace tw;

static void registerAmdgpu() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
  LLVMInitializeAMDGPUAsmParser();
}

static void initializeAmdgpu() {
  static std::once_flag isRegistered;
  std::call_once(isRegistered, registerWithLlvm, registerAmdgpu);
}

namespace {
class AmdTarget final : public Target {
public:
  AmdTarget(const AmdArch &arch, AmdCode code)
      : arch(arch), assembles(code != AmdCode::Ir), embedsIr(code == AmdCode::HsacoWithIr) {
    machine.triple = "amdgcn-amd-amdhsa";
    machine.initialize = initializeAmdgpu;
    machine.cpu = arch.name.str();
    // With true 16-bit registers, conversions write halves: no pair is packed.
    machine.features = arch.isWave64() ? "+wavefrontsize64" : "+wavefrontsize32,+real-true16";
    machine.simplifications = gpu::kSimplifications;
    amd::addPasses(machine, arch);
    // v_pk_add_f32, v_pk_mul_f32, v_pk_fma_f32
    machine.pairsFloats = arch.generation == 9 || arch.matrix == AmdMatrix::Wmma5;
  }
  std::string name() const override { return "amd:" + arch.name.str(); }
  std::string describe() const override {
    return machine.triple + ";" + machine.cpu + ";" + machine.features +
           (embedsIr    ? ";hsaco+llvm"
            : assembles ? ";hsaco"
                        : ";llvm");
  }
  std::string symbolOf(StringRef kernelName) const override;
  bool keepsLocations() const override { return true; }
  ArrayRef<CodeStage> codeStages() const override;
  void addPasses(StagedPasses &passes, const CompileOptions &options) const override;
  ArrayRef<PassInput> passInputs() const override { return amdPassInputs(); }
  const LlvmMachine *llvmMachine() const override { return &machine; }
  bool compile(ModuleOp lowered, Artifact &artifact, std::string &error) const override;
  StringRef textStage() const override { return "asm"; }
  bool hasTextBinary() const override { return true; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override;
  bool print(ModuleOp lowered, CodeForm form, std::string &text, std::string &error) const override;

private:
  /// Emits the code object of the variant that spills least, which `chosen` generates.
  bool emitCodeObject(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                      std::string &error) const;
  /// Returns the machine whose first variant generates a module's code, for its LLVM IR, which
  /// simulators execute, too.
  LlvmMachine machineFor(ModuleOp lowered) const;
  /// Emits the text of the code. Where it spills, the other variants are tried in order.
  bool emitWithFewSpills(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                         std::string &error) const;
  /// Adds the LLVM IR that the machine's code was generated from to an artifact's code.
  bool embedIr(ModuleOp lowered, const LlvmMachine &chosen, Artifact &artifact,
               std::string &error) const;

  const AmdArch &arch;
  bool assembles, embedsIr;
  LlvmMachine machine;
};
} // namespace

std::string AmdTarget::symbolOf(StringRef kernelName) const {
  return gpu::symbolOf(kernelName, {"vprintf"});
}

ArrayRef<CodeStage> AmdTarget::codeStages() const {
  static constexpr CodeStage stages[] = {{"llvm-unoptimized", CodeForm::LlvmIr},
                                         {"llvm", CodeForm::OptimizedLlvmIr},
                                         {"asm", CodeForm::Assembly},
                                         {"object", CodeForm::Object},
                                         {"hsaco", CodeForm::Linked},
                                         {"resources", CodeForm::Resources}};
  return stages;
}

void AmdTarget::addPasses(StagedPasses &passes, const CompileOptions &options) const {
  unsigned numWarps = gpu::numWarpsOf(options);
  AmdChoices choices{hasExtraOption(options, "no-fusion"), amd::matrixExtentOf(options), numWarps};
  auto describe = [&arch = arch, choices](MLIRContext &context) {
    return describeAmd(context, arch, choices);
  };
  auto check = [options, &arch = arch](Operation *kernel) {
    return amd::checkLimits(options, arch, kernel);
  };
  gpu::TargetDescription description = {arch.name.str(), describe, check, numWarps};
  description.processor = arch.processor();
  addSimtPasses(passes, gpu::createDescribeTarget(std::move(description)), numWarps,
                unsigned(std::max(options.numStages, 1)));
  passes.beginStage("llvm-dialect", "the LLVM dialect only, with the machine's intrinsics");
  AmdLimits limits = amd::limitsOf(options, arch).value_or(AmdLimits());
  limits.hasPrint = !assembles;
  limits.keepsFarOffsets = !assembles;
  passes.addPass(createLowerAmd(arch, limits));
  passes.addPass(createLowerToLlvm());
  passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Tables));
}

/// Returns the scratch memory that a text says its kernel has.
static int64_t scratchBytesOf(StringRef text) {
  StringRef number = text.rsplit(".private_segment_fixed_size:").second.ltrim();
  int64_t bytes = 0;
  return number.consumeInteger(10, bytes) ? 0 : bytes;
}

/// Replaces code by other code if that has less scratch memory; its time is that of both.
static bool takeIfBetter(Artifact &artifact, Artifact candidate) {
  for (auto &[name, time] : candidate.milliseconds)
    artifact.milliseconds[name] += time;
  if (scratchBytesOf(candidate.binary) >= scratchBytesOf(artifact.binary))
    return false;
  artifact.binary = std::move(candidate.binary);
  return true;
}

bool AmdTarget::emitWithFewSpills(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                                  std::string &error) const {
  std::string optimized; // for the other variants
  LlvmMachine tried = chosen = machine;
  if (!arch.hasAccumulationRegisters)
    tried.optimized = &optimized;
  if (!gpu::emitText(lowered, tried, arch.warpSize, artifact, error))
    return false;
  // Code that still spills three quarters of the 256 registers of a thread has far more values than
  // registers, and each try takes as long.
  constexpr int64_t kHopelessBytes = 4 * 256 * 3 / 4;
  const int64_t first = scratchBytesOf(artifact.binary);
  int64_t fewest = first;
  while (fewest > 0 && tried.variants.size() > 1) {
    tried.variants = tried.variants.drop_front();
    Artifact candidate;
    std::string refusal; // of what is not needed
    if (!gpu::emitText(lowered, tried, arch.warpSize, candidate, refusal))
      continue;
    if (takeIfBetter(artifact, std::move(candidate)))
      chosen.variants = tried.variants;
    fewest = scratchBytesOf(artifact.binary);
    if (fewest > kHopelessBytes)
      break;
  }
  if (fewest < first)
    amd::reportVariant(lowered, chosen.variants.front().name, first, fewest);
  return true;
}

bool AmdTarget::emitCodeObject(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                               std::string &error) const {
  return emitWithFewSpills(lowered, artifact, chosen, error) &&
         compileText(std::string(artifact.binary), artifact, error);
}

/// Returns true if the variants may differ in their LLVM IR, and not only in the code generator:
/// their passes act on matrix instructions, and on what follows them.
static bool hasMatrixInstruction(ModuleOp lowered) {
  return lowered
      ->walk([](LLVM::CallIntrinsicOp call) {
        return call.getIntrin().contains(".wmma.") ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LlvmMachine AmdTarget::machineFor(ModuleOp lowered) const {
  LlvmMachine chosen = machine;
  Artifact artifact;
  std::string refusal; // of what has IR but no code
  if (!arch.hasAccumulationRegisters && hasMatrixInstruction(lowered) &&
      !emitWithFewSpills(lowered, artifact, chosen, refusal))
    return machine;
  return chosen;
}

bool AmdTarget::compileText(const std::string &text, Artifact &artifact, std::string &error) const {
  auto start = std::chrono::steady_clock::now();
  EmittedCode object;
  artifact.binary = text;
  if (!assembleText(text, machine, object, error) ||
      !amd::linkCodeObject(object.bytes, artifact.assembled, error) ||
      !amd::readCodeObject(artifact.assembled, artifact.symbol, artifact.resources, error))
    return false;
  artifact.codeBytes = object.codeBytes;
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  artifact.milliseconds["assemble"] = elapsed.count();
  return true;
}

/// Writes a text as the assembler's strings do.
static std::string escapeForAssembler(StringRef text) {
  std::string escaped;
  for (unsigned char character : text)
    if (llvm::isPrint(character) && character != '"' && character != '\\')
      escaped += char(character);
    else
      escaped += {'\\', char('0' + (character >> 6)), char('0' + ((character >> 3) & 7)),
                  char('0' + (character & 7))};
  return escaped;
}

bool AmdTarget::embedIr(ModuleOp lowered, const LlvmMachine &chosen, Artifact &artifact,
                        std::string &error) const {
  EmittedCode ir;
  if (!emitLlvm(lowered, chosen, CodeForm::OptimizedLlvmIr, ir, error))
    return false;
  return compileText(artifact.binary + "\n\t.section " + kIrSection +
                         ",\"\",@progbits\n\t.ascii \"" + escapeForAssembler(ir.bytes) + "\"\n",
                     artifact, error);
}

bool AmdTarget::compile(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  if (!assembles)
    return gpu::emitText(lowered, machineFor(lowered), arch.warpSize, artifact, error,
                         CodeForm::OptimizedLlvmIr);
  LlvmMachine chosen;
  if (!emitCodeObject(lowered, artifact, chosen, error)) {
    amd::blameInlineAsm(lowered, artifact.binary, error);
    return false;
  }
  if (embedsIr && !embedIr(lowered, chosen, artifact, error))
    return false;
  amd::reportSpills(lowered, artifact);
  return true;
}

bool AmdTarget::print(ModuleOp lowered, CodeForm form, std::string &text,
                      std::string &error) const {
  EmittedCode code;
  if (form == CodeForm::LlvmIr || form == CodeForm::OptimizedLlvmIr) {
    bool isFinal = form == CodeForm::OptimizedLlvmIr;
    bool emitted = emitLlvm(lowered, isFinal ? machineFor(lowered) : machine, form, code, error);
    text = std::move(code.bytes);
    return emitted;
  }
  Artifact artifact;
  artifact.symbol = gpu::kernelSymbol(lowered, LLVM::cconv::CConv::AMDGPU_KERNEL);
  LlvmMachine chosen;
  if (!emitCodeObject(lowered, artifact, chosen, error)) {
    if (form == CodeForm::Assembly && !artifact.binary.empty() && !wasInterrupted()) {
      error.clear(); // a text that the assembler refuses is what its reader wants to see
      text = std::move(artifact.binary);
      return true;
    }
    amd::blameInlineAsm(lowered, artifact.binary, error);
    return false;
  }
  amd::reportSpills(lowered, artifact);
  if (form == CodeForm::Object && !assembleText(artifact.binary, machine, code, error))
    return false;
  text = form == CodeForm::Assembly    ? std::move(artifact.binary)
         : form == CodeForm::Object    ? std::move(code.bytes)
         : form == CodeForm::Resources ? gpu::printResources(artifact)
                                       : std::move(artifact.assembled);
  return true;
}

std::unique_ptr<Target> tw::makeAmdTarget(const std::string &arch, AmdCode code) {
  const AmdArch *row = findAmdArch(arch);
  return row ? std::make_unique<AmdTarget>(*row, code) : nullptr;
}
