// Operands of wgmma.mma_async by their roles.
#ifndef BACKEND_WARPSIM_CORE_WARPGROUPFORM_H
#define BACKEND_WARPSIM_CORE_WARPGROUPFORM_H
#include "backend/warpsim/core/matrix/MatrixDescriptor.h"

namespace tw::warpsim {

/// The operands and literals of the instruction, among its sources.
struct WarpgroupForm {
  explicit WarpgroupForm(const Instruction &instruction);
  bool isAInRegisters;
  const Operand *a, *b; // `a`: the first of four registers, or a descriptor
  const Operand *readsAccumulator;
  bool isNegated = false; // one of the operands is
  bool isAKMajor = true, isBKMajor = true;
};

} // namespace tw::warpsim
#endif
