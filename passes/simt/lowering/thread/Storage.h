// Element types as memory and shuffles hold them: whole bytes, as integers or wider floats.
#ifndef PASSES_SIMT_LOWERING_STORAGE_H
#define PASSES_SIMT_LOWERING_STORAGE_H
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// The type that stands for an element type in memory: i1 is a byte, floats of 8 bits are i8 (LLVM
/// has no such floats), pointers are i64.
mlir::Type storageType(SimtFunction &f, mlir::Type element);
mlir::Value toStorage(SimtFunction &f, mlir::Value value);
/// A value of `element`, in registers, from its storage.
mlir::Value fromStorage(SimtFunction &f, mlir::Value stored, mlir::Type element);

/// Elements below 32 bits packed into i32, the first in the lowest bits; wider ones as they are.
llvm::SmallVector<mlir::Value> packWords(SimtFunction &f, llvm::ArrayRef<mlir::Value> elements);
/// The elements in words, as packWords packs them; words of 32 bits may be i32 for any element.
Registers unpackWords(SimtFunction &f, mlir::ValueRange words, mlir::Type element);

/// The values of other lanes, one per value and lane: several narrow values travel in one shuffle
/// where they come from the same lane. `lanes` holds, for each value, the constant to xor to
/// `variable` (i32) under `mode`; null for a variable part of 0.
llvm::SmallVector<mlir::Value> shuffleAll(SimtFunction &f, llvm::ArrayRef<mlir::Value> values,
                                          ShuffleMode mode, mlir::Value variable,
                                          llvm::ArrayRef<uint32_t> lanes);
/// The same with one xor mask for all values.
llvm::SmallVector<mlir::Value> shuffleXor(SimtFunction &f, llvm::ArrayRef<mlir::Value> values,
                                          uint32_t lanes);

} // namespace tw::simt
#endif
