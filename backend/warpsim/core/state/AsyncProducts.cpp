// How the products of a CTA begin, and which instructions share registers with them.
#include "backend/warpsim/core/state/AsyncProducts.h"
#include <algorithm>

using namespace tw::warpsim;

void AsyncProducts::reset(unsigned numWarps, uint32_t sharedBytes, uint32_t numRegisters,
                          uint64_t seed) {
  ofWarp.resize(numWarps);
  for (WarpProducts &products : ofWarp) {
    std::vector<RegisterUse> registers = std::move(products.registers);
    registers.assign(numRegisters, {});
    products = {};
    products.registers = std::move(registers);
  }
  groups.resize((numWarps + kWarpsOfGroup - 1) / kWarpsOfGroup);
  for (Warpgroup &group : groups) {
    std::vector<uint32_t> readers = std::move(group.readers);
    readers.assign((sharedBytes + kMatrixPieceBytes - 1) / kMatrixPieceBytes, 0);
    group = {};
    group.readers = std::move(readers);
  }
  numUncomputed = 0;
  isUsed = false;
  random.seed(seed);
}

static bool isWord(const Operand &operand) {
  return operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Word;
}

std::vector<bool> tw::warpsim::findTouchesOfProducts(const Program &program,
                                                     const Function &kernel) {
  std::vector<bool> isOfProduct(kernel.numRegisters[size_t(RegisterFile::Word)]);
  bool isAny = false;
  for (int32_t pc = kernel.begin; pc < kernel.end; ++pc) {
    const Instruction &instruction = program.code[pc];
    if (instruction.op != Op::WarpgroupMma)
      continue;
    isAny = true;
    for (const Operand &source : instruction.sources)
      if (isWord(source))
        isOfProduct[source.reg.number] = true;
  }
  std::vector<bool> touches;
  if (!isAny)
    return touches;
  touches.resize(program.code.size());
  auto isTouched = [&](const Operand &operand) {
    return isWord(operand) && isOfProduct[operand.reg.number];
  };
  for (int32_t pc = kernel.begin; pc < kernel.end; ++pc) {
    const Instruction &instruction = program.code[pc];
    touches[pc] =
        instruction.op != Op::WarpgroupMma &&
        (std::ranges::any_of(instruction.results, isTouched) ||
         std::ranges::any_of(instruction.sources, isTouched) ||
         isTouched(instruction.address.base) || isTouched(instruction.sourceAddress.base));
  }
  return touches;
}
