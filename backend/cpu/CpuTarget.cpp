// The CPU of this process as a target of the compiler.
#include "backend/cpu/CpuTarget.h"
#include "backend/compile/AssembleText.h"
#include "backend/cpu/CpuLink.h"
#include "backend/cpu/HostMachine.h"
#include "passes/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace tw;

/// The names that a feature list turns on.
static llvm::StringSet<> featuresOf(const LlvmMachine &machine) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(machine.features).split(parts, ',');
  llvm::StringSet<> present;
  for (llvm::StringRef part : parts)
    if (part.consume_front("+"))
      present.insert(part);
  return present;
}

static LlvmMachine machineOfLevel(const std::string &level) {
  LlvmMachine machine = hostMachine();
  machine.provides = [](llvm::StringRef function) { return linksFunction(function); };
  if (level.empty())
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

std::vector<std::string> tw::cpuLevels() {
  std::vector<std::string> levels;
  llvm::StringSet<> host = featuresOf(hostMachine());
  for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    llvm::StringSet<> needed = featuresOf(machineOfLevel(level));
    // `64bit` and `x87` are properties of the architecture, which hosts do not list.
    if (llvm::all_of(needed, [&](const auto &feature) {
          return host.contains(feature.getKey()) || feature.getKey() == "64bit" ||
                 feature.getKey() == "x87";
        }))
      levels.push_back(level);
  }
  return levels;
}

/// Reads the SIMD machine off LLVM's feature names.
static SimdMachine describeSimd(const LlvmMachine &host) {
  llvm::StringSet<> present = featuresOf(host);
  auto hasAll = [&](std::initializer_list<const char *> names) {
    return llvm::all_of(names, [&](const char *name) { return present.contains(name); });
  };
  SimdMachine machine;
  bool isWide = hasAll({"avx512f", "avx512bw", "avx512vl", "avx512dq"});
  machine.vectorBytes = isWide ? 64 : hasAll({"avx2", "fma"}) ? 32 : 16;
  machine.numRegisters = isWide ? 32 : 16;
  if (isWide && present.contains("avx512bf16"))
    machine.dotInstructions.push_back({"bf16", "llvm.x86.avx512bf16.dpbf16ps.512"});
  if (isWide && present.contains("avx512vnni"))
    machine.dotInstructions.push_back({"i8", "llvm.x86.avx512.vpdpbusd.512"});
  return machine;
}

namespace {
class CpuTarget final : public Target {
public:
  explicit CpuTarget(const std::string &level)
      : level(level), host(machineOfLevel(level)), simd(describeSimd(host)) {
    host.vectorBits = simd.vectorBytes * 8;
  }
  std::string name() const override { return level.empty() ? "cpu" : "cpu:" + level; }
  std::string describe() const override {
    return host.triple + ";" + host.cpu + ";" + host.features;
  }
  std::string symbolOf(llvm::StringRef kernelName) const override {
    return (kernelName + kKernelSuffix).str();
  }
  void addPasses(StagedPasses &passes, const CompileOptions &) const override {
    addSimdPasses(passes, simd);
  }
  bool compile(mlir::ModuleOp lowered, Artifact &artifact, std::string &error) const override {
    EmittedCode code;
    if (!emitLlvm(lowered, host, CodeForm::Object, code, error))
      return false;
    artifact.binary = std::move(code.bytes);
    artifact.codeBytes = code.codeBytes;
    addTimes(code, artifact);
    if (auto scratch = lowered->getAttrOfType<mlir::IntegerAttr>("simd.scratch_bytes"))
      artifact.scratchBytes = scratch.getInt();
    return true;
  }
  llvm::StringRef textStage() const override { return "asm"; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override {
    EmittedCode code;
    if (!assembleText(text, host, code, error))
      return false;
    artifact.binary = std::move(code.bytes);
    artifact.codeBytes = code.codeBytes;
    return true;
  }
  bool print(mlir::ModuleOp lowered, CodeForm form, std::string &text,
             std::string &error) const override {
    EmittedCode code;
    bool emitted = emitLlvm(lowered, host, form, code, error);
    text = std::move(code.bytes);
    return emitted;
  }

private:
  std::string level; // empty: everything that the host has
  LlvmMachine host;
  SimdMachine simd;
};
} // namespace

std::unique_ptr<Target> tw::makeCpuTarget(const std::string &level) {
  return std::make_unique<CpuTarget>(level);
}
