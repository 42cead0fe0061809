// Large tiles go through shared memory in parts, one after the other through the same bytes: halves
// that every thread has in different registers, before and after.
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/shared/Halves.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// Smaller tiles go whole: each part costs two barriers.
static constexpr uint64_t kWholeBytes = 32 << 10;

/// The most that the slots of one loop occupy. Tiles that go through shared memory before or after
/// the loop take the same place, where they are not larger.
static uint64_t bytesOfLargestPipeline(ModuleOp module) {
  llvm::DenseMap<Operation *, uint64_t> ofLoops;
  uint64_t largest = 0;
  module.walk([&](AllocSharedOp alloc) {
    Operation *loop = alloc;
    while (loop && !isa<scf::ForOp>(loop))
      loop = loop->getNextNode();
    if (alloc.getSlots() && loop)
      largest = std::max(largest, ofLoops[loop] += bytesOf(alloc));
  });
  return largest;
}

Value Staging::inParts(Value tile, Type type, StringRef purpose) {
  unsigned bytes = elementBytes(elementTypeOf(type));
  std::optional<Halves> halves;
  if (uint64_t(numElementsOf(type)) * bytes > mostBytesOfPart)
    halves = halvesByRegisters(layoutOf(tile.getType()), layoutOf(type));
  if (!halves)
    return throughShared(tile, type, purpose);
  auto [first, second] = halves->split(*this, tile);
  Type half = halves->halfType(type);
  first = inParts(first, half, purpose);
  second = inParts(second, half, purpose);
  return halves->join(*this, first, second, type);
}

uint64_t tw::simt::mostBytesOfPart(ModuleOp module) {
  // Half of the memory is for others, whatever loops take.
  TargetAttr target = targetOf(module);
  uint64_t most = target ? target.getSharedBytes() / 2 : UINT64_MAX;
  return std::max(kWholeBytes, std::min(most, bytesOfLargestPipeline(module)));
}
