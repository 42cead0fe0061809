// Finds the block in front of a loop, and the registers that are in use where a block begins.
#include "backend/amd/codegen/LoopBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

MachineBasicBlock *tw::amd::blockBefore(const MachineBasicBlock &loop) {
  if (!loop.isSuccessor(&loop) || loop.pred_size() != 2)
    return nullptr;
  MachineBasicBlock *first = *loop.pred_begin();
  return first == &loop ? *std::next(loop.pred_begin()) : first;
}

bool tw::amd::isInUse(const MachineBasicBlock &block, Register wanted) {
  const TargetRegisterInfo &machine = *block.getParent()->getSubtarget().getRegisterInfo();
  return any_of(block.liveins(), [&](const MachineBasicBlock::RegisterMaskPair &live) {
    if (!machine.regsOverlap(live.PhysReg, wanted))
      return false;
    MCSubRegIndexIterator part(live.PhysReg, &machine);
    if (live.LaneMask.all() || !part.isValid())
      return true;
    for (; part.isValid(); ++part) {
      LaneBitmask lanes = machine.getSubRegIndexLaneMask(part.getSubRegIndex());
      if ((lanes & ~live.LaneMask).none() && machine.regsOverlap(part.getSubReg(), wanted))
        return true;
    }
    return false;
  });
}
