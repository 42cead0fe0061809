// The code generator of LLVM with passes of ours in it and without some of its own.
#include "backend/codegen/GenerateCode.h"
#include "backend/codegen/LlvmRegistry.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/Target/TargetMachine.h"

using namespace tw;

std::unique_ptr<llvm::TargetMachine> tw::makeTargetMachine(const LlvmMachine &machine,
                                                           std::string &error) {
  machine.initialize();
  llvm::Triple triple(machine.triple);
  const llvm::Target *target = findLlvmTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // Contract only where the kernel said so: `a * b + c` keeps its two roundings.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

void tw::placeOn(llvm::Module &module, const llvm::TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

void tw::describeMachine(llvm::Module &module, const LlvmMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    // Kernels never throw: no unwind tables, no personality.
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (machine.vectorBits) {
      function.addFnAttr("prefer-vector-width", std::to_string(machine.vectorBits));
      function.addFnAttr("min-legal-vector-width", std::to_string(machine.vectorBits));
    }
  }
}

/// Returns true if there are more than a few loop nests, so that the cost of a pass per nest
/// matters: attention has 2,000 instructions, a matmul 900, softmax 400.
static bool isLong(const llvm::Module &module) {
  constexpr uint64_t kLongInstructions = 600;
  uint64_t instructions = 0;
  for (const llvm::Function &function : module)
    instructions += function.getInstructionCount();
  return instructions > kLongInstructions;
}

/// Counts the most memory accesses that a block has.
static int64_t mostAccesses(const llvm::Module &module) {
  int64_t most = 0;
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      most = std::max(most, int64_t(llvm::count_if(block, [](const llvm::Instruction &instruction) {
                        return instruction.mayReadOrWriteMemory();
                      })));
  return most;
}

static constexpr llvm::StringLiteral kLateScheduler = "Post RA top-down list latency scheduler",
                                     kScheduler = "Machine Instruction Scheduler";
// CPUs order instructions themselves as they run. "Loop strength reduction", with the analysis that
// it requires, takes a third of the code generation of attention, grows faster than a function, and
// has no effect on its speed. The scheduler behind register allocation has none either, but for a
// few percent in short kernels.
static constexpr llvm::StringLiteral kUnusedInLongCode[] = {
    "Loop Strength Reduction", "Canonicalize Freeze Instructions in Loops", kLateScheduler};

llvm::SmallVector<llvm::StringRef> tw::unusedSchedulers(const llvm::Module &module) {
  llvm::SmallVector<llvm::StringRef> unused;
  int64_t accesses = mostAccesses(module);
  if (accesses > 200)
    unused.push_back(kLateScheduler);
  if (accesses > 1000)
    unused.push_back(kScheduler);
  return unused;
}

/// Returns LLVM's names of the passes that a module's code is generated without.
static llvm::StringSet<> unusedPasses(const llvm::Module &module, const LlvmMachine &machine) {
  llvm::StringSet<> unused;
  unused.insert_range(machine.unusedPasses);
  unused.insert_range(machine.variants.front().unusedPasses);
  if (machine.hasScaledAddresses && isLong(module))
    unused.insert_range(kUnusedInLongCode);
  if (machine.ordersInstructions)
    unused.insert_range(unusedSchedulers(module));
  return unused;
}

namespace {
/// Leaves passes out of a code generator and places our own. Passes that are turned off while they
/// run still ask for their analyses, and each takes part in the planning.
class ChosenPasses final : public llvm::legacy::PassManager {
public:
  ChosenPasses(llvm::StringSet<> unused, llvm::ArrayRef<PlacedPass> own)
      : unused(std::move(unused)), own(own) {}
  void add(llvm::Pass *pass) override {
    if (unused.contains(pass->getPassName())) {
      delete pass;
      return;
    }
    for (const PlacedPass &placed : own)
      if (placed.next == pass->getPassName())
        llvm::legacy::PassManager::add(placed.make());
    llvm::legacy::PassManager::add(pass);
  }

private:
  llvm::StringSet<> unused;
  llvm::ArrayRef<PlacedPass> own;
};

/// Collects the names of a code generator's passes.
struct PassNames final : llvm::legacy::PassManager {
  void add(llvm::Pass *pass) override {
    names.insert(pass->getPassName());
    llvm::legacy::PassManager::add(pass);
  }
  llvm::StringSet<> names;
};
} // namespace

bool tw::generateCode(llvm::Module &module, llvm::TargetMachine &target, const LlvmMachine &machine,
                      llvm::CodeGenFileType type, std::string &bytes) {
  llvm::SmallString<0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  ChosenPasses passes(unusedPasses(module, machine), machine.ownPasses);
  if (target.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    return false;
  passes.run(module);
  bytes.assign(buffer.data(), buffer.size());
  return true;
}

std::vector<std::string> tw::unknownPasses(const LlvmMachine &machine) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> target = makeTargetMachine(machine, error);
  if (!target)
    return {error};
  PassNames passes;
  llvm::raw_null_ostream stream;
  target->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  std::vector<std::string> unknown;
  auto check = [&](llvm::StringRef name) {
    if (!passes.names.contains(name))
      unknown.push_back(name.str());
  };
  llvm::for_each(machine.unusedPasses, check);
  for (const CodeVariant &variant : machine.variants)
    llvm::for_each(variant.unusedPasses, check);
  for (const PlacedPass &placed : machine.ownPasses)
    check(placed.next);
  if (machine.hasScaledAddresses)
    llvm::for_each(kUnusedInLongCode, check);
  if (machine.ordersInstructions)
    check(kScheduler);
  return unknown;
}
