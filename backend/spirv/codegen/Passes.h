// What surrounds LLVM's passes for SPIR-V.
#ifndef BACKEND_SPIRV_CODEGEN_PASSES_H
#define BACKEND_SPIRV_CODEGEN_PASSES_H
#include "backend/codegen/LlvmMachine.h"
#include "backend/spirv/machine/SpirvArch.h"

namespace llvm {
class Module;
}

namespace tw::spirv {

/// Returns true if devices provide a function: those of OpenCL and SPIR-V have mangled names.
bool isBuiltin(llvm::StringRef function);

/// Fills in the passes of ours. Simulators execute the module as it is before them.
void addPasses(LlvmMachine &machine, const SpirvArch &arch, bool isSimulated);

/// Atomics become calls by SPIR-V's names. LLVM 22 makes plain loads of atomic ones, and leaves out
/// of the others which memory they order.
void nameAtomics(llvm::Module &module);
/// Quotients and square roots of float32 go by way of float64, as OpenCL rounds those correctly and
/// these only where a device says so. Divisions that may be approximate stay.
void roundQuotients(llvm::Module &module);

/// Intrinsics that LLVM 22 has no SPIR-V for, or another meaning, become arithmetic.
void expandIntrinsics(llvm::Module &module);
/// Negatives of floats flip a bit that only a launch knows in modules with barriers, behind which
/// Intel's driver of processors gives them the values of another subgroup.
void negateBits(llvm::Module &module);
/// Integers get as many bits as SPIR-V has.
void widenIntegers(llvm::Module &module);
/// Reports integers that SPIR-V does not have, of which LLVM 22 makes wider ones without a word.
void checkIntegers(llvm::Module &module);

/// Makes a pass of the code generator by which no block has a label of an earlier module.
llvm::Pass *createNumberBlocks();

} // namespace tw::spirv
#endif
