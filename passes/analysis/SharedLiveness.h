// When each shared buffer of a kernel holds data: what allocate-shared packs by.
#ifndef PASSES_ANALYSIS_SHAREDLIVENESS_H
#define PASSES_ANALYSIS_SHAREDLIVENESS_H
#include "ir/simt/Simt.h"
#include <vector>

namespace tw {

/// A buffer and the span of operations, by their number in the kernel, that it holds data over.
/// Both ends are accesses, or the ends of a loop that carries the data to its next iteration.
struct LiveBuffer {
  simt::AllocSharedOp alloc;
  uint64_t bytes = 0; // rounded up to the alignment of buffers
  unsigned first = 0, last = 0;
  uint64_t alignment = 1; // of its offset
  bool overlaps(const LiveBuffer &other) const {
    return first <= other.last && other.first <= last;
  }
};

inline constexpr uint64_t kSharedAlignment = 16; // bytes: the widest access

/// The alignment of a buffer: of slabs that matrix instructions read, a group of rows.
uint64_t alignmentOf(simt::AllocSharedOp alloc);
/// Bytes of a buffer's elements.
uint64_t bytesOf(simt::SharedType buffer);
/// Bytes of a buffer with all its slots.
uint64_t bytesOf(simt::AllocSharedOp alloc);
/// The allocation of a buffer or of a slot; null for what nothing here allocates.
simt::AllocSharedOp allocOf(mlir::Value buffer);
/// Returns true if two buffers have bytes in common. Without offsets, each has its own memory;
/// null, what nothing here allocates, may be anywhere.
bool shareBytes(simt::AllocSharedOp a, simt::AllocSharedOp b);
/// The buffers that are accessed, in the order of the kernel.
std::vector<LiveBuffer> findLiveBuffers(mlir::Operation *kernel);
/// The most bytes that hold data at once, and the buffers that do so then: no packing needs less.
struct SharedPeak {
  uint64_t bytes = 0;
  std::vector<size_t> buffers;
};
SharedPeak findPeak(const std::vector<LiveBuffer> &buffers);
/// The bytes that allocate-shared needs for them.
uint64_t packedBytes(const std::vector<LiveBuffer> &buffers);
/// The buffers as they are when none has more slots than that.
std::vector<LiveBuffer> withSlots(std::vector<LiveBuffer> buffers, uint64_t mostSlots);

} // namespace tw
#endif
