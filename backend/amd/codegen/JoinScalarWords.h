// Scalar registers that are put together two words at a time.
#ifndef BACKEND_AMD_CODEGEN_JOINSCALARWORDS_H
#define BACKEND_AMD_CODEGEN_JOINSCALARWORDS_H

namespace llvm {
class Pass;
}

namespace tw::amd {

/// A pass of the code generator, on instructions that were selected. Resources of buffers are four
/// words each: an address, and two that all of them share. LLVM puts them together word by word;
/// put together of pairs, where a pair is one register's or several sequences have it, each is
/// copied by one instruction in place of two.
llvm::Pass *createJoinScalarWords();

} // namespace tw::amd
#endif
