// Keeps what waits for loads of global memory behind the products of their step: the tiles of the
// next step go to shared memory when most of the time that loads take has passed. The barrier in
// front of them is split around the last products where it can be.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include <optional>

using namespace llvm;
using namespace tw::amd;

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

/// Moves the release and a signal in front of a product, and leaves the wait for the other waves
/// where the barrier was.
static void split(const WorkGroupBarrier &barrier, Instruction *product) {
  barrier.release->moveBefore(product->getIterator());
  barrier.wait->moveBefore(product->getIterator());
  IRBuilder<> builder(product);
  builder.SetCurrentDebugLocation(barrier.barrier->getDebugLoc());
  // The scheduler would move signal and wait together again.
  builder.CreateIntrinsic(Intrinsic::amdgcn_s_barrier_signal, {}, {builder.getInt32(-1)});
  builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
  builder.SetInsertPoint(barrier.barrier);
  builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
  builder.CreateIntrinsic(Intrinsic::amdgcn_s_barrier_wait, {}, {builder.getInt16(-1)});
  barrier.barrier->eraseFromParent();
}

/// Splits a block's barrier around the last quarter of its products, if all of these stand between
/// the last access of memory and it. Blocks with others, as in an attention, have no registers for
/// operands that are read before the signal.
static void splitBarriers(BasicBlock &block) {
  constexpr unsigned fewest = 4; // products that are worth it
  SmallVector<Instruction *> products;
  size_t total = count_if(block, isMatrixInstruction);
  for (Instruction &instruction : make_early_inc_range(block)) {
    if (std::optional<WorkGroupBarrier> barrier =
            matchBarrier(instruction, Intrinsic::amdgcn_s_wait_dscnt)) {
      if (products.size() >= fewest && products.size() == total)
        split(*barrier, products[products.size() * 3 / 4]);
      products.clear();
    } else if (isMatrixInstruction(instruction)) {
      products.push_back(&instruction);
    } else if (instruction.mayReadOrWriteMemory() && !isGlobalLoad(instruction) &&
               !isa<FenceInst>(instruction) &&
               intrinsicOf(instruction) != Intrinsic::amdgcn_s_wait_dscnt) {
      products.clear();
    }
  }
}

void tw::amd::splitBarriers(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      ::splitBarriers(block);
}

void tw::amd::storeBehindProducts(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (Instruction *product = findLastProducts(block)) {
        IRBuilder<> builder(product);
        builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
      }
}
