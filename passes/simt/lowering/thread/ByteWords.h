// Bytes in words of four: what one instruction does to all of them.
#ifndef PASSES_SIMT_LOWERING_BYTEWORDS_H
#define PASSES_SIMT_LOWERING_BYTEWORDS_H
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// The values with those in front that are the bytes of a word, in its order: such words need not
/// be packed again.
llvm::SmallVector<mlir::Value> inWordsOfBytes(llvm::ArrayRef<mlir::Value> values);

/// Lowers an operation of bytes and one constant, as the unpacking of numbers of four bits, four
/// elements at a time where they were loaded so; whether it did.
bool lowerInByteWords(SimtFunction &f, mlir::Operation *op);

} // namespace tw::simt
#endif
