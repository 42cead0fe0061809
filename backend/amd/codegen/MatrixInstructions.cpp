// Matrix instructions in LLVM IR, how their operands come, and what orders the reads of these.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MemoryModelRelaxationAnnotations.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

bool tw::amd::isMatrixInstruction(const Instruction &instruction) {
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return false;
  StringRef name = call->getCalledFunction()->getName();
  return name.contains(".wmma.") || name.contains(".mfma.");
}

bool tw::amd::hasMatrixInstruction(const BasicBlock &block) {
  return any_of(block, isMatrixInstruction);
}

Intrinsic::ID tw::amd::intrinsicOf(const Instruction &instruction) {
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call ? call->getIntrinsicID() : Intrinsic::not_intrinsic;
}

bool tw::amd::isDirectCopy(const Instruction &instruction) {
  switch (intrinsicOf(instruction)) {
  case Intrinsic::amdgcn_raw_ptr_buffer_load_lds:
  case Intrinsic::amdgcn_global_load_lds:
  case Intrinsic::amdgcn_global_load_async_to_lds_b32:
  case Intrinsic::amdgcn_global_load_async_to_lds_b64:
  case Intrinsic::amdgcn_global_load_async_to_lds_b128:
    return true;
  default:
    return false;
  }
}

bool tw::amd::isTransposedRead(const Instruction &instruction) {
  switch (intrinsicOf(instruction)) {
  case Intrinsic::amdgcn_ds_read_tr8_b64:
  case Intrinsic::amdgcn_ds_read_tr16_b64:
  case Intrinsic::amdgcn_ds_load_tr8_b64:
  case Intrinsic::amdgcn_ds_load_tr16_b128:
    return true;
  default:
    return false;
  }
}

bool tw::amd::isSharedRead(const Instruction &instruction) {
  constexpr unsigned sharedSpace = 3;
  const auto *load = dyn_cast<LoadInst>(&instruction);
  return (load && load->isSimple() && load->getPointerAddressSpace() == sharedSpace) ||
         isTransposedRead(instruction);
}

bool tw::amd::isGlobalLoad(const Instruction &instruction) {
  constexpr unsigned globalSpace = 1;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->getPointerAddressSpace() == globalSpace;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load;
}

bool tw::amd::isSharedWrite(const Instruction &instruction) {
  constexpr unsigned sharedSpace = 3;
  auto *store = dyn_cast<StoreInst>(&instruction);
  return store && store->getPointerAddressSpace() == sharedSpace;
}

static bool isBarrier(const CallInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::amdgcn_s_barrier:
  case Intrinsic::amdgcn_s_barrier_signal:
  case Intrinsic::amdgcn_s_barrier_wait:
    return true;
  default:
    return false;
  }
}

bool tw::amd::endsReads(const Instruction &instruction) {
  if (const auto *fence = dyn_cast<FenceInst>(&instruction))
    return fence->getSyncScopeID() != instruction.getContext().getOrInsertSyncScopeID("wavefront");
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && call->getIntrinsicID() == Intrinsic::amdgcn_wave_barrier)
    return false;
  if (call && isBarrier(*call))
    return true;
  return instruction.mayWriteToMemory();
}

static IntrinsicInst *callOf(Instruction *instruction, Intrinsic::ID id) {
  return instruction && tw::amd::intrinsicOf(*instruction) == id ? cast<IntrinsicInst>(instruction)
                                                                 : nullptr;
}

static FenceInst *localFence(Instruction *instruction) {
  auto *fence = dyn_cast_or_null<FenceInst>(instruction);
  return fence && MMRAMetadata(*fence).hasTag("amdgpu-synchronize-as", "local") ? fence : nullptr;
}

std::array<Instruction *, 4> tw::amd::WorkGroupBarrier::parts() const {
  return {release, wait, barrier, acquire};
}

std::optional<tw::amd::WorkGroupBarrier> tw::amd::matchBarrier(Instruction &instruction,
                                                               Intrinsic::ID wait) {
  WorkGroupBarrier found;
  found.barrier = callOf(&instruction, Intrinsic::amdgcn_s_barrier);
  if (!found.barrier)
    return std::nullopt;
  found.acquire = localFence(instruction.getNextNode());
  found.wait = callOf(instruction.getPrevNode(), wait);
  found.release = found.wait ? localFence(found.wait->getPrevNode()) : nullptr;
  if (!found.acquire || !found.release)
    return std::nullopt;
  found.copies = callOf(found.release->getPrevNode(), wait);
  return found;
}

unsigned tw::amd::registersOf(const Value &value) {
  constexpr unsigned registerBits = 32;
  return divideCeil(value.getType()->getPrimitiveSizeInBits().getFixedValue(), registerBits);
}

unsigned tw::amd::registersOfLoads(const BasicBlock &block) {
  unsigned registers = 0;
  for (const Instruction &instruction : block)
    if (isa<CallBase, LoadInst>(instruction) && instruction.mayReadFromMemory() &&
        !instruction.getType()->isVoidTy() && !isSharedRead(instruction))
      registers += registersOf(instruction);
  return registers;
}
