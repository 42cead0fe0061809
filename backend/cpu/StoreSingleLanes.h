// Keeps masked stores of a single lane away from the code generator.
#ifndef BACKEND_CPU_STORESINGLELANES_H
#define BACKEND_CPU_STORESINGLELANES_H

namespace llvm {
class Module;
}

namespace tw {

/// Rewrites masked stores whose mask is known to have one lane as stores of its element. With
/// AVX-512, LLVM 22 stores what such an element was truncated from, and so writes memory behind it.
void storeSingleLanes(llvm::Module &module);

} // namespace tw
#endif
