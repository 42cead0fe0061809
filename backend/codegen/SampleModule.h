// A small function with some of what kernels are made of, for code generators to be readied with.
#ifndef BACKEND_CODEGEN_SAMPLEMODULE_H
#define BACKEND_CODEGEN_SAMPLEMODULE_H
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tw {

/// A loop over vectors of floats that are loaded, computed with and stored under a mask. Its code
/// is thrown away.
std::unique_ptr<llvm::Module> makeSampleModule(llvm::LLVMContext &context);

} // namespace tw
#endif
