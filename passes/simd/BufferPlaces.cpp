// Where the buffers of a kernel lie: on the stack, or in the scratch memory of the thread.
#include "passes/simd/BufferPlaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw::simd;

// Buffers up to this size live on the stack, where LLVM can see that nothing else points to them;
// the rest is in the worker's scratch memory, since a thread's stack is small.
static constexpr uint64_t kStackBufferBytes = 16 << 10;
static constexpr uint64_t kStackBytes = 96 << 10;
static constexpr uint64_t kAlignment = 64;
// LLVM may hold a smaller buffer in registers, if it is one tile's only.
static constexpr uint64_t kSharedBytes = 256;

BufferPlace BufferPlaces::take(uint64_t bytes, llvm::function_ref<Value(uint64_t)> makeStackSlot) {
  bytes = llvm::alignTo(bytes, kAlignment);
  if (bytes <= kStackBufferBytes) {
    for (auto [slot, isTaken] : llvm::zip(stackSlots, now.slots))
      if (!isTaken && slot.bytes == bytes && bytes >= kSharedBytes) {
        isTaken = true;
        return slot;
      }
    if (stackBytes + bytes <= kStackBytes) {
      stackBytes += bytes;
      stackSlots.push_back({bytes, 0, makeStackSlot(bytes)});
      now.slots.push_back(true);
      return stackSlots.back();
    }
  }
  uint64_t offset = 0; // the first gap that is wide enough
  for (auto [begin, size] : now.scratch) {
    if (begin - offset >= bytes)
      break;
    offset = begin + size;
  }
  now.scratch[offset] = bytes;
  mostScratchBytes = std::max(mostScratchBytes, offset + bytes);
  return {bytes, offset, Value()};
}

void BufferPlaces::free(const BufferPlace &place) {
  if (!place.onStack) {
    now.scratch.erase(place.scratchOffset);
    return;
  }
  for (auto [slot, isTaken] : llvm::zip(stackSlots, now.slots))
    if (slot.onStack == place.onStack)
      isTaken = false;
}

void BufferPlaces::restore(Taken before) {
  before.slots.resize(stackSlots.size(), false);
  now = std::move(before);
}
