// Sums of float16 numbers made wider, as instructions that take both widths.
#ifndef BACKEND_AMD_CODEGEN_MIXHALVES_H
#define BACKEND_AMD_CODEGEN_MIXHALVES_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Makes sums of float32 with numbers made wider from float16 fused products with 1: `v_fma_mix_f32`
/// takes halves of registers as they are, and a sum is the same number, rounded once either way.
/// LLVM has a sum of its own for a product with 1, so that the 1 is one that it does not see.
/// Pairs of sums (`v_pk_add_f32`) would have to be made wider first: they become single ones.
void mixHalves(llvm::Module &module);

} // namespace tw::amd
#endif
