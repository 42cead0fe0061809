// Lets kernels read parameters that are passed by value where they lie.
#ifndef BACKEND_NVIDIA_CODEGEN_GRIDCONSTANTS_H
#define BACKEND_NVIDIA_CODEGEN_GRIDCONSTANTS_H

namespace llvm {
class Module;
}

namespace tw::nvidia {

/// Promises that no kernel changes what it is passed by value, so that no thread has a copy: the
/// machine reads tensor maps where the launch put them (CUDA C++, `__grid_constant__`).
void markGridConstants(llvm::Module &module);

} // namespace tw::nvidia
#endif
