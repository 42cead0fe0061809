// NVIDIA GPUs as targets of the compiler.
#include "backend/nvidia/NvidiaTarget.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/LlvmRegistry.h"
#include "backend/codegen/ModulePasses.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/LineTables.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "backend/nvidia/assemble/FileStamps.h"
#include "backend/nvidia/assemble/RegisterLimit.h"
#include "backend/nvidia/codegen/BoundShifts.h"
#include "backend/nvidia/codegen/CollectiveAssembly.h"
#include "backend/nvidia/codegen/GridConstants.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include <chrono>
#include <mutex>

using namespace mlir;
using namespace tw;

static void registerNvptx() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  // Shared memory has 32-bit addresses. LLVM has no switch per machine for it, only this option of
  // the process, which no other code generator reads. It is the default from now on, because a
  // linker that runs in the process sets all options back to theirs.
  if (llvm::cl::Option *shortPointers = llvm::cl::getRegisteredOptions().lookup("nvptx-short-ptr"))
    static_cast<llvm::cl::opt<bool> *>(shortPointers)->setInitialValue(true);
}

static void initializeNvptx() {
  static std::once_flag isRegistered;
  std::call_once(isRegistered, registerWithLlvm, registerNvptx);
}

static constexpr ModulePass kBeforeLlvm[] = {
    kSinkOffsets,
    {"collective-assembly", "assembly of whole warps stays where they go together",
     nvidia::markCollectives},
    {"grid-constants", "parameters by value are read where they lie", nvidia::markGridConstants}};
static constexpr ModulePass kBehindLlvm[] = {
    {"bound-shifts", "amounts of shifts are bounded by their widths", nvidia::boundShifts}};
static constexpr CodeVariant kVariants[] = {{"default", kBehindLlvm, {}, {}}};

// Two thirds of the time of -O2's. Sums are reordered before instcombine sees them, as it takes an
// address for bits that are set where it can: loops of attention get up to 3 % shorter. Branches,
// such as the roles of a kernel's warps, share their first instructions at the end.
static constexpr llvm::StringLiteral kNvptxSimplifications =
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,reassociate,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),early-cse<memssa>,vector-combine,"
    "correlated-propagation,bdce,instcombine<no-verify-fixpoint>,loop-mssa(licm),adce,"
    "simplifycfg<hoist-common-insts;sink-common-insts>";

namespace {
class NvidiaTarget final : public Target {
public:
  NvidiaTarget(const NvidiaArch &arch, bool assembles, const AssemblerSettings &settings)
      : arch(arch), assembles(assembles), found(nvidia::findAssemblers(settings)) {
    machine.triple = "nvptx64-nvidia-cuda";
    machine.initialize = initializeNvptx;
    machine.cpu = arch.name.str();
    machine.features = "+ptx" + arch.ptxVersion.str();
    machine.prepare = kBeforeLlvm;
    machine.variants = kVariants;
    machine.simplifications = kNvptxSimplifications;
  }
  std::string name() const override { return "nvidia:" + arch.name.str(); }
  std::string describe() const override {
    return machine.triple + ";" + machine.cpu + ";" + machine.features + ";" +
           (assembles ? nvidia::identifyAssemblers(found) : "ptx only");
  }
  std::string symbolOf(StringRef kernelName) const override;
  bool keepsLocations() const override { return true; }
  ArrayRef<CodeStage> codeStages() const override;
  void addPasses(StagedPasses &passes, const CompileOptions &options) const override;
  ArrayRef<PassInput> passInputs() const override { return nvidiaPassInputs(); }
  const LlvmMachine *llvmMachine() const override { return &machine; }
  bool compile(ModuleOp lowered, Artifact &artifact, std::string &error) const override;
  StringRef textStage() const override { return "ptx"; }
  bool hasTextBinary() const override { return true; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override;
  bool print(ModuleOp lowered, CodeForm form, std::string &text, std::string &error) const override;
  std::string describeAssembler() const override;

private:
  /// Returns the assemblers, the best one for the architecture first.
  ArrayRef<nvidia::Assembler> assemblers() const;
  bool emitPtx(ModuleOp lowered, Artifact &artifact, std::string &error) const;
  bool assemble(Artifact &artifact, std::string &error) const;
  /// Assembles the text, and again without the aim that many CTAs fit a multiprocessor where it
  /// spills: for that aim, ptxas may keep to a few registers (13.0: 40 registers and 8 bytes for a
  /// product of 32x32, 32 registers and 20 kB for one of 128x256 by 4 warps).
  bool assembleWithFewSpills(Artifact &artifact, std::string &error) const;
  /// Assembles a kernel's text and reports on the kernel what its user should know.
  bool makeMachineCode(ModuleOp lowered, Artifact &artifact, std::string &error) const;

  const NvidiaArch &arch;
  bool assembles;
  std::vector<nvidia::Assembler> found;
  LlvmMachine machine;
  mutable std::once_flag isRanked;
  mutable std::vector<nvidia::Assembler> ranked; // written once, by the first use
};
} // namespace

/// Renames kernels whose names belong to PTX or to the driver.
std::string NvidiaTarget::symbolOf(StringRef kernelName) const {
  return gpu::symbolOf(kernelName, {"WARP_SZ", "vprintf", "__assertfail"});
}

ArrayRef<CodeStage> NvidiaTarget::codeStages() const {
  static constexpr CodeStage stages[] = {{"llvm-unoptimized", CodeForm::LlvmIr},
                                         {"llvm", CodeForm::OptimizedLlvmIr},
                                         {"ptx", CodeForm::Assembly},
                                         {"cubin", CodeForm::Linked},
                                         {"resources", CodeForm::Resources}};
  return stages;
}

/// The options of launches that may begin before those that they depend on have ended, of those
/// whose programs are there in clusters, and of those without descriptors of arrays.
static constexpr StringLiteral kEarlyLaunch = "early-launch", kCluster = "cluster",
                               kNoTensorMaps = "no-tensor-maps";

std::vector<std::string> tw::nvidiaLaunchOptions(const NvidiaArch *arch) {
  std::vector<std::string> words = {"bitcode",           "maxnreg",    "no-fusion",
                                    kNoTensorMaps.str(), "pass_limit", gpu::kSwizzlePrograms.str()};
  if (!arch || llvm::is_contained(arch->features, tile::Feature::DependentLaunches))
    words.push_back(kEarlyLaunch.str()); // which older GPUs of this machine are compiled without
  if (!arch || arch->number >= kFirstWithClusters)
    words.push_back(kCluster.str()); // which older ones are refused
  return words;
}

/// Returns the programs of a cluster along each axis, of the option "cluster=XxYxZ".
static std::array<int64_t, 3> clusterOf(const CompileOptions &options) {
  std::array<int64_t, 3> cluster = {1, 1, 1};
  std::optional<StringRef> text = extraOption(options, kCluster);
  SmallVector<StringRef, 3> extents;
  if (text)
    text->split(extents, 'x');
  for (auto [extent, number] : llvm::zip(extents, cluster))
    if (extent.getAsInteger(10, number))
      return {1, 1, 1};
  return cluster;
}

/// Refuses clusters that the GPU does not have.
static LogicalResult checkCluster(std::array<int64_t, 3> cluster, const NvidiaArch &arch,
                                  Operation *place) {
  if (cluster == std::array<int64_t, 3>{1, 1, 1})
    return success();
  if (arch.number < kFirstWithClusters)
    return emitCoded(place, Code::DeviceLacksOption)
           << arch.name << " has no clusters: GPUs from sm_" << kFirstWithClusters << " on do";
  bool isPositive = llvm::all_of(
      cluster, [](int64_t extent) { return extent > 0 && extent <= int64_t(kMostInCluster); });
  auto [x, y, z] = cluster;
  if (isPositive && x * y * z <= int64_t(kMostInCluster))
    return success();
  return emitCoded(place, Code::DeviceLacksOption)
         << "a cluster of (" << x << ", " << y << ", " << z << ") programs is none that GPUs have: "
         << "it has 1 to " << kMostInCluster;
}

void NvidiaTarget::addPasses(StagedPasses &passes, const CompileOptions &options) const {
  unsigned numWarps = gpu::numWarpsOf(options);
  NvidiaChoices choices{.roundsSeparately = hasExtraOption(options, "no-fusion"),
                        .copiesBoxes = !hasExtraOption(options, kNoTensorMaps),
                        .launchesEarly = hasExtraOption(options, kEarlyLaunch),
                        .registers = nvidia::registersOf(options)};
  auto describe = [=, &arch = arch](MLIRContext &context) {
    return describeNvidia(context, arch, choices);
  };
  std::array<int64_t, 3> cluster = clusterOf(options);
  auto check = [=, &arch = arch](Operation *kernel) -> LogicalResult {
    return success(succeeded(nvidia::checkMaxRegisters(options, kernel)) &&
                   succeeded(checkCluster(cluster, arch, kernel)) &&
                   succeeded(gpu::checkProgramOrder(options, kernel)));
  };
  addSimtPasses(passes,
                gpu::createDescribeTarget({arch.name.str(), describe, check, numWarps, cluster}),
                numWarps, unsigned(std::max(options.numStages, 1)));
  passes.beginStage("llvm-dialect", "the LLVM dialect only, with the machine's intrinsics and "
                                    "tables of source lines");
  passes.addPass(createLowerNvidia(nvidia::maxRegistersOf(options).value_or(0),
                                   gpu::programOrderOf(options).value_or(gpu::ProgramOrder())));
  passes.addPass(createLowerToLlvm());
  passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Directives));
}

bool NvidiaTarget::emitPtx(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  if (!gpu::emitText(lowered, machine, /*warpSize=*/32, artifact, error))
    return false;
  artifact.binary = withFixedFileStamps(artifact.binary);
  artifact.resources["arch"] = arch.number;
  if (hasFeature(targetOf(lowered), tile::Feature::EarlyLaunch))
    artifact.resources["early_launch"] = 1;
  auto [x, y, z] = simt::clusterOf(lowered);
  if (x * y * z > 1)
    artifact.resources.insert({{"cluster_x", x}, {"cluster_y", y}, {"cluster_z", z}});
  return true;
}

/// Returns the text for `arch.specificName` where an assembler's refusal asks for it; else empty.
static std::string forSpecificArch(const NvidiaArch &arch, const std::string &ptx,
                                   StringRef refusal) {
  std::string target = ".target " + arch.name.str();
  size_t place = ptx.find(target + "\n");
  bool isOfTarget = refusal.contains(" .target '" + arch.name.str() + "'") ||
                    refusal.contains(".target " + arch.specificName.str());
  if (arch.specificName.empty() || !isOfTarget || place == std::string::npos)
    return "";
  std::string text = ptx;
  return text.replace(place, target.size(), ".target " + arch.specificName.str());
}

ArrayRef<nvidia::Assembler> NvidiaTarget::assemblers() const {
  std::call_once(isRanked, [&] { ranked = nvidia::rankAssemblers(found, arch.bestAssemblers); });
  return ranked;
}

/// Asks for the code of an empty kernel: an assembler may be too old for the architecture.
std::string NvidiaTarget::describeAssembler() const {
  std::string version = arch.ptxVersion.str(), error;
  std::string ptx = ".version " + version.insert(1, ".") + "\n.target " + arch.name.str() +
                    "\n.address_size 64\n.visible .entry k() { ret; }\n";
  nvidia::AssembledPtx assembled;
  if (!assembles)
    return "";
  if (!nvidia::assemblePtx(ptx, arch.name.str(), assemblers(), assembled, error))
    return "none that works: " + error;
  if (assembled.cubin.empty())
    return "";
  bool isProgram = StringRef(assembled.assembler).starts_with("ptxas");
  return assembled.assembler + ", " + assembled.assemblerPath +
         (isProgram ? ""
                    : "; its code calls functions in place of some instructions, which that "
                      "of ptxas does not (pip install nvidia-cuda-nvcc)");
}

bool NvidiaTarget::assemble(Artifact &artifact, std::string &error) const {
  auto start = std::chrono::steady_clock::now();
  nvidia::AssembledPtx assembled;
  if (!nvidia::assemblePtx(artifact.binary, arch.name.str(), assemblers(), assembled, error)) {
    std::string specific = forSpecificArch(arch, artifact.binary, error);
    if (specific.empty() ||
        !nvidia::assemblePtx(specific, arch.specificName.str(), assemblers(), assembled, error))
      return false;
    artifact.binary = std::move(specific);
  }
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  artifact.milliseconds["assemble"] = elapsed.count();
  artifact.assembled = std::move(assembled.cubin);
  artifact.assembler = std::move(assembled.assembler);
  if (!artifact.assembled.empty())
    nvidia::readCubin(assembled.log, artifact);
  return true;
}

/// Adds to a kernel's text the promise that a multiprocessor need not hold more than one CTA of it;
/// empty where the text already limits registers.
static std::string withOneCta(const std::string &ptx) {
  size_t threads = ptx.find("\n.reqntid ");
  if (threads == std::string::npos || ptx.find(".maxnreg") != std::string::npos)
    return "";
  size_t end = ptx.find('\n', threads + 1);
  return ptx.substr(0, end) + "\n.minnctapersm 1" + ptx.substr(end);
}

bool NvidiaTarget::assembleWithFewSpills(Artifact &artifact, std::string &error) const {
  if (!assemble(artifact, error))
    return false;
  auto spilled = artifact.resources.find("spill_bytes");
  if (spilled == artifact.resources.end() || spilled->second == 0)
    return true;
  Artifact other = artifact;
  other.binary = withOneCta(artifact.binary);
  // What is at hand is good: an assembler that refuses the second text costs nothing but the gain.
  std::string refusal;
  if (other.binary.empty() || !assemble(other, refusal))
    return true;
  if (other.resources["spill_bytes"] < spilled->second) {
    other.milliseconds["assemble"] += artifact.milliseconds["assemble"];
    artifact = std::move(other);
  }
  return true;
}

bool NvidiaTarget::makeMachineCode(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  if (assembleWithFewSpills(artifact, error)) {
    nvidia::reportMachineCode(lowered, artifact);
    return true;
  }
  if (wasInterrupted())
    return false;
  if (nvidia::isComplaint(error))
    nvidia::blameInlineAsm(lowered, artifact.binary, error);
  else
    nvidia::reportBrokenAssembler(lowered, artifact.symbol, error);
  return false;
}

bool NvidiaTarget::compile(ModuleOp lowered, Artifact &artifact, std::string &error) const {
  if (!emitPtx(lowered, artifact, error))
    return false;
  if (!assembles)
    return true;
  return makeMachineCode(lowered, artifact, error);
}

bool NvidiaTarget::compileText(const std::string &text, Artifact &artifact,
                               std::string &error) const {
  artifact.binary = text;
  artifact.assembled.clear();
  artifact.assembler.clear();
  artifact.codeBytes = 0;
  for (const char *name : {"registers", "stack_bytes", "static_shared_bytes", "spill_bytes"})
    artifact.resources.erase(name);
  return !assembles || assemble(artifact, error);
}

bool NvidiaTarget::print(ModuleOp lowered, CodeForm form, std::string &text,
                         std::string &error) const {
  if (form == CodeForm::LlvmIr || form == CodeForm::OptimizedLlvmIr) {
    EmittedCode code;
    bool emitted = emitLlvm(lowered, machine, form, code, error);
    text = std::move(code.bytes);
    return emitted;
  }
  Artifact artifact;
  artifact.symbol = gpu::kernelSymbol(lowered, LLVM::cconv::CConv::PTX_Kernel);
  if (!emitPtx(lowered, artifact, error))
    return false;
  if (form == CodeForm::Assembly) {
    text = std::move(artifact.binary);
    return true;
  }
  if (!makeMachineCode(lowered, artifact, error))
    return false;
  if (form == CodeForm::Resources)
    text = gpu::printResources(artifact);
  else
    text = std::move(artifact.assembled);
  if (!text.empty())
    return true;
  error = "this machine has no assembler of PTX: install ptxas (pip install nvidia-cuda-nvcc)";
  return false;
}

std::unique_ptr<Target> tw::makeNvidiaTarget(const std::string &arch, bool assembles,
                                             const AssemblerSettings &settings) {
  const NvidiaArch *row = findNvidiaArch(arch);
  if (!row)
    return nullptr;
  return std::make_unique<NvidiaTarget>(*row, assembles, settings);
}
