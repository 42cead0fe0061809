// Liveness of shared buffers over structured control flow.
#include "passes/analysis/SharedLiveness.h"
#include "ir/layout/OperandSlabs.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;

namespace {
/// The numbers of an operation and of what is inside.
struct Numbers {
  unsigned first = 0, last = 0;
};
} // namespace

static unsigned number(Operation *op, unsigned next, llvm::DenseMap<Operation *, Numbers> &ranges) {
  unsigned first = next++;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        next = number(&inner, next, ranges);
  ranges[op] = {first, next - 1};
  return next;
}

uint64_t tw::bytesOf(simt::SharedType buffer) {
  return buffer.getPadding().apply(uint64_t(buffer.getLayout().getValue().numElements()) *
                                   tile::elementBytes(buffer.getElementType()));
}

uint64_t tw::bytesOf(simt::AllocSharedOp alloc) {
  return bytesOf(alloc.getType()) * alloc.getSlots().value_or(1);
}

simt::AllocSharedOp tw::allocOf(Value buffer) {
  auto slot = buffer.getDefiningOp<simt::SlotOp>();
  return (slot ? slot.getBuffer() : buffer).getDefiningOp<simt::AllocSharedOp>();
}

bool tw::shareBytes(simt::AllocSharedOp a, simt::AllocSharedOp b) {
  if (!a || !b || a == b)
    return true;
  if (!a.getOffset() || !b.getOffset())
    return false;
  return *a.getOffset() < *b.getOffset() + bytesOf(b) &&
         *b.getOffset() < *a.getOffset() + bytesOf(a);
}

/// The operations that access a buffer or a slot of it.
static SmallVector<Operation *> accessesOf(simt::AllocSharedOp alloc) {
  SmallVector<Operation *> accesses;
  for (Operation *user : alloc->getUsers())
    if (isa<simt::SlotOp>(user))
      accesses.append(user->user_begin(), user->user_end());
    else
      accesses.push_back(user);
  return accesses;
}

uint64_t tw::alignmentOf(simt::AllocSharedOp alloc) {
  uint64_t alignment = kSharedAlignment;
  for (Operation *access : accessesOf(alloc))
    if (auto mma = dyn_cast<simt::MmaAsyncOp>(access))
      alignment = OperandSlabs::kRowsOfGroup * uint64_t(mma.getInstruction().getSpanBytes());
    else if (auto store = dyn_cast<simt::BoxStoreOp>(access))
      alignment = OperandSlabs::kRowsOfGroup * uint64_t(store.getTensorMap().getSpanBytes());
  return alignment;
}

/// The outermost loop around `access` that the buffer outlives: its data may come from the loop's
/// earlier iterations or stay for later ones. Or the access itself.
static Operation *holderOf(Operation *access, simt::AllocSharedOp alloc) {
  Operation *holder = access;
  for (Operation *parent = access->getParentOp(); !parent->isAncestor(alloc);
       parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      holder = parent;
  return holder;
}

/// Returns the end of all copies that an operation has started: the next wait for them beside the
/// buffer, or the end of the kernel. Copies of iterations that do not exist write, too: zeros,
/// which nobody reads.
static unsigned endOfCopies(unsigned started, simt::AllocSharedOp alloc, Operation *kernel,
                            const llvm::DenseMap<Operation *, Numbers> &ranges) {
  for (auto wait : alloc->getBlock()->getOps<simt::AsyncWaitOp>())
    if (unsigned at = ranges.at(wait).first; wait.getPending() == 0 && at > started)
      return at;
  return ranges.at(kernel).last;
}

std::vector<LiveBuffer> tw::findLiveBuffers(Operation *kernel) {
  llvm::DenseMap<Operation *, Numbers> ranges;
  number(kernel, 0, ranges);
  std::vector<LiveBuffer> buffers;
  kernel->walk([&](simt::AllocSharedOp alloc) {
    LiveBuffer buffer{alloc, llvm::alignTo(bytesOf(alloc), kSharedAlignment), ranges[kernel].last,
                      0, alignmentOf(alloc)};
    for (Operation *access : accessesOf(alloc)) {
      Numbers numbers = ranges[holderOf(access, alloc)];
      buffer.first = std::min(buffer.first, numbers.first);
      if (isa<simt::AsyncCopyOp, simt::ArrayCopyOp>(access))
        numbers.last = endOfCopies(numbers.last, alloc, kernel, ranges);
      buffer.last = std::max(buffer.last, numbers.last);
    }
    if (!alloc->use_empty())
      buffers.push_back(buffer);
  });
  return buffers;
}

SharedPeak tw::findPeak(const std::vector<LiveBuffer> &buffers) {
  SharedPeak peak;
  // A sum of intervals is largest where one begins.
  for (const LiveBuffer &start : buffers) {
    SharedPeak here;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].first > start.first || buffers[i].last < start.first)
        continue;
      here.bytes += buffers[i].bytes;
      here.buffers.push_back(i);
    }
    if (here.bytes > peak.bytes)
      peak = here;
  }
  return peak;
}

std::vector<LiveBuffer> tw::withSlots(std::vector<LiveBuffer> buffers, uint64_t mostSlots) {
  for (LiveBuffer &buffer : buffers)
    if (uint64_t slots = buffer.alloc.getSlots().value_or(1); slots > mostSlots)
      buffer.bytes = buffer.bytes / slots * mostSlots;
  return buffers;
}
