// The CPU of this process as a target of the compiler.
#include "backend/cpu/CpuTarget.h"
#include "backend/codegen/AssembleText.h"
#include "backend/compile/Compiler.h"
#include "backend/cpu/CpuLink.h"
#include "backend/cpu/CpuMachine.h"
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "backend/cpu/HostMachine.h"
#include "backend/gpu/LineTables.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <mutex>

using namespace tw;

/// Returns the names that a feature list turns on.
static llvm::StringSet<> featuresOf(const LlvmMachine &machine) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(machine.features).split(parts, ',');
  llvm::StringSet<> present;
  for (llvm::StringRef part : parts)
    if (part.consume_front("+"))
      present.insert(part);
  return present;
}

static constexpr ModulePass kBehindLlvm[] = {kStoreSingleLanes,
                                             {"call-emulated-matrix-unit",
                                              "instructions of the matrix unit become calls",
                                              callEmulatedMatrixUnit}};
static constexpr CodeVariant kEmulatingVariants[] = {{"emulated-matrix-unit", kBehindLlvm, {}, {}}};

static LlvmMachine machineOfLevel(const std::string &level) {
  LlvmMachine machine = hostMachine();
  machine.provides = [](llvm::StringRef function) { return linksFunction(function); };
  if (level == kEmulatedMatrixUnit)
    machine.variants = kEmulatingVariants;
  if (level.empty() || level == kEmulatedMatrixUnit)
    return machine;
  llvm::SmallVector<llvm::StringRef> features;
  llvm::X86::getFeaturesForCPU(level, features, /*NeedPlus=*/true);
  llvm::StringMap<bool> implied;
  for (llvm::StringRef feature : features)
    llvm::X86::updateImpliedFeatures(feature.drop_front(), true, implied);
  std::vector<std::string> names(features.begin(), features.end());
  for (const auto &feature : implied)
    if (feature.second)
      names.push_back("+" + feature.first().str());
  llvm::sort(names); // a hash map's order is not stable, and this text is part of cache keys
  names.erase(llvm::unique(names), names.end());
  machine.cpu = level;
  machine.features = llvm::join(names, ",");
  return machine;
}

/// Returns true if code that uses a feature must not run without it; the other features are of
/// operating systems, or properties of the architecture, which hosts do not list.
static bool isUsedByCode(llvm::StringRef feature) {
  static const llvm::StringSet<> names = {
      "adx",   "aes", "bmi",   "bmi2",   "cmov",   "cx16", "f16c", "fma",  "gfni",
      "lzcnt", "mmx", "movbe", "pclmul", "popcnt", "sahf", "sha",  "vaes", "vpclmulqdq"};
  return feature.starts_with("avx") || feature.starts_with("amx") || feature.starts_with("sse") ||
         feature == "ssse3" || names.contains(feature);
}

llvm::ArrayRef<llvm::StringRef> tw::namedCpus() {
  static const llvm::StringRef names[] = {"x86-64-v2",      "x86-64-v3",        "x86-64-v4",
                                          "sapphirerapids", "graniterapids",    "znver4",
                                          "znver5",         kEmulatedMatrixUnit};
  return names;
}

std::vector<std::string> tw::cpuLevels() {
  std::vector<std::string> levels;
  llvm::StringSet<> host = featuresOf(hostMachine());
  for (llvm::StringRef level : namedCpus()) {
    llvm::StringSet<> needed = featuresOf(machineOfLevel(level.str()));
    if (llvm::all_of(needed, [&](const auto &feature) {
          return host.contains(feature.getKey()) || !isUsedByCode(feature.getKey());
        }))
      levels.push_back(level.str());
  }
  return levels;
}

static CpuMachine describeCore(const LlvmMachine &host, const std::string &level) {
  CpuModel model;
  model.features = featuresOf(host);
  model.name = host.cpu;
  model.emulatesMatrices = level == kEmulatedMatrixUnit;
  model.isHost = level.empty();
  return describeCpu(model);
}

// Half of the time of -O2's, for code as fast: lowering has vectorized and shared what these loops
// compute already. What it leaves are stack buffers, addresses, and short loops of fixed length.
static constexpr llvm::StringLiteral kSimplifications =
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),unroll-short-loops,early-cse<memssa>,simplifycfg,adce";

// For garbage collection, exceptions, thread-local variables, calls of C's library,
// instrumentation, hardening: kernels have none of them. The last asks for a dominance frontier.
static constexpr llvm::StringLiteral kUnusedPasses[] = {
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Expand indirectbr instructions",
    "Exception handling preparation",
    "ObjC ARC contraction",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "Local Dynamic TLS Access Clean-up",
    "X86 speculative load hardening",
    "Fixup Statepoint Caller Saved",
    "Insert KCFI indirect call checks",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "X86 Indirect Branch Tracking",
    "X86 Load Value Injection (LVI) Load Hardening",
};

static constexpr llvm::StringLiteral kLineTables = "line-tables";

std::vector<std::string> tw::cpuLaunchOptions() {
  return {"bitcode", kLineTables.str(), "pass_limit"};
}

namespace {
class CpuTarget final : public Target {
public:
  explicit CpuTarget(const std::string &level)
      : level(level), host(machineOfLevel(level)), core(describeCore(host, level)),
        description(host.triple + ";" + host.cpu + ";" + host.features) {
    host.vectorBits = core.vectorBytes * 8;
    host.simplifications = kSimplifications;
    host.unusedPasses = kUnusedPasses;
    host.ordersInstructions = true;
    host.hasScaledAddresses = true;
  }
  std::string name() const override { return level.empty() ? "cpu" : "cpu:" + level; }
  std::string describe() const override {
    return description + (level == kEmulatedMatrixUnit ? ";" + level : "");
  }
  std::string symbolOf(llvm::StringRef kernelName) const override {
    return (kernelName + kKernelSuffix).str();
  }
  void addPasses(StagedPasses &passes, const CompileOptions &options) const override {
    addSimdPasses(passes, core.attribute);
    if (hasExtraOption(options, kLineTables))
      passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Tables));
  }
  const LlvmMachine *llvmMachine() const override { return &emitter(); }
  bool compile(mlir::ModuleOp lowered, Artifact &artifact, std::string &error) const override {
    EmittedCode code;
    if (!emitLlvm(lowered, emitter(), CodeForm::Object, code, error))
      return false;
    artifact.binary = std::move(code.bytes);
    artifact.codeBytes = code.codeBytes;
    addTimes(code, artifact);
    if (auto scratch = lowered->getAttrOfType<mlir::IntegerAttr>("simd.scratch_bytes"))
      artifact.scratchBytes = scratch.getInt();
    return true;
  }
  std::function<void()> warmUp() const override {
    return [this] { warmUpEmission(emitter()); };
  }
  llvm::StringRef textStage() const override { return "asm"; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override {
    EmittedCode code;
    if (!assembleText(text, emitter(), code, error))
      return false;
    artifact.binary = std::move(code.bytes);
    artifact.codeBytes = code.codeBytes;
    return true;
  }
  bool print(mlir::ModuleOp lowered, CodeForm form, std::string &text,
             std::string &error) const override {
    EmittedCode code;
    bool emitted = emitLlvm(lowered, emitter(), form, code, error);
    text = std::move(code.bytes);
    return emitted;
  }
  bool printLocated(mlir::ModuleOp lowered, std::string &text, std::string &error) const override {
    mlir::OwningOpRef<mlir::ModuleOp> copy(lowered.clone());
    mlir::PassManager passes(lowered.getContext());
    passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Directives));
    bool isLocated = mlir::succeeded(passes.run(*copy));
    return print(isLocated ? *copy : lowered, CodeForm::Assembly, text, error);
  }

private:
  /// Returns the machine with as few features as describe it. The first emission reduces them: a
  /// kernel that is found on disk needs none.
  const LlvmMachine &emitter() const {
    std::call_once(isShort, [this] { host.features = featuresBesideName(host); });
    return host;
  }

  std::string level; // empty: everything that the host has
  mutable LlvmMachine host;
  mutable std::once_flag isShort; // guards `host.features`, which nothing else reads by then
  CpuMachine core;
  std::string description; // with all features, which the code depends on
};
} // namespace

std::unique_ptr<Target> tw::makeCpuTarget(const std::string &level) {
  return std::make_unique<CpuTarget>(level);
}
