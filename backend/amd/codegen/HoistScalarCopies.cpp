// Moves copies of scalar registers out of loops, behind register allocation.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/codegen/LoopBlocks.h"
#include "backend/codegen/MachinePass.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace tw::amd;

/// Returns true if an instruction copies one scalar register to another, or a constant to one.
static bool isScalarCopy(const MachineInstr &instr, const TargetInstrInfo &instructions) {
  StringRef name = instructions.getName(instr.getOpcode());
  return (name == "S_MOV_B32" || name == "S_MOV_B64") &&
         (instr.getOperand(1).isReg() || instr.getOperand(1).isImm());
}

/// Returns true if a copy yields the same in each iteration, and nothing needs its register before.
static bool isInvariant(const MachineInstr &copy, const MachineBasicBlock &before,
                        const TargetRegisterInfo &machine) {
  Register to = copy.getOperand(0).getReg();
  const MachineOperand &from = copy.getOperand(1);
  auto changes = [&](const MachineInstr &instr) {
    return (&instr != &copy && instr.modifiesRegister(to, &machine)) ||
           (from.isReg() && instr.modifiesRegister(from.getReg(), &machine));
  };
  auto needs = [&](const MachineInstr &instr) { return instr.readsRegister(to, &machine); };
  return none_of(copy.getParent()->instrs(), changes) && none_of(before.terminators(), needs) &&
         all_of(before.successors(),
                [&](const MachineBasicBlock *next) { return !isInUse(*next, to); });
}

/// Copies in front of the loop, in whose iterations the register stays in use.
static void hoist(MachineInstr &copy, MachineBasicBlock &before,
                  const TargetRegisterInfo &machine) {
  MachineBasicBlock &loop = *copy.getParent();
  Register to = copy.getOperand(0).getReg();
  auto moved = BuildMI(before, before.getFirstTerminator(), copy.getDebugLoc(), copy.getDesc(), to);
  if (copy.getOperand(1).isReg())
    moved.addReg(copy.getOperand(1).getReg());
  else
    moved.addImm(copy.getOperand(1).getImm());
  copy.eraseFromBundle();
  loop.addLiveIn(to);
  for (MachineInstr &instr : loop.instrs())
    instr.clearRegisterKills(to, &machine);
}

static bool hoistScalarCopies(MachineBasicBlock &loop) {
  MachineBasicBlock *before = blockBefore(loop);
  if (!before)
    return false;
  const TargetSubtargetInfo &subtarget = loop.getParent()->getSubtarget();
  const TargetRegisterInfo &machine = *subtarget.getRegisterInfo();
  bool isChanged = false;
  for (MachineInstr &instr : make_early_inc_range(loop.instrs()))
    if (isScalarCopy(instr, *subtarget.getInstrInfo()) && isInvariant(instr, *before, machine)) {
      hoist(instr, *before, machine);
      isChanged = true;
    }
  return isChanged;
}

Pass *tw::amd::createHoistScalarCopies() {
  return tw::makeMachinePass("Hoist copies of scalar registers", tw::Preserves::Everything,
                             [](MachineFunction &function) {
                               bool isChanged = false;
                               for (MachineBasicBlock &block : function)
                                 isChanged |= hoistScalarCopies(block);
                               return isChanged;
                             });
}
