// Moves the constant parts of addresses to their ends, where instructions take them for free.
#ifndef BACKEND_SINKOFFSETS_H
#define BACKEND_SINKOFFSETS_H

namespace llvm {
class Function;
}

namespace tw {

/// Rewrites `(base + constant) + index` to `(base + index) + constant`: accesses of one index at
/// many constant distances then share one address and differ in their instructions' offsets only.
void sinkConstantOffsets(llvm::Function &function);

} // namespace tw
#endif
