// Makes passes of functions on machine code.
#include "backend/codegen/MachinePass.h"
#include "llvm/CodeGen/MachineFunctionPass.h"

using namespace llvm;

namespace {
class MachinePass final : public MachineFunctionPass {
public:
  static char ID; // of all of them: none is an analysis, which LLVM would look for by it
  MachinePass(StringRef name, tw::Preserves preserves, std::function<bool(MachineFunction &)> run)
      : MachineFunctionPass(ID), name(name), preserves(preserves), run(std::move(run)) {}
  StringRef getPassName() const override { return name; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    if (preserves == tw::Preserves::Everything)
      usage.setPreservesAll();
    else if (preserves == tw::Preserves::ControlFlow)
      usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override { return run(function); }

private:
  StringRef name;
  tw::Preserves preserves;
  std::function<bool(MachineFunction &)> run;
};
} // namespace

char MachinePass::ID = 0;

Pass *tw::makeMachinePass(StringRef name, Preserves preserves,
                          std::function<bool(MachineFunction &)> run) {
  return new MachinePass(name, preserves, std::move(run));
}
