// AMD GPUs as targets of the compiler.
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/codegen/CodeObject.h"
#include "backend/amd/codegen/DirectCopies.h"
#include "backend/amd/codegen/EaseRegisters.h"
#include "backend/amd/codegen/ExchangeHalves.h"
#include "backend/amd/codegen/JoinLoopVectors.h"
#include "backend/amd/codegen/JoinScalarWords.h"
#include "backend/amd/codegen/MixHalves.h"
#include "backend/amd/codegen/RegisterLimits.h"
#include "backend/amd/codegen/RepeatConditions.h"
#include "backend/amd/codegen/ShareOffsets.h"
#include "backend/compile/AssembleText.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/ContainCrash.h"
#include "backend/compile/LlvmRegistry.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/LineTables.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
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

/// Memory of kernels' arguments lies on the GPU and is cached: then adding floats to it is one
/// instruction.
static void markAtomics(llvm::Module &module) {
  llvm::MDNode *empty = llvm::MDNode::get(module.getContext(), {});
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (llvm::isa<llvm::AtomicRMWInst>(instruction)) {
          instruction.setMetadata("amdgpu.no.fine.grained.memory", empty);
          instruction.setMetadata("amdgpu.no.remote.memory", empty);
        }
}

/// Differences that end at 0, of numbers that are not in vectors, as a maximum and a difference:
/// scalar instructions have both of these and not the one, so that a count of iterations would go
/// through vector registers.
static void expandSaturatingDifferences(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::usub_sat ||
          !call->getType()->isIntegerTy(32) || !llvm::isa<llvm::Constant>(call->getArgOperand(1)))
        continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value *from = call->getArgOperand(0), *taken = call->getArgOperand(1);
      llvm::Value *most = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, from, taken);
      call->replaceAllUsesWith(builder.CreateSub(most, taken));
      call->eraseFromParent();
    }
}

static void finishModule(llvm::Module &module) {
  module.setModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 500);
  markAtomics(module);
  expandSaturatingDifferences(module);
  amd::separateDirectCopies(module);
  amd::mixHalves(module);
}

/// Finishes a module for targets with true 16-bit registers.
static void finishHalves(llvm::Module &module) {
  finishModule(module);
  amd::exchangeHalves(module);
}

/// Finishes a module for targets without accumulation registers for matrix instructions.
static void finishWithoutAccumulation(llvm::Module &module) {
  finishHalves(module);
  amd::recomputeBehindProducts(module);
}

/// Finishes a module whose code spilled: reduces live ranges.
static void finishEased(llvm::Module &module) {
  finishHalves(module);
  amd::shareOffsets(module);
  amd::easeRegisters(module, /*insideLoops=*/false);
}

static void finishEasedInLoops(llvm::Module &module) {
  finishHalves(module);
  amd::shareOffsets(module);
  amd::easeRegisters(module, /*insideLoops=*/true);
}

/// Does the same and schedules for the fewest registers, whatever that costs in time.
static void finishSparing(llvm::Module &module) {
  finishEasedInLoops(module);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("amdgpu-sched-strategy", "iterative-minreg");
}

/// Left alone, LLVM keeps sums of matrix instructions in accumulation registers and moves them when
/// anything else uses them. The others do, up to 256.
static void finishWithVectorRegisters(llvm::Module &module) {
  finishModule(module);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("amdgpu-agpr-alloc", "0");
}

// A third of the time of -O2's, for loops as short: passes have shared and hoisted already. -O2
// reassociates, too, which costs registers: products of gfx1201 spilled, and were compiled again.
static constexpr llvm::StringLiteral kSimplifications =
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),early-cse<memssa>,bdce,"
    "instcombine<no-verify-fixpoint>,adce";

// For garbage collection, exceptions, instrumentation, calls of C's library, images, variables of
// debuggers (there are lines only), constructors and handles of the host's languages: kernels have
// none of them. Strength reduction is left out by `emitLlvm` but asks for an analysis.
static constexpr llvm::StringRef kUnusedPasses[] = {
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Straight line strength reduction",
    "AMDGPU Printf lowering",
    "Lower ctors and dtors for AMDGPU",
    "AMDGPU Image Intrinsic Optimizer",
    "Externalize enqueued block runtime handles",
    "AMDGPU Software lowering of LDS",
    "Lower invoke and unwind, for unwindless code generators",
    "ObjC ARC contraction",
    "Safe Stack instrumentation pass",
    "GCN NSA Reassign",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Fixup Statepoint Caller Saved",
    "Insert fentry calls",
    "Insert XRay ops",
    "Remove Loads Into Fake Uses",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    // The last one of code that spills only: offsets that accesses share are computed at each.
    "Loop Invariant Code Motion",
};
static constexpr llvm::ArrayRef<llvm::StringRef> kUnusedWhereEased = kUnusedPasses;

static constexpr PlacedPass kOwnPasses[] = {
    {"AMDGPU DAG->DAG Pattern Instruction Selection", amd::createRepeatConditions},
    {"Finalize ISel and expand pseudo-instructions", amd::createJoinScalarWords},
};

namespace {
class AmdTarget final : public Target {
public:
  AmdTarget(const AmdArch &arch, AmdCode code)
      : arch(arch), assembles(code != AmdCode::Ir), embedsIr(code == AmdCode::HsacoWithIr) {
    machine.triple = "amdgcn-amd-amdhsa";
    machine.initialize = initializeAmdgpu;
    machine.finish =
        arch.hasAccumulationRegisters ? finishWithVectorRegisters : finishWithoutAccumulation;
    machine.cpu = arch.name.str();
    // Halves of registers are registers of their own, which conversions write: no pair is packed.
    machine.features = arch.isWave64() ? "+wavefrontsize64" : "+wavefrontsize32,+real-true16";
    // Where code has 256 registers and no more, some of it spills with such vectors alone.
    machine.prepare = arch.hasAccumulationRegisters ? amd::joinLoopVectors : nullptr;
    machine.simplifications = kSimplifications;
    machine.unusedPasses = kUnusedWhereEased.drop_back();
    machine.ownPasses = kOwnPasses;
    machine.pairsFloats = arch.generation == 9; // v_pk_add_f32, v_pk_mul_f32, v_pk_fma_f32
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
  bool compile(ModuleOp lowered, Artifact &artifact, std::string &error) const override;
  StringRef textStage() const override { return "asm"; }
  bool hasTextBinary() const override { return true; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override;
  bool print(ModuleOp lowered, CodeForm form, std::string &text, std::string &error) const override;

private:
  /// The code object of what has the fewest spills, and how it was generated.
  bool emitCodeObject(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                      std::string &error) const;
  /// How the code of a module is generated, for its IR: what simulators execute, too.
  LlvmMachine machineFor(ModuleOp lowered) const;
  /// Its text. Code that spills is tried again: with accumulation registers, where there are some,
  /// and else with shorter lives of values.
  bool emitWithFewSpills(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                         std::string &error) const;
  /// Adds the IR that the machine's code was generated from to an artifact's code.
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
  addSimtPasses(passes, gpu::createDescribeTarget({arch.name.str(), describe, check, numWarps}),
                numWarps, unsigned(std::max(options.numStages, 1)));
  passes.beginStage("llvm-dialect", "the LLVM dialect only, with the machine's intrinsics");
  AmdLimits limits = amd::limitsOf(options, arch).value_or(AmdLimits());
  limits.hasPrint = !assembles;
  limits.keepsFarOffsets = !assembles;
  passes.addPass(createLowerAmd(arch, limits));
  passes.addPass(createLowerToLlvm());
  passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Tables));
}

/// The scratch memory that a text says its kernel has.
static int64_t scratchBytesOf(StringRef text) {
  StringRef number = text.rsplit(".private_segment_fixed_size:").second.ltrim();
  int64_t bytes = 0;
  return number.consumeInteger(10, bytes) ? 0 : bytes;
}

/// Replaces code by other code if that has less scratch memory. The time that both took is its.
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
  chosen = machine;
  LlvmMachine first = machine;
  std::string optimized; // for the other ways
  if (!arch.hasAccumulationRegisters)
    first.optimized = &optimized;
  if (!gpu::emitText(lowered, first, arch.warpSize, artifact, error))
    return false;
  using Finish = void (*)(llvm::Module &);
  static constexpr Finish withAccumulation[] = {finishModule},
                          without[] = {finishEased, finishEasedInLoops, finishSparing};
  // What still spills so much has far more values than registers, and each try takes as long.
  constexpr int64_t kHopelessBytes = 1024;
  for (Finish finish : arch.hasAccumulationRegisters ? ArrayRef(withAccumulation) : without) {
    if (scratchBytesOf(artifact.binary) == 0)
      break;
    LlvmMachine other = first;
    other.finish = finish;
    if (!arch.hasAccumulationRegisters)
      other.unusedPasses = kUnusedWhereEased;
    Artifact candidate;
    std::string refusal; // of what is not needed
    if (!gpu::emitText(lowered, other, arch.warpSize, candidate, refusal))
      continue;
    if (takeIfBetter(artifact, std::move(candidate)))
      chosen.finish = finish;
    if (scratchBytesOf(artifact.binary) > kHopelessBytes)
      break;
  }
  return true;
}

bool AmdTarget::emitCodeObject(ModuleOp lowered, Artifact &artifact, LlvmMachine &chosen,
                               std::string &error) const {
  return emitWithFewSpills(lowered, artifact, chosen, error) &&
         compileText(std::string(artifact.binary), artifact, error);
}

/// Returns true if reducing live ranges would change the IR: `easeRegisters` acts on matrix
/// instructions and on the code that follows them.
static bool mayBeEased(ModuleOp lowered) {
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
  if (!arch.hasAccumulationRegisters && mayBeEased(lowered) &&
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

/// A text as the assembler's strings write it.
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
