// Calls of functions that the user's bitcode defines, in the LLVM dialect.
#ifndef PASSES_LLVM_EXTERNCALLS_H
#define PASSES_LLVM_EXTERNCALLS_H

namespace mlir {
class LLVMTypeConverter;
class RewritePatternSet;
} // namespace mlir

namespace tw {

/// Makes tile.extern_call calls of declared functions, one for each element of a vector. The
/// declarations are marked `tile::kExternFunction`.
void populateExternCallPatterns(const mlir::LLVMTypeConverter &converter,
                                mlir::RewritePatternSet &patterns);

} // namespace tw
#endif
