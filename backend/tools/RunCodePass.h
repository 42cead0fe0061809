// Runs one of a target's passes around LLVM's by its name, for tests and debugging.
#ifndef BACKEND_TOOLS_RUNCODEPASS_H
#define BACKEND_TOOLS_RUNCODEPASS_H
#include "backend/Target.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace tw {

/// Reads LLVM IR and writes what a pass makes of it: LLVM IR, or for a pass of the code generator
/// the assembly that is generated with this one and no other of ours. Says why where it fails.
mlir::LogicalResult runCodePass(const Target &target, llvm::StringRef name,
                                const llvm::MemoryBuffer &input, llvm::raw_ostream &os);

} // namespace tw
#endif
