// The pass `divide-buffers`: what does not fit in shared memory as a whole goes through it in
// rounds, and so does what alone makes a kernel take more of it than its loops do.
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/shared/Halves.h"

namespace tw {
#define GEN_PASS_DEF_DIVIDEBUFFERS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

namespace {
/// A tile's way through a buffer of its own: one store, and one load behind it.
struct Passage {
  AllocSharedOp buffer;
  StoreSharedOp store;
  LoadSharedOp load;
  Halves halves;
};
} // namespace

static std::optional<Passage> findPassage(AllocSharedOp buffer) {
  if (buffer.getSlots() || !llvm::hasNItems(buffer->getUsers(), 2))
    return std::nullopt;
  StoreSharedOp store;
  LoadSharedOp load;
  for (Operation *user : buffer->getUsers()) {
    store = isa<StoreSharedOp>(user) ? cast<StoreSharedOp>(user) : store;
    load = isa<LoadSharedOp>(user) ? cast<LoadSharedOp>(user) : load;
  }
  bool isPassage = store && load && store->getBlock() == load->getBlock() &&
                   store->isBeforeInBlock(load) && hasLayout(store.getValue().getType());
  if (!isPassage)
    return std::nullopt;
  std::optional<Halves> halves =
      halvesBySource(layoutOf(store.getValue().getType()), layoutOf(load.getType()));
  return halves ? std::optional(Passage{buffer, store, load, *halves}) : std::nullopt;
}

/// The tile goes in two rounds, where it was stored: through two buffers that take the same place.
static void divide(Staging &staging, Passage passage) {
  staging.builder.setInsertionPoint(passage.store);
  staging.loc = passage.buffer.getLoc();
  Type type = passage.load.getType(), half = passage.halves.halfType(type);
  auto move = [&](Value part) {
    Value buffer =
        staging.allocate(elementTypeOf(type), staging.buffers.ofConversion(part.getType(), half),
                         passage.buffer.getName());
    StoreSharedOp::create(staging.builder, staging.loc, part, buffer);
    return LoadSharedOp::create(staging.builder, staging.loc, half, buffer);
  };
  auto [first, second] = passage.halves.split(staging, passage.store.getValue());
  Value firstMoved = move(first), secondMoved = move(second);
  passage.load.replaceAllUsesWith(passage.halves.join(staging, firstMoved, secondMoved, type));
  passage.load.erase();
  passage.store.erase();
  passage.buffer.erase();
}

static bool hasLoop(Operation *op) {
  return op
      ->walk([=](LoopLikeOpInterface loop) {
        return loop == op ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Returns true if an innermost loop uses the buffer. One around it, as over the tiles of a
/// persistent kernel, runs as often as what stands behind the inner one.
static bool isOfLoop(AllocSharedOp buffer) {
  return llvm::any_of(buffer->getUsers(), [](Operation *user) {
    auto loop = user->getParentOfType<LoopLikeOpInterface>();
    return loop && !hasLoop(loop);
  });
}

/// Returns how many bytes a kernel should take. A processor that holds few warps, because programs
/// share its memory, hides few of the loops' waits: what is behind a loop takes no more than it
/// then.
static uint64_t bytesWanted(Operation *kernel, TargetAttr target) {
  constexpr uint64_t mostRounds = 4;
  // Four for each of a processor's four schedulers.
  constexpr uint64_t enoughWarps = 4 * 4;
  std::vector<LiveBuffer> buffers = findLiveBuffers(kernel);
  uint64_t bytes = packedBytes(buffers), most = target.getSharedBytes();
  if (bytes == 0 || bytes > most ||
      most / bytes * (threadsOf(kernel).count() / target.getWarpSize()) >= enoughWarps)
    return most;
  llvm::erase_if(buffers, [](LiveBuffer &buffer) { return !isOfLoop(buffer.alloc); });
  return buffers.empty() ? most : std::max(packedBytes(buffers), bytes / mostRounds);
}

/// Divides the largest of the buffers that hold data when most do, until all fit. False where they
/// never do. Passages of loops stay whole if these `keepsLoops`.
static bool fitInRounds(Staging &staging, Operation *kernel, uint64_t limit, bool keepsLoops) {
  while (true) {
    std::vector<LiveBuffer> buffers = findLiveBuffers(kernel);
    if (packedBytes(buffers) <= limit)
      return true;
    std::optional<Passage> largest;
    for (size_t i : findPeak(buffers).buffers)
      if ((!keepsLoops || !isOfLoop(buffers[i].alloc)) &&
          (!largest || bytesOf(buffers[i].alloc) > bytesOf(largest->buffer)))
        if (std::optional<Passage> passage = findPassage(buffers[i].alloc))
          largest = passage;
    if (!largest)
      return false;
    divide(staging, *largest);
  }
}

namespace {
struct DivideBuffers : tw::impl::DivideBuffersBase<DivideBuffers> {
  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    Staging staging(getOperation());
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      uint64_t bytes = packedBytes(findLiveBuffers(kernel)), limit = bytesWanted(kernel, target);
      if (bytes <= limit)
        continue;
      // What never fits stays whole: the error names the tiles that the user wrote. The copy is
      // of the module, whose attributes say what loaders copy.
      OwningOpRef<ModuleOp> copy = getOperation().clone();
      auto divided = copy->lookupSymbol<func::FuncOp>(kernel.getName());
      bool keepsLoops = bytes <= target.getSharedBytes();
      if (fitInRounds(staging, divided, limit, keepsLoops))
        kernel.getBody().takeBody(divided.getBody());
    }
  }
};
} // namespace
