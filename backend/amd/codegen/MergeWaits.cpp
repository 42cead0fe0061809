// Merges waits for loads that come back together.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/machine/AmdArch.h"
#include "backend/codegen/MachinePass.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

/// Bounds the instructions that are not worth a wait of their own: they stand between two waits.
static constexpr unsigned kFewInstructions = 4;

namespace {
/// The accesses that a counter counts: those of global memory (vmcnt, loadcnt) or of shared memory
/// (lgkmcnt, dscnt).
enum Counter { kGlobal, kShared, kNumCounters };

/// The bits of an instruction's number that bound a counter; none if the instruction has no bound.
struct Field {
  unsigned low = 0, lowBits = 0, high = 0, highBits = 0;

  unsigned most() const { return (1u << (lowBits + highBits)) - 1; }
  unsigned read(unsigned bits) const {
    unsigned above = (bits >> high) & ((1u << highBits) - 1);
    return ((bits >> low) & ((1u << lowBits) - 1)) | above << lowBits;
  }
  unsigned write(unsigned bits, unsigned bound) const {
    unsigned lowMask = (1u << lowBits) - 1, highMask = (1u << highBits) - 1;
    bits &= ~(lowMask << low | highMask << high);
    return bits | (bound & lowMask) << low | ((bound >> lowBits) & highMask) << high;
  }
};

/// An earlier wait for a counter, which nothing has increased since.
struct Earlier {
  MachineInstr *wait = nullptr; // null: there is none
  unsigned first = 0;           // its bound before others were merged into it
  unsigned numBetween = 0;      // instructions since then
  bool hasProducts = false;     // matrix instructions are among them
  bool isNear = true;           // no barrier is
};

/// Merges the waits of a block.
class WaitMerger {
public:
  WaitMerger(const TargetInstrInfo &instructions, unsigned generation)
      : instructions(instructions), generation(generation) {}
  bool run(MachineBasicBlock &block);

private:
  Field fieldOf(StringRef name, Counter counter) const;
  bool isEmpty(const MachineInstr &wait, StringRef name) const;
  bool comesWith(unsigned first, unsigned bound) const;
  bool isWorthwhile(const Earlier &earlier, Counter counter, unsigned bound) const;
  bool mergeInto(MachineInstr &wait, StringRef name, Counter counter);
  void pass(const MachineInstr &instr, StringRef name);
  void increase(Counter counter);

  const TargetInstrInfo &instructions;
  unsigned generation;
  Earlier earlier[kNumCounters];
  unsigned position = 0;              // of an instruction in its block
  SmallVector<unsigned> sharedAccess; // positions of accesses of shared memory
};
} // namespace

/// Returns where a wait has the bound of a counter (the instruction sets' "S_WAITCNT" and
/// "S_WAIT_LOADCNT").
Field WaitMerger::fieldOf(StringRef name, Counter counter) const {
  if (name == "S_WAITCNT" && generation == 9)
    return counter == kGlobal ? Field{0, 4, 14, 2} : Field{8, 4, 0, 0};
  if (name == "S_WAITCNT" && generation == 11)
    return counter == kGlobal ? Field{10, 6, 0, 0} : Field{4, 6, 0, 0};
  if (name == "S_WAIT_LOADCNT_DSCNT")
    return counter == kGlobal ? Field{8, 6, 0, 0} : Field{0, 6, 0, 0};
  if (name == (counter == kGlobal ? "S_WAIT_LOADCNT" : "S_WAIT_DSCNT"))
    return Field{0, 6, 0, 0};
  return Field{};
}

/// Returns true if a wait no longer waits for anything.
bool WaitMerger::isEmpty(const MachineInstr &wait, StringRef name) const {
  unsigned bits = wait.getOperand(0).getImm(), full = bits;
  for (Counter counter : {kGlobal, kShared})
    if (Field field = fieldOf(name, counter); field.lowBits)
      full = field.write(full, field.most());
  // The other counters of `s_waitcnt`: expcnt, which no code here waits for.
  if (name == "S_WAITCNT")
    full |= generation == 9 ? 7u << 4 : 7u;
  return bits == full;
}

/// Returns true if the access that the second bound waits for was started next to the last one that
/// the first bound waits for: their data comes back together.
bool WaitMerger::comesWith(unsigned first, unsigned bound) const {
  constexpr unsigned nearby = 3;
  size_t count = sharedAccess.size();
  return bound + 1 == first && first < count &&
         sharedAccess[count - first] - sharedAccess[count - first - 1] < nearby;
}

bool WaitMerger::isWorthwhile(const Earlier &earlier, Counter counter, unsigned bound) const {
  if (!earlier.isNear)
    return false;
  if (!earlier.hasProducts)
    return earlier.numBetween <= kFewInstructions;
  return counter == kShared && comesWith(earlier.first, bound);
}

/// Takes a counter out of a wait where an earlier one waits as long, or may. Returns true if it
/// does.
bool WaitMerger::mergeInto(MachineInstr &wait, StringRef name, Counter counter) {
  Field field = fieldOf(name, counter);
  unsigned bits = wait.getOperand(0).getImm();
  if (!field.lowBits || field.read(bits) == field.most())
    return false;
  unsigned bound = field.read(bits);
  Earlier &before = earlier[counter];
  if (before.wait) {
    MachineOperand &operand = before.wait->getOperand(0);
    Field other = fieldOf(instructions.getName(before.wait->getOpcode()), counter);
    bool isDone = other.read(operand.getImm()) <= bound;
    if (isDone || isWorthwhile(before, counter, bound)) {
      if (!isDone)
        operand.setImm(other.write(operand.getImm(), bound));
      wait.getOperand(0).setImm(field.write(bits, field.most()));
      return true;
    }
  }
  before = Earlier{&wait, bound};
  return false;
}

/// Forgets the waits before an access that a counter counts.
void WaitMerger::increase(Counter counter) {
  earlier[counter].wait = nullptr;
  if (counter == kShared)
    sharedAccess.push_back(position);
}

/// Notes an instruction between waits.
void WaitMerger::pass(const MachineInstr &instr, StringRef name) {
  bool isProduct = name.contains("MFMA") || name.contains("WMMA");
  for (Earlier &before : earlier) {
    ++before.numBetween;
    before.hasProducts |= isProduct;
    before.isNear &= !name.starts_with("S_BARRIER");
  }
  bool isGlobal = name.starts_with("BUFFER_") || name.starts_with("GLOBAL_");
  if (name.starts_with("DS_"))
    return increase(kShared);
  if (isGlobal && !name.contains("LDS"))
    return increase(kGlobal);
  if (instr.mayLoadOrStore() || instr.isCall() || instr.isInlineAsm() ||
      name.starts_with("S_SENDMSG") || name.starts_with("S_MEM")) { // times count as well
    for (Earlier &before : earlier)
      before.wait = nullptr;
    sharedAccess.clear();
  }
}

bool WaitMerger::run(MachineBasicBlock &block) {
  bool isChanged = false;
  for (MachineInstr &instr : make_early_inc_range(block.instrs())) {
    if (instr.isMetaInstruction() || instr.isBundle())
      continue;
    StringRef name = instructions.getName(instr.getOpcode());
    ++position;
    if (!fieldOf(name, kGlobal).lowBits && !fieldOf(name, kShared).lowBits) {
      pass(instr, name);
      continue;
    }
    bool isMerged = mergeInto(instr, name, kGlobal);
    isMerged |= mergeInto(instr, name, kShared);
    isChanged |= isMerged;
    if (isMerged && isEmpty(instr, name))
      instr.eraseFromBundle();
  }
  return isChanged;
}

static bool mergeWaits(MachineFunction &function) {
  const TargetSubtargetInfo &subtarget = function.getSubtarget();
  const tw::AmdArch *arch = tw::findAmdArch(subtarget.getCPU());
  bool isChanged = false;
  for (MachineBasicBlock &block : function)
    isChanged |= WaitMerger(*subtarget.getInstrInfo(), arch ? arch->generation : 0).run(block);
  return isChanged;
}

Pass *tw::amd::createMergeWaits() {
  return tw::makeMachinePass("Merge waits for loads", tw::Preserves::Everything, mergeWaits);
}
