// The machine that this process runs on, as LLVM's code generator knows it.
#ifndef BACKEND_CPU_HOSTMACHINE_H
#define BACKEND_CPU_HOSTMACHINE_H
#include "backend/compile/EmitLlvm.h"

namespace tw {

LlvmMachine hostMachine();

} // namespace tw
#endif
