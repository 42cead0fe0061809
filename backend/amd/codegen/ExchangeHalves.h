// Words that are put together of halves of others.
#ifndef BACKEND_AMD_CODEGEN_EXCHANGEHALVES_H
#define BACKEND_AMD_CODEGEN_EXCHANGEHALVES_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Puts each word of a vector of 16-bit elements whose halves come from words of other vectors
/// together by `v_perm`. Where halves of registers are registers of their own, LLVM would move each
/// half.
void exchangeHalves(llvm::Module &module);

} // namespace tw::amd
#endif
