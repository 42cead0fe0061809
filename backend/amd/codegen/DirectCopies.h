// Copies from global to shared memory that go past registers, as the code generator wants them.
#ifndef BACKEND_AMD_CODEGEN_DIRECTCOPIES_H
#define BACKEND_AMD_CODEGEN_DIRECTCOPIES_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Says of copies that other accesses of shared memory do not meet them, and computes their places
/// in scalar registers.
void separateDirectCopies(llvm::Module &module);

} // namespace tw::amd
#endif
