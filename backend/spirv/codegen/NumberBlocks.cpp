// Numbers of blocks that no earlier function had. LLVM 22 keeps the labels of blocks by the address
// of their function and their number for as long as the process lives (SPIRVModuleAnalysis, static
// MAI): a later function in the same place would get labels that are other values' in its module.
#include "backend/codegen/MachinePass.h"
#include "backend/spirv/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFunction.h"

using namespace tw;

/// The first number that no function at an address had. Only one thread generates SPIR-V at a time.
static llvm::DenseMap<const void *, unsigned> &firstNumbers() {
  static llvm::DenseMap<const void *, unsigned> numbers;
  return numbers;
}

static bool numberBlocks(llvm::MachineFunction &function) {
  unsigned &first = firstNumbers()[&function];
  while (function.getNumBlockIDs() < first)
    function.addToMBBNumbering(nullptr);
  for (llvm::MachineBasicBlock &block : function) {
    function.removeFromMBBNumbering(unsigned(block.getNumber()));
    block.setNumber(int(function.addToMBBNumbering(&block)));
  }
  first = function.getNumBlockIDs();
  return true;
}

llvm::Pass *tw::spirv::createNumberBlocks() {
  return makeMachinePass("Number blocks", Preserves::Nothing, numberBlocks);
}
