// Gives matrix instructions of RDNA 3 the constant 0 as the accumulator that they add to.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/codegen/MachinePass.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace {
/// Rewrites the products of one function.
class ZeroFolder {
public:
  explicit ZeroFolder(MachineFunction &function)
      : function(function), registers(function.getRegInfo()),
        instructions(*function.getSubtarget().getInstrInfo()) {}
  bool run();

private:
  bool isZero(const MachineOperand &word) const;
  const MachineInstr *definitionOf(Register value) const;
  unsigned untiedForm(StringRef name);

  MachineFunction &function;
  MachineRegisterInfo &registers;
  const TargetInstrInfo &instructions;
  StringMap<unsigned> untied; // opcodes by the names of the tied ones
};
} // namespace

/// Returns the instruction that a value comes from, behind copies; null where there are several.
const MachineInstr *ZeroFolder::definitionOf(Register value) const {
  const MachineInstr *from = registers.getUniqueVRegDef(value);
  while (from && from->isFullCopy() && from->getOperand(1).getReg().isVirtual())
    from = registers.getUniqueVRegDef(from->getOperand(1).getReg());
  return from;
}

/// Returns true if each word of an accumulator is 0.
bool ZeroFolder::isZero(const MachineOperand &accumulator) const {
  if (!accumulator.isReg() || !accumulator.getReg().isVirtual() || accumulator.getSubReg())
    return false;
  const MachineInstr *sequence = definitionOf(accumulator.getReg());
  return sequence && sequence->isRegSequence() &&
         all_of(seq<unsigned>(0, sequence->getNumOperands() / 2), [&](unsigned word) {
           const MachineOperand &part = sequence->getOperand(1 + 2 * word);
           if (!part.getReg().isVirtual() || part.getSubReg())
             return false;
           const MachineInstr *move = definitionOf(part.getReg());
           return move && move->isMoveImmediate() && move->getOperand(1).isImm() &&
                  move->getOperand(1).getImm() == 0;
         });
}

/// Returns the opcode of the product whose result is not tied to its accumulator; 0 where LLVM has
/// none.
unsigned ZeroFolder::untiedForm(StringRef name) {
  auto [found, isNew] = untied.try_emplace(name, 0);
  if (!isNew)
    return found->second;
  auto [front, back] = name.split("_twoaddr");
  std::string wanted = (front + "_threeaddr" + back).str();
  for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode)
    if (instructions.getName(opcode) == wanted)
      found->second = opcode;
  return found->second;
}

bool ZeroFolder::run() {
  bool isChanged = false;
  for (MachineBasicBlock &block : function)
    for (MachineInstr &product : block) {
      StringRef name = instructions.getName(product.getOpcode());
      // Results of 16 bits keep the other half of the accumulator's words.
      bool isTied = (name.starts_with("V_WMMA_F32_") || name.starts_with("V_WMMA_I32_")) &&
                    name.contains("_twoaddr_w32") && !name.contains("_gfx");
      if (!isTied)
        continue;
      MachineOperand *accumulator = find_if(product.operands(), [](const MachineOperand &operand) {
        return operand.isReg() && operand.isUse() && operand.isTied();
      });
      if (accumulator == product.operands_end() || !isZero(*accumulator))
        continue;
      unsigned opcode = untiedForm(name);
      if (!opcode)
        continue;
      unsigned number = product.getOperandNo(accumulator);
      product.untieRegOperand(number);
      product.setDesc(instructions.get(opcode));
      product.getOperand(number).ChangeToImmediate(0);
      isChanged = true;
    }
  return isChanged;
}

Pass *tw::amd::createFoldZeroSums() {
  return tw::makeMachinePass("Fold accumulators of zeros", tw::Preserves::ControlFlow,
                             [](MachineFunction &function) { return ZeroFolder(function).run(); });
}
