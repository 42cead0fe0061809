// Where the buffers of a kernel lie: on the stack, or in the scratch memory of the thread.
#ifndef PASSES_SIMD_BUFFERPLACES_H
#define PASSES_SIMD_BUFFERPLACES_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <map>

namespace tw::simd {

/// One place of some bytes. `onStack` is its address there, null in scratch memory.
struct BufferPlace {
  uint64_t bytes = 0, scratchOffset = 0;
  mlir::Value onStack;
};

/// A place that is free again after an operation of the block that the buffer is made in.
struct BufferInUse {
  BufferPlace place;
  mlir::Operation *lastReader;
};

/// Gives places out and takes them back, so that buffers that are never in use at once share cache
/// lines.
class BufferPlaces {
public:
  /// A free place; `makeStackSlot` makes a new one on the stack, of the bytes that it is given.
  BufferPlace take(uint64_t bytes, llvm::function_ref<mlir::Value(uint64_t)> makeStackSlot);
  void free(const BufferPlace &place);

  /// The places in use: to be restored when the live ranges of all buffers made since then have
  /// ended.
  struct Taken {
    std::map<uint64_t, uint64_t> scratch; // bytes by offset
    llvm::SmallVector<bool> slots;        // of the stack
  };
  const Taken &taken() const { return now; }
  void restore(Taken before);

  /// The most scratch memory that was in use at once.
  uint64_t scratchBytes() const { return mostScratchBytes; }

private:
  Taken now;
  llvm::SmallVector<BufferPlace> stackSlots; // all that were ever made
  uint64_t stackBytes = 0, mostScratchBytes = 0;
};

} // namespace tw::simd
#endif
