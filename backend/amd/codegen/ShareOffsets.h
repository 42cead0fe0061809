// Offsets of buffers that differ by constants, as one value.
#ifndef BACKEND_AMD_CODEGEN_SHAREOFFSETS_H
#define BACKEND_AMD_CODEGEN_SHAREOFFSETS_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Makes each offset of a buffer access another access's offset and a constant, where it is that:
/// the constant is part of the instruction, and the offset takes no register of its own. LLVM does
/// so where both are computed in the access's block, and loops' offsets are computed before them.
void shareOffsets(llvm::Module &module);

} // namespace tw::amd
#endif
