// Lets kernels read parameters that are passed by value where they lie.
#include "backend/nvidia/codegen/GridConstants.h"
#include "llvm/IR/Module.h"

using namespace llvm;

void tw::nvidia::markGridConstants(Module &module) {
  for (Function &function : module)
    for (Argument &argument : function.args())
      if (function.getCallingConv() == CallingConv::PTX_Kernel && argument.hasByValAttr())
        argument.addAttr(Attribute::get(module.getContext(), "nvvm.grid_constant"));
}
