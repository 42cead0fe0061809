// Puts wide scalar registers together of pairs of words.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/codegen/MachinePass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace {
using Words = std::pair<Register, Register>;

/// Indices of the words and pairs of a register of four words, which LLVM names.
struct Indices {
  unsigned words[4], pairs[2];
};

/// Rewrites the four-word sequences of one function.
class WordJoiner {
public:
  WordJoiner(MachineFunction &function, const Indices &indices)
      : function(function), indices(indices), registers(function.getRegInfo()),
        instructions(*function.getSubtarget().getInstrInfo()),
        machine(*function.getSubtarget().getRegisterInfo()) {}
  bool run();

private:
  bool isSequence(const MachineInstr &instr) const;
  const MachineInstr *constantOf(Register word) const;
  Register representativeOf(Register word);
  Words wordsOf(const MachineInstr &sequence, unsigned pair);
  Register sourceOf(Words words) const;
  Register moveAt(MachineBasicBlock::iterator place, const MachineInstr &constant);
  Register pairOf(MachineInstr &sequence, unsigned pair);
  void join(MachineInstr &sequence);

  MachineFunction &function;
  const Indices &indices;
  MachineRegisterInfo &registers;
  const TargetInstrInfo &instructions;
  const TargetRegisterInfo &machine;
  SmallVector<Register> constants; // one register for each constant
  DenseMap<Words, unsigned> uses;  // of two words, by sequences
  // The pairs that are made: those of constants for all blocks, others each above its uses.
  DenseMap<std::pair<MachineBasicBlock *, Words>, Register> made;
};
} // namespace

static unsigned indexNamed(const TargetRegisterInfo &machine, StringRef name) {
  for (unsigned index = 1; index < machine.getNumSubRegIndices(); ++index)
    if (name == machine.getSubRegIndexName(index))
      return index;
  return 0;
}

/// Returns true if an instruction builds a scalar register of four words from whole registers, in
/// order.
bool WordJoiner::isSequence(const MachineInstr &instr) const {
  if (!instr.isRegSequence() || instr.getNumOperands() != 9 ||
      machine.isDivergentRegClass(registers.getRegClass(instr.getOperand(0).getReg())))
    return false;
  for (unsigned word = 0; word < 4; ++word) {
    const MachineOperand &part = instr.getOperand(1 + 2 * word);
    if (!part.getReg().isVirtual() || part.getSubReg() || part.isUndef() ||
        instr.getOperand(2 + 2 * word).getImm() != indices.words[word])
      return false;
  }
  return true;
}

/// Returns the instruction that moves a constant to a word; null if the word is not a constant.
const MachineInstr *WordJoiner::constantOf(Register word) const {
  const MachineInstr *move = registers.getVRegDef(word);
  bool isConstant =
      move && move->isMoveImmediate() && move->getNumOperands() == 2 && move->getOperand(1).isImm();
  return isConstant ? move : nullptr;
}

/// Returns one register for all words of a constant, of which each block has its own.
Register WordJoiner::representativeOf(Register word) {
  const MachineInstr *move = constantOf(word);
  if (!move)
    return word;
  for (Register other : constants)
    if (constantOf(other)->isIdenticalTo(*move, MachineInstr::IgnoreVRegDefs))
      return other;
  constants.push_back(move->getOperand(0).getReg());
  return constants.back();
}

Words WordJoiner::wordsOf(const MachineInstr &sequence, unsigned pair) {
  return {representativeOf(sequence.getOperand(1 + 4 * pair).getReg()),
          representativeOf(sequence.getOperand(3 + 4 * pair).getReg())};
}

/// Returns the register of two words that these are copied from; none where there is none.
Register WordJoiner::sourceOf(Words words) const {
  const MachineInstr *low = registers.getVRegDef(words.first),
                     *high = registers.getVRegDef(words.second);
  if (!low || !high || !low->isCopy() || !high->isCopy())
    return Register();
  const MachineOperand &first = low->getOperand(1), &second = high->getOperand(1);
  bool isWhole = first.getReg().isVirtual() && first.getReg() == second.getReg() &&
                 first.getSubReg() == indices.words[0] && second.getSubReg() == indices.words[1] &&
                 machine.getRegSizeInBits(*registers.getRegClass(first.getReg())) == 64 &&
                 !machine.isDivergentRegClass(registers.getRegClass(first.getReg()));
  return isWhole ? first.getReg() : Register();
}

/// Returns a register of two of a sequence's words; none where only this sequence would use it.
Register WordJoiner::pairOf(MachineInstr &sequence, unsigned pair) {
  Words words = wordsOf(sequence, pair);
  if (Register source = sourceOf(words))
    return source;
  if (uses.lookup(words) < 2)
    return Register();
  const MachineInstr *low = constantOf(words.first), *high = constantOf(words.second);
  bool isConstant = low && high;
  MachineBasicBlock &block = isConstant ? function.front() : *sequence.getParent();
  Register &joined = made[{&block, words}];
  if (joined)
    return joined;
  MachineBasicBlock::iterator place = sequence.getIterator();
  if (isConstant) {
    place = find_if_not(block, [](const MachineInstr &instr) { return instr.isCopy(); });
    words = {moveAt(place, *low), moveAt(place, *high)};
  } else {
    // A representative need not reach this block.
    words = {sequence.getOperand(1 + 4 * pair).getReg(),
             sequence.getOperand(3 + 4 * pair).getReg()};
  }
  joined = registers.createVirtualRegister(machine.getSubRegisterClass(
      registers.getRegClass(sequence.getOperand(0).getReg()), indices.pairs[pair]));
  BuildMI(block, place, sequence.getDebugLoc(), instructions.get(TargetOpcode::REG_SEQUENCE),
          joined)
      .addReg(words.first)
      .addImm(indices.words[0])
      .addReg(words.second)
      .addImm(indices.words[1]);
  return joined;
}

/// Moves a constant to a register of its own, in the first block.
Register WordJoiner::moveAt(MachineBasicBlock::iterator place, const MachineInstr &constant) {
  MachineInstr *move = function.CloneMachineInstr(&constant);
  Register word =
      registers.createVirtualRegister(registers.getRegClass(constant.getOperand(0).getReg()));
  move->getOperand(0).setReg(word);
  function.front().insert(place, move);
  return word;
}

void WordJoiner::join(MachineInstr &sequence) {
  Register pairs[2] = {pairOf(sequence, 0), pairOf(sequence, 1)};
  if (!pairs[0] && !pairs[1])
    return;
  auto wider =
      BuildMI(*sequence.getParent(), sequence, sequence.getDebugLoc(),
              instructions.get(TargetOpcode::REG_SEQUENCE), sequence.getOperand(0).getReg());
  for (unsigned pair = 0; pair < 2; ++pair) {
    Words words{sequence.getOperand(1 + 4 * pair).getReg(),
                sequence.getOperand(3 + 4 * pair).getReg()};
    if (pairs[pair])
      wider.addReg(pairs[pair]).addImm(indices.pairs[pair]);
    else
      wider.addReg(words.first)
          .addImm(indices.words[2 * pair])
          .addReg(words.second)
          .addImm(indices.words[2 * pair + 1]);
    for (Register used : {words.first, words.second, pairs[pair]})
      if (used)
        registers.clearKillFlags(used);
  }
  sequence.eraseFromParent();
}

bool WordJoiner::run() {
  SmallVector<MachineInstr *> sequences;
  for (MachineBasicBlock &block : function)
    for (MachineInstr &instr : block)
      if (isSequence(instr))
        sequences.push_back(&instr);
  for (MachineInstr *sequence : sequences)
    for (unsigned pair : {0, 1})
      ++uses[wordsOf(*sequence, pair)];
  for (MachineInstr *sequence : sequences)
    join(*sequence);
  return !sequences.empty();
}

static bool joinScalarWords(MachineFunction &function) {
  const TargetRegisterInfo &machine = *function.getSubtarget().getRegisterInfo();
  Indices indices{{indexNamed(machine, "sub0"), indexNamed(machine, "sub1"),
                   indexNamed(machine, "sub2"), indexNamed(machine, "sub3")},
                  {indexNamed(machine, "sub0_sub1"), indexNamed(machine, "sub2_sub3")}};
  return WordJoiner(function, indices).run();
}

Pass *tw::amd::createJoinScalarWords() {
  return tw::makeMachinePass("Join words of scalar registers", tw::Preserves::ControlFlow,
                             joinScalarWords);
}
