// Has LLVM's scheduler begin fewer loads at once in code that loads more than the registers hold.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "backend/codegen/MachinePass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static constexpr StringLiteral kStrategy = "amdgpu-sched-strategy", kClauses = "max-memory-clause";

/// Returns the number of registers with which a processor holds most programs; 0 if nothing says
/// it.
static unsigned registersOfMostPrograms(const Function &function) {
  StringRef steps = function.getFnAttribute(tw::amd::kRegisterSteps).getValueAsString();
  unsigned registers = 0;
  return steps.split(',').first.getAsInteger(10, registers) ? 0 : registers;
}

/// Returns true if a block of a function without matrix instructions loads as many words as there
/// are registers with which a processor holds most programs.
static bool fillsRegisters(const Function &function) {
  unsigned registers = registersOfMostPrograms(function);
  return registers != 0 && none_of(function, tw::amd::hasMatrixInstruction) &&
         any_of(function, [registers](const BasicBlock &block) {
           return tw::amd::registersOfLoads(block) >= registers;
         });
}

void tw::amd::preferClauses(Module &module) {
  for (Function &function : module)
    if (fillsRegisters(function))
      function.addFnAttr(kStrategy, kClauses);
}

/// Returns the vector registers of one word, in order.
static ArrayRef<MCPhysReg> vectorRegisters(const TargetRegisterInfo &registers) {
  for (const TargetRegisterClass *words : registers.regclasses())
    if (StringRef(registers.getRegClassName(words)) == "VGPR_32")
      return words->getRegisters();
  return {};
}

/// Reserves registers while LLVM's scheduler runs, or ends that.
static bool limitScheduler(MachineFunction &machine, bool begins) {
  // Allocation takes some more registers than the scheduler counts: vectors of four need
  // neighbours.
  constexpr unsigned spare = 2;
  const Function &function = machine.getFunction();
  if (function.getFnAttribute(kStrategy).getValueAsString() != kClauses)
    return false;
  MachineRegisterInfo &registers = machine.getRegInfo();
  const TargetRegisterInfo &target = *machine.getSubtarget().getRegisterInfo();
  const unsigned most = registersOfMostPrograms(function) - spare;
  if (begins)
    for (MCPhysReg word : vectorRegisters(target).drop_front(most))
      registers.reserveReg(word, &target);
  else
    registers.freezeReservedRegs();
  return false;
}

static Pass *makeLimit(bool begins) {
  return tw::makeMachinePass(
      "Limit the scheduler's registers", tw::Preserves::Everything,
      [begins](MachineFunction &machine) { return limitScheduler(machine, begins); });
}

Pass *tw::amd::createLimitScheduler() { return makeLimit(/*begins=*/true); }
Pass *tw::amd::createUnlimitAllocation() { return makeLimit(/*begins=*/false); }
