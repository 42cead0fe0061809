// Cuts functions that are very large into several, so that the time of compiling them stays linear.
#ifndef BACKEND_SPLITFUNCTIONS_H
#define BACKEND_SPLITFUNCTIONS_H
#include <cstdint>

namespace llvm {
class Module;
}

namespace tw {

/// Moves consecutive parts of each function of many thousand instructions or some hundred blocks to
/// functions of their own. Several analyses of LLVM 22 (ScalarEvolution's search of guards, the
/// uses of induction variables) walk from each loop back to the beginning of its function: 500
/// loops in a row took ten times as long as 125. A part is what runs between two blocks that every
/// pass through the function, or through a loop of it, goes by; `costOfPart` is about its
/// instructions, by default what compiles in tens of milliseconds.
void splitLargeFunctions(llvm::Module &module, int64_t costOfPart = 4'000);

} // namespace tw
#endif
