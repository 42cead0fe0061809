// The pass `allocate-shared`: shared buffers get offsets; those that do not hold data at the same
// time share memory.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/analysis/SharedLiveness.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

//===-- Packing ------------------------------------------------------------------------------===//

/// Small buffers keep memory of their own while all of them take little: to reuse a buffer's memory
/// takes a barrier, and the bytes saved would not let one more CTA run.
static constexpr uint64_t kSmallBytes = 512, kSmallTotal = 4096;

/// Which buffers do not share memory although they never hold data at the same time.
static std::vector<bool> keptApart(const std::vector<LiveBuffer> &buffers) {
  std::vector<bool> isApart(buffers.size(), false);
  uint64_t total = 0;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    isApart[i] = buffer.bytes <= kSmallBytes && total + buffer.bytes <= kSmallTotal;
    total += isApart[i] ? buffer.bytes : 0;
  }
  return isApart;
}

/// The offset of the smallest gap between `taken` spans that holds the buffer; after them all if
/// none.
static uint64_t bestFit(SmallVector<std::pair<uint64_t, uint64_t>> taken,
                        const LiveBuffer &buffer) {
  llvm::sort(taken);
  uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
  for (auto [first, last] : taken) {
    if (first >= end + buffer.bytes && first - end < bestGap) {
      best = end;
      bestGap = first - end;
    }
    end = std::max(end, llvm::alignTo(last, buffer.alignment));
  }
  return bestGap == UINT64_MAX ? end : best;
}

/// Offsets by best fit, large buffers first.
static std::vector<uint64_t> packBuffers(const std::vector<LiveBuffer> &buffers,
                                         const std::vector<bool> &isApart) {
  std::vector<size_t> order(buffers.size());
  for (auto [i, index] : llvm::enumerate(order))
    index = i;
  llvm::sort(order, [&](size_t a, size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  std::vector<uint64_t> offsets(buffers.size());
  for (auto [rank, i] : llvm::enumerate(order)) {
    SmallVector<std::pair<uint64_t, uint64_t>> taken;
    for (size_t other : ArrayRef(order).take_front(rank))
      if (isApart[i] || isApart[other] || buffers[i].overlaps(buffers[other]))
        taken.push_back({offsets[other], offsets[other] + buffers[other].bytes});
    offsets[i] = bestFit(std::move(taken), buffers[i]);
  }
  return offsets;
}

static uint64_t endOf(const std::vector<LiveBuffer> &buffers,
                      const std::vector<uint64_t> &offsets) {
  uint64_t end = 0;
  for (auto [buffer, offset] : llvm::zip(buffers, offsets))
    end = std::max(end, offset + buffer.bytes);
  return end;
}

//===-- Reports ------------------------------------------------------------------------------===//

static std::string describe(SharedType type, ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

/// "load of line 12: f16[128, 32] in 4 slots, 32768 bytes"
static std::string describe(const LiveBuffer &buffer) {
  AllocSharedOp alloc = buffer.alloc;
  std::string text =
      (alloc.getName() + ": " + describe(alloc.getType(), alloc.getType().getShape())).str();
  if (uint64_t slots = buffer.bytes / bytesOf(alloc.getType()); alloc.getSlots() && slots > 1)
    text += " in " + std::to_string(slots) + " slots";
  return text + ", " + std::to_string(buffer.bytes) + " bytes";
}

uint64_t tw::packedBytes(const std::vector<LiveBuffer> &buffers) {
  return endOf(buffers, packBuffers(buffers, std::vector<bool>(buffers.size(), false)));
}

/// The largest num_stages below this one that fits: loops make do with one slot fewer where memory
/// is short. 0 where that does not help.
static uint64_t mostStages(const std::vector<LiveBuffer> &buffers, uint64_t limit) {
  uint64_t present = 0;
  for (LiveBuffer buffer : buffers)
    present = std::max<uint64_t>(present, buffer.alloc.getSlots().value_or(1));
  for (uint64_t slots = present; slots-- > 1;)
    if (packedBytes(withSlots(buffers, slots)) <= limit)
      return std::min(slots + 1, present - 1);
  return 0;
}

/// Without pipelining, what loops load is not in use at the same time for certain: only what each
/// buffer needs alone, and the others together.
static uint64_t leastUnpipelined(const std::vector<LiveBuffer> &buffers) {
  std::vector<LiveBuffer> others = buffers;
  llvm::erase_if(others, [](LiveBuffer &buffer) { return buffer.alloc.getSlots().has_value(); });
  uint64_t least = packedBytes(others);
  for (const LiveBuffer &buffer : withSlots(buffers, 1))
    least = std::max(least, buffer.bytes);
  return least;
}

static std::string describe(const std::vector<LiveBuffer> &buffers, ArrayRef<size_t> chosen) {
  std::string list;
  // Phase barriers take a few bytes, about which nothing can be done.
  auto isOfTiles = [](AllocSharedOp alloc) {
    return llvm::none_of(alloc->getUsers(), llvm::IsaPred<PhaseInitOp>);
  };
  for (size_t i :
       llvm::make_filter_range(chosen, [&](size_t i) { return isOfTiles(buffers[i].alloc); }))
    list += (list.empty() ? "" : "; ") + describe(buffers[i]);
  return list;
}

static size_t largestOf(const std::vector<LiveBuffer> &buffers, ArrayRef<size_t> chosen) {
  return *llvm::max_element(
      chosen, [&](size_t a, size_t b) { return buffers[a].bytes < buffers[b].bytes; });
}

/// How much smaller the tiles in the buffers of `peak` have to be.
static std::string adviseTiles(const std::vector<LiveBuffer> &buffers, const SharedPeak &peak,
                               uint64_t bytes, uint64_t limit) {
  AllocSharedOp alloc = buffers[largestOf(buffers, peak.buffers)].alloc;
  SharedType type = alloc.getType();
  SmallVector<int64_t> shape(type.getShape());
  uint64_t divisor = 1;
  for (; bytes > limit * divisor; divisor *= 2) {
    auto *dim = llvm::max_element(shape);
    *dim = std::max<int64_t>(1, *dim / 2);
  }
  bool isOne = peak.buffers.size() == 1;
  std::string tiles = isOne ? "the tile" : "each of these tiles";
  return (divisor == 2 ? "halve " + tiles : "divide " + tiles + " by " + std::to_string(divisor)) +
         (isOne ? ": the largest power of two that fits gives " : ": ") + describe(type, shape) +
         " in place of " + describe(type, type.getShape());
}

/// Names the buffers at the peak and the setting that fits.
static LogicalResult refuse(const std::vector<LiveBuffer> &buffers, const SharedPeak &peak,
                            uint64_t bytes, uint64_t limit) {
  AllocSharedOp alloc = buffers[largestOf(buffers, peak.buffers)].alloc;
  InFlightDiagnostic error = emitCoded(alloc, Code::SharedMemoryExceeded)
                             << "this kernel needs " << bytes
                             << " bytes of shared memory, but the target has " << limit;
  for (size_t i : peak.buffers) {
    AllocSharedOp other = buffers[i].alloc;
    if (other.getLoc() != alloc.getLoc())
      error.attachNote(other.getLoc()) << describe(buffers[i]);
  }
  std::string advice = "in use at once: " + describe(buffers, peak.buffers) + "; ";
  bool isPipelined =
      llvm::any_of(buffers, [](LiveBuffer buffer) { return buffer.alloc.getSlots().has_value(); });
  uint64_t least = leastUnpipelined(buffers);
  if (uint64_t stages = mostStages(buffers, limit))
    advice += "use num_stages=" + std::to_string(stages) + ", or ";
  else if (isPipelined && least <= limit)
    advice += "try num_stages=1, or ";
  if (!isPipelined || least <= limit) {
    advice += adviseTiles(buffers, peak, bytes, limit);
  } else {
    std::vector<LiveBuffer> fewest = withSlots(buffers, 1);
    SharedPeak lowest = findPeak(fewest);
    advice += "even num_stages=1 needs at least " + std::to_string(least) + " bytes, for " +
              describe(fewest, lowest.buffers) + "; " +
              adviseTiles(fewest, lowest, packedBytes(fewest), limit);
  }
  error.attachNote(alloc.getLoc()) << advice;
  return error;
}

//===-- The pass -----------------------------------------------------------------------------===//

static LogicalResult allocate(ModuleOp module, func::FuncOp kernel, uint64_t &bytes,
                              SmallVectorImpl<Attribute> &records) {
  std::vector<LiveBuffer> buffers = findLiveBuffers(kernel);
  tile::TargetAttr target = targetOf(module);
  uint64_t limit = target ? target.getSharedBytes() : UINT32_MAX;
  std::vector<uint64_t> offsets = packBuffers(buffers, keptApart(buffers));
  if (endOf(buffers, offsets) > limit)
    offsets = packBuffers(buffers, std::vector<bool>(buffers.size(), false));
  uint64_t used = endOf(buffers, offsets);
  Builder builder(module.getContext());
  for (auto [buffer, offset] : llvm::zip(buffers, offsets)) {
    buffer.alloc.setOffset(offset);
    records.push_back(
        builder.getArrayAttr({buffer.alloc.getNameAttr(), builder.getI64IntegerAttr(offset),
                              builder.getI64IntegerAttr(buffer.bytes)}));
  }
  SharedPeak peak = findPeak(buffers);
  if (used > limit)
    return refuse(buffers, peak, used, limit);
  if (!buffers.empty())
    emitCodedRemark(kernel, Code::SharedMemoryUse)
        << "shared memory: " << used << " bytes in " << buffers.size() << " buffers; at least "
        << peak.bytes << " are needed";
  bytes = std::max(bytes, used);
  return success();
}

namespace {
struct AllocateShared : tw::impl::AllocateSharedBase<AllocateShared> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    uint64_t bytes = 0;
    SmallVector<Attribute> records;
    module.walk([](SlotOp slot) {
      if (slot->use_empty())
        slot.erase();
    });
    module.walk([](AllocSharedOp alloc) {
      if (alloc->use_empty())
        alloc.erase();
    });
    for (auto kernel : module.getOps<func::FuncOp>())
      if (failed(allocate(module, kernel, bytes, records)))
        return signalPassFailure();
    Builder builder(module.getContext());
    module->setAttr(kSharedBytes, builder.getI64IntegerAttr(bytes));
    module->setAttr(kSharedBuffers, builder.getArrayAttr(records));
  }
};
} // namespace
