// Keeps fences at barriers from waiting for copies that go on beyond them.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/codegen/MatrixInstructions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/MemoryModelRelaxationAnnotations.h"
#include "llvm/Pass.h"

using namespace llvm;

static bool isCall(const Instruction *instruction, Intrinsic::ID id) {
  auto *call = dyn_cast_or_null<IntrinsicInst>(instruction);
  return call && call->getIntrinsicID() == id;
}

/// Returns true if an instruction waits until no access of shared memory is in flight (gfx9: "SOPP:
/// S_WAITCNT", bits 8 to 11).
static bool waitsForSharedMemory(const Instruction *instruction) {
  if (!isCall(instruction, Intrinsic::amdgcn_s_waitcnt))
    return false;
  auto *counts = dyn_cast<ConstantInt>(cast<IntrinsicInst>(instruction)->getArgOperand(0));
  return counts && (counts->getZExtValue() >> 8 & 15) == 0;
}

/// Returns true if an instruction is a fence of shared memory only, between all waves of a
/// work-group.
static bool isOfSharedMemory(const Instruction *instruction, SyncScope::ID workgroup) {
  auto *fence = dyn_cast_or_null<FenceInst>(instruction);
  return fence && fence->getSyncScopeID() == workgroup &&
         MMRAMetadata(*fence).hasTag("amdgpu-synchronize-as", "local");
}

static bool narrowFencesOf(Function &function) {
  LLVMContext &context = function.getContext();
  SyncScope::ID workgroup = context.getOrInsertSyncScopeID("workgroup"),
                wavefront = context.getOrInsertSyncScopeID("wavefront");
  bool isChanged = false;
  for (BasicBlock &block : function)
    for (Instruction &barrier : block) {
      if (!isCall(&barrier, Intrinsic::amdgcn_s_barrier))
        continue;
      // The code's own wait for accesses of shared memory stands between the fence and the barrier.
      Instruction *wait = barrier.getPrevNode(), *release = wait ? wait->getPrevNode() : nullptr;
      Instruction *acquire = barrier.getNextNode();
      if (!waitsForSharedMemory(wait) || !isOfSharedMemory(release, workgroup) ||
          !isOfSharedMemory(acquire, workgroup))
        continue;
      cast<FenceInst>(release)->setSyncScopeID(wavefront);
      cast<FenceInst>(acquire)->setSyncScopeID(wavefront);
      isChanged = true;
    }
  return isChanged;
}

static bool hasDirectCopies(const Function &function) {
  return any_of(function,
                [](const BasicBlock &block) { return any_of(block, tw::amd::isDirectCopy); });
}

namespace {
class NarrowFences final : public FunctionPass {
public:
  static char ID;
  NarrowFences() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Narrow fences beside waits"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  bool runOnFunction(Function &function) override {
    return hasDirectCopies(function) && narrowFencesOf(function);
  }
};
} // namespace

char NarrowFences::ID = 0;

Pass *tw::amd::createNarrowFences() { return new NarrowFences; }
