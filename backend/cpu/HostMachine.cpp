// The machine that this process runs on, as LLVM's code generator knows it.
#include "backend/cpu/HostMachine.h"
#include "backend/codegen/LlvmRegistry.h"
#include "backend/codegen/ModulePasses.h"
#include "backend/cpu/MatrixUnit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

using namespace tw;

static void registerX86() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
}

static void initializeX86() {
  static std::once_flag isRegistered;
  std::call_once(isRegistered, registerWithLlvm, registerX86);
}

void tw::storeSingleLanes(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_store)
          stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    llvm::Value *value = store->getArgOperand(0);
    auto *mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
    auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    if (!mask || !type)
      continue;
    llvm::SmallVector<unsigned> lanes;
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
      if (llvm::Constant *bit = mask->getAggregateElement(lane); !bit || !bit->isNullValue())
        lanes.push_back(lane);
    if (lanes.size() != 1)
      continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value *element = builder.CreateExtractElement(value, uint64_t(lanes[0]));
    llvm::Value *address = builder.CreateConstInBoundsGEP1_64(type->getElementType(),
                                                              store->getArgOperand(1), lanes[0]);
    builder.CreateAlignedStore(element, address, llvm::Align(1));
    store->eraseFromParent();
  }
}

// Calls cost little, so that large functions are split.
static constexpr ModulePass kBeforeLlvm[] = {
    {"configure-matrix-unit", "extents of matrix registers become the unit's configuration",
     configureMatrixUnit},
    kSinkOffsets,
    kSplitFunctions};
static constexpr ModulePass kBehindLlvmOnHost[] = {kStoreSingleLanes};
static constexpr CodeVariant kVariants[] = {{"default", kBehindLlvmOnHost, {}, {}}};

static LlvmMachine askHost() {
  LlvmMachine machine;
  machine.initialize = initializeX86;
  machine.prepare = kBeforeLlvm;
  machine.variants = kVariants;
  machine.triple = llvm::sys::getProcessTriple();
  machine.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = hostFeatures();
  std::vector<std::string> names;
  for (auto &feature : features) {
    if (feature.first().starts_with("amx-"))
      feature.second &= mayUseMatrixUnit();
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  llvm::sort(names); // a hash map's order is not stable, and this text is part of cache keys
  machine.features = llvm::join(names, ",");
  if (features.lookup("avx512vl"))
    machine.vectorBits = 512;
  else if (features.lookup("avx2"))
    machine.vectorBits = 256;
  return machine;
}

LlvmMachine tw::hostMachine() {
  // The processor's name takes as many questions as its features.
  static const LlvmMachine machine = askHost();
  return machine;
}

std::string tw::featuresBesideName(const LlvmMachine &machine) {
  machine.initialize();
  llvm::Triple triple(machine.triple);
  std::string error;
  const llvm::Target *target = findLlvmTarget(triple, error);
  if (!target)
    return machine.features;
  auto describe = [&](llvm::StringRef features) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        target->createMCSubtargetInfo(triple, machine.cpu, features));
  };
  const auto byName = describe(""), all = describe(machine.features);
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(machine.features).split(features, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::erase_if(features,
                 [&](llvm::StringRef feature) { return byName->checkFeatures(feature.str()); });
  std::string others = llvm::join(features, ",");
  // A feature implies others, and one that is off turns off what needs it: in another order, or
  // with some left out, the list may mean something else.
  return describe(others)->getFeatureBits() == all->getFeatureBits() ? others : machine.features;
}
