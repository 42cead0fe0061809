// Keeps what waits for loads of global memory behind the products of their step: the tiles of the
// next step go to shared memory when most of the time that loads take has passed.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tw::amd;

static bool isGlobalLoad(const Instruction &instruction) {
  constexpr unsigned globalSpace = 1;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->getPointerAddressSpace() == globalSpace;
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_raw_ptr_buffer_load;
}

static bool isSharedWrite(const Instruction &instruction) {
  constexpr unsigned sharedSpace = 3;
  auto *store = dyn_cast<StoreInst>(&instruction);
  return store && store->getPointerAddressSpace() == sharedSpace;
}

/// The loads that a wave's counter counts (instruction sets, "S_WAITCNT"). Where a step has more,
/// the last ones wait for the first in any case.
static constexpr unsigned kMostLoads = 63;

/// Returns the product before which the last quarter of a step's stands, if the step loads tiles
/// before its products and stores them behind; null where it does not. The last quarter keeps the
/// matrix unit busy while the tiles are stored.
static Instruction *findLastProducts(BasicBlock &block) {
  SmallVector<Instruction *> products;
  unsigned loadsAhead = 0;
  bool storesBehind = false;
  for (Instruction &instruction : block) {
    loadsAhead += products.empty() && isGlobalLoad(instruction);
    if (isMatrixInstruction(instruction)) {
      storesBehind = false;
      products.push_back(&instruction);
    }
    storesBehind |= isSharedWrite(instruction);
  }
  bool isStep = is_contained(successors(&block), &block);
  return isStep && loadsAhead && loadsAhead <= kMostLoads && storesBehind && !products.empty()
             ? products[products.size() * 3 / 4]
             : nullptr;
}

void tw::amd::storeBehindProducts(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (Instruction *product = findLastProducts(block)) {
        IRBuilder<> builder(product);
        builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
      }
}
