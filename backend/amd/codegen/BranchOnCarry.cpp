// Counts loops down by one instruction, whose carry the branch takes.
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

namespace {
/// Rewrites the end of a loop of one block: `add count, count, -1`, a comparison of the count with
/// 0, and a branch back where it is another number. Counted from one fewer, the number is 0 in
/// front of the last addition of -1, the only one without a carry.
class CountedLoop {
public:
  CountedLoop(MachineBasicBlock &block)
      : block(block), instructions(*block.getParent()->getSubtarget().getInstrInfo()),
        machine(*block.getParent()->getSubtarget().getRegisterInfo()) {}
  bool isFound() { return findCompare() && findAdd() && findBefore(); }
  void rewrite();

private:
  bool isNamed(const MachineInstr &instr, StringRef name) const {
    return instructions.getName(instr.getOpcode()) == name;
  }
  bool findCompare();
  bool findAdd();
  bool findBefore();
  unsigned opcodeNamed(StringRef name) const;

  MachineBasicBlock &block;
  const TargetInstrInfo &instructions;
  const TargetRegisterInfo &machine;
  MachineInstr *add = nullptr, *compare = nullptr;
  MachineBasicBlock *before = nullptr; // the block in front of the loop
  Register count, carry;
};
} // namespace

/// Finds the comparison that the branch back takes, the last instruction that sets what it reads.
bool CountedLoop::findCompare() {
  MachineBasicBlock::iterator branch = block.getFirstTerminator();
  if (branch == block.end() || !branch->getOperand(0).isMBB() ||
      branch->getOperand(0).getMBB() != &block || branch->implicit_operands().empty())
    return false;
  bool isWhileSet = isNamed(*branch, "S_CBRANCH_SCC1");
  if (!isWhileSet && !isNamed(*branch, "S_CBRANCH_SCC0"))
    return false;
  carry = branch->implicit_operands().begin()->getReg();
  for (MachineInstr &instr : reverse(make_range(block.begin(), branch)))
    if (instr.modifiesRegister(carry, &machine)) {
      compare = &instr;
      break;
    }
  return compare && isNamed(*compare, isWhileSet ? "S_CMP_LG_U32" : "S_CMP_EQ_U32") &&
         compare->getOperand(0).isReg() && compare->getOperand(1).isImm() &&
         compare->getOperand(1).getImm() == 0;
}

/// Finds the addition; nothing else in the loop may use the count.
bool CountedLoop::findAdd() {
  count = compare->getOperand(0).getReg();
  for (MachineInstr &instr : block) {
    if (&instr == compare || instr.isDebugInstr() ||
        !(instr.readsRegister(count, &machine) || instr.modifiesRegister(count, &machine)))
      continue;
    bool isAdd = isNamed(instr, "S_ADD_I32") && instr.getOperand(0).getReg() == count &&
                 instr.getOperand(1).isReg() && instr.getOperand(1).getReg() == count &&
                 instr.getOperand(2).isImm() && instr.getOperand(2).getImm() == -1;
    if (add || !isAdd)
      return false;
    add = &instr;
  }
  return add;
}

/// Finds the block in front of the loop, where the count may change; nothing behind the loop may
/// use it.
bool CountedLoop::findBefore() {
  before = blockBefore(block);
  bool isFree =
      before && none_of(before->terminators(), [&](const MachineInstr &instr) {
        return instr.readsRegister(carry, &machine) || instr.readsRegister(count, &machine);
      });
  auto usesCount = [&](const MachineBasicBlock *next) {
    return next != &block && isInUse(*next, count);
  };
  return isFree && none_of(block.successors(), usesCount) &&
         none_of(before->successors(), [&](const MachineBasicBlock *next) {
           return usesCount(next) || isInUse(*next, carry);
         });
}

unsigned CountedLoop::opcodeNamed(StringRef name) const {
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    if (instructions.getName(opcode) == name)
      return opcode;
  llvm_unreachable("an instruction of all generations");
}

void CountedLoop::rewrite() {
  BuildMI(*before, before->getFirstTerminator(), add->getDebugLoc(),
          instructions.get(add->getOpcode()), count)
      .addReg(count)
      .addImm(-1);
  BuildMI(block, compare, compare->getDebugLoc(), instructions.get(opcodeNamed("S_ADD_U32")), count)
      .addReg(count)
      .addImm(-1);
  add->eraseFromParent();
  MachineBasicBlock::iterator branch = block.getFirstTerminator();
  if (isNamed(*compare, "S_CMP_EQ_U32"))
    branch->setDesc(instructions.get(opcodeNamed("S_CBRANCH_SCC1")));
  compare->eraseFromParent();
}

static bool branchOnCarries(MachineFunction &function) {
  bool isChanged = false;
  for (MachineBasicBlock &block : function)
    if (CountedLoop loop(block); loop.isFound()) {
      loop.rewrite();
      isChanged = true;
    }
  return isChanged;
}

Pass *tw::amd::createBranchOnCarry() {
  return tw::makeMachinePass("Branch on the carry of a loop's count", tw::Preserves::Everything,
                             branchOnCarries);
}
