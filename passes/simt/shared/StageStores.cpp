// Stores that a machine does by itself, box by box of an array, for stage-through-shared: tiles go
// to shared memory, and one thread has them copied on.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/shared/Staging.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::AtomicKind;
using tile::MemoryAccess;

/// Smaller tiles are written by threads: a box costs two barriers.
static constexpr uint64_t kFewestBytes = 4 << 10;

static void emitRefusal(Operation *store, StringRef obstacle) {
  emitCodedRemark(store, Code::BoxCopies)
      << "threads store this tile, in place of a copy to a box: " << obstacle;
}

namespace {
/// A store of a box.
struct StoredBox {
  MemoryAccess store;
  Value tile; // as it was computed: before it is transposed, and in another layout
  OperandSlabs slabs;
  BoxPlace place;

  void takeWhole();
  LinearLayout buffer() const { return bufferOf(slabs, tile::shapeOf(tile.getType())); }
};

/// Finds the stores of boxes of one kernel.
struct StoreFinder {
  StoreFinder(const Staging &staging, func::FuncOp kernel, unsigned spanBytes)
      : staging(staging), kernel(kernel), spanBytes(spanBytes), facts(kernel) {}

  SmallVector<StoredBox> find();
  bool isCandidate(Operation *op) const;
  std::optional<StoredBox> boxOf(MemoryAccess store);
  StringRef refuse(MemoryAccess store);
  bool isAnywhere(function_ref<bool(Operation *)> isCounted);
  bool isAccessed(MemoryAccess store, bool before, function_ref<bool(Operation *)> isCounted);

  const Staging &staging;
  func::FuncOp kernel;
  unsigned spanBytes; // at most, of a row of a slab
  IndexFacts facts;
  llvm::SmallPtrSet<Operation *, 4> boxes; // as which these stores are still taken
};
} // namespace

//===-- Which stores -------------------------------------------------------------------------===//

/// Returns true if a machine can combine elements of boxes in memory as the atomic does: sums.
/// Nobody may use the old elements.
static bool isSum(tile::AtomicRmwOp atomic) {
  Type element = tile::elementTypeOf(atomic.getValue().getType());
  bool isOfIntegers = atomic.getKind() == AtomicKind::Add && element.isInteger(32);
  bool isOfFloats = atomic.getKind() == AtomicKind::FAdd &&
                    (element.isF32() || element.isF16() || element.isBF16());
  return (isOfIntegers || isOfFloats) && atomic->use_empty() &&
         atomic.getScope() != tile::MemoryScope::System;
}

/// Returns the conversion of a stored tile, which may be transposed behind it; null without one.
static ConvertLayoutOp conversionOf(Value value) {
  while (auto transposed = value.getDefiningOp<tile::TransOp>())
    value = transposed.getSource();
  return value.getDefiningOp<ConvertLayoutOp>();
}

/// Returns true for a store before which threads would exchange the tile, and for an atomic whose
/// elements they would add one by one.
bool StoreFinder::isCandidate(Operation *op) const {
  auto store = dyn_cast<tile::StoreOp>(op);
  auto atomic = dyn_cast<tile::AtomicRmwOp>(op);
  bool isStore = store && store.getCache() == tile::CacheModifier::None;
  if (!isStore && !(atomic && isSum(atomic)))
    return false;
  Value value = cast<MemoryAccess>(op).getWrittenValue();
  uint64_t bytes = tile::elementBytes(tile::elementTypeOf(value.getType()));
  if (!hasLayout(value.getType()) || tile::numElementsOf(value.getType()) * bytes < kFewestBytes)
    return false;
  ConvertLayoutOp conversion = conversionOf(value);
  return atomic || (conversion && staging.buffers.prefersShared(conversion.getSource().getType(),
                                                                conversion.getType()));
}

/// Returns true if an operation makes others see what the program wrote before, or it what they
/// wrote.
static bool publishes(Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  return mayOrder(op) ||
         (access && access.isAtomic() && access.getAtomicOrder() != tile::MemoryOrder::Relaxed);
}

bool StoreFinder::isAnywhere(function_ref<bool(Operation *)> isCounted) {
  return kernel
      ->walk([&](Operation *op) {
        return isCounted(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true if a counted operation may be executed before a store, or after it.
bool StoreFinder::isAccessed(MemoryAccess store, bool before,
                             function_ref<bool(Operation *)> isCounted) {
  Operation *own = store;
  return isAnywhere([&](Operation *op) {
    bool isOrdered =
        op != own && op != kernel && (before ? mayFollow(own, op) : mayFollow(op, own));
    return isOrdered && isCounted(op);
  });
}

static bool mayMeet(MemoryAccess store, Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  return access && mayAlias(store.getPointers(), access.getPointers());
}

/// Returns why the machine cannot do a store beside the program, whose threads do not wait for it.
StringRef StoreFinder::refuse(MemoryAccess store) {
  auto isMissed = [&](Operation *op) {
    return publishes(op) || (mayMeet(store, op) && !boxes.contains(op));
  };
  if (isAccessed(store, /*before=*/false, isMissed))
    return "the kernel may access what is stored afterwards, or tell others that it is there";
  // Threads of other programs may add to the same elements, which does not wait for boxes.
  auto isOther = [&](Operation *op) {
    return op != store.getOperation() && !boxes.contains(op) && mayMeet(store, op);
  };
  if (isa<tile::AtomicRmwOp>(store.getOperation()) && isAnywhere(isOther))
    return "the kernel accesses what it adds to by threads, too";
  auto isWrite = [](Operation *op) {
    auto access = dyn_cast<MemoryAccess>(op);
    return access && access.writesMemory();
  };
  if (publishes(store) && isAccessed(store, /*before=*/true, isWrite))
    return "the atomic makes others see what the kernel wrote before";
  return "";
}

/// Returns true if rows of so many columns are known to overlap in memory.
static bool haveRowsInCommon(const BoxPlace &place, int64_t numColumns) {
  LaunchProductAttr stride = place.map.getStrides().front();
  return stride.getArguments().empty() && stride.getFactor() < numColumns;
}

/// Copies all slabs at once where no row ends within the tile: beyond, elements of the next row
/// would be written.
void StoredBox::takeWhole() {
  ArrayRef<int64_t> shape = tile::shapeOf(tile.getType());
  TensorMapAttr whole = mapOfSlabs(place.map, slabs.numSlabsOf(shape), shape[1 - slabs.dim]);
  if (!whole || !place.hasWholeRows)
    return;
  place.map = whole;
  place.coordinates.insert(place.coordinates.begin() + 2, Polynomial()); // the first slab
  place.hasExtent.insert(place.hasExtent.begin() + 2, true);
}

/// Returns the store as that of a box; none where it is not, with a remark.
std::optional<StoredBox> StoreFinder::boxOf(MemoryAccess store) {
  Value value = store.getWrittenValue();
  ConvertLayoutOp conversion = conversionOf(value);
  Type element = tile::elementTypeOf(value.getType());
  ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
  unsigned bytes = tile::elementBytes(element);
  StringRef obstacle = "its tile does not have two dimensions, of 8 rows of 16 bytes at least";
  if (uint64_t(tile::numElementsOf(value.getType())) * bytes > staging.mostBytesOfPart)
    obstacle = "its tile does not fit in shared memory at once";
  else if (element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0)
    for (unsigned dim : {0, 1})
      if (std::optional<OperandSlabs> slabs = slabsFor(shape, dim, bytes, spanBytes)) {
        std::optional<BoxPlace> place = boxOfStore(facts, store, *slabs, obstacle);
        if (!place)
          continue;
        if (haveRowsInCommon(*place, shape[dim])) {
          obstacle = "rows of its tile have elements in common";
          continue;
        }
        StoredBox box{store, value, *slabs, *place};
        while (auto transposed = box.tile.getDefiningOp<tile::TransOp>()) {
          box.slabs.dim = transposed.getOrder()[box.slabs.dim];
          box.tile = transposed.getSource();
        }
        box.takeWhole();
        if (!conversion)
          return box;
        box.tile = conversion.getSource();
        double cost = staging.buffers.costOfWrites(box.buffer(), box.tile.getType());
        if (cost <= staging.buffers.costOfConversion(box.tile.getType(), conversion.getType()))
          return box;
        obstacle = "shared memory would take longer to take it as boxes lie there";
      }
  emitRefusal(store, obstacle);
  return std::nullopt;
}

SmallVector<StoredBox> StoreFinder::find() {
  SmallVector<StoredBox> found;
  kernel->walk([&](Operation *op) {
    if (!isCandidate(op))
      return;
    if (std::optional<StoredBox> box = boxOf(cast<MemoryAccess>(op))) {
      found.push_back(*box);
      boxes.insert(op);
    }
  });
  // One that is refused may be what keeps another from being taken.
  auto isRefused = [&](StoredBox &box) {
    StringRef obstacle = refuse(box.store);
    if (obstacle.empty())
      return false;
    emitRefusal(box.store, obstacle);
    boxes.erase(box.store);
    return true;
  };
  for (size_t before = 0; before != found.size();) {
    before = found.size();
    llvm::erase_if(found, isRefused);
  }
  return found;
}

//===-- Their code ---------------------------------------------------------------------------===//

/// Stores a tile as a box. `ordered`: behind earlier boxes. `isFenced`: behind threads' accesses.
static void storeBox(Staging &staging, const StoredBox &box, bool isOrdered, bool isFenced) {
  MemoryAccess access = box.store;
  Operation *store = access;
  OpBuilder &b = staging.builder;
  b.setInsertionPoint(store);
  staging.loc = store->getLoc();
  auto atomic = dyn_cast<tile::AtomicRmwOp>(store);
  Value buffer =
      staging.store(box.tile, box.buffer(), atomic ? "operand of atomic" : "tile of store");
  FenceAsyncOp::create(b, staging.loc, isFenced);
  SmallVector<Value> coordinates;
  for (const Polynomial &coordinate : box.place.coordinates)
    coordinates.push_back(emitCoordinate(b, staging.loc, coordinate));
  tile::AtomicKindAttr kind;
  if (atomic)
    kind = tile::AtomicKindAttr::get(b.getContext(), atomic.getKind());
  BoxStoreOp::create(b, staging.loc,
                     addTensorMap(store->getParentOfType<ModuleOp>(), box.place.map), coordinates,
                     buffer, kind, isOrdered);
  Value value = access.getWrittenValue();
  store->erase();
  // These would be staged otherwise, although nobody uses them.
  while (Operation *op = value.getDefiningOp()) {
    if (!op->use_empty() || !isa<ConvertLayoutOp, tile::TransOp>(op))
      break;
    value = op->getOperand(0);
    op->erase();
  }
}

void tw::simt::stageStores(Staging &staging, func::FuncOp kernel, tile::CopyAttr copy) {
  StoreFinder finder(staging, kernel, copy.getBytes().back());
  SmallVector<StoredBox> boxes = finder.find();
  SmallVector<std::pair<bool, bool>> orders;
  for (StoredBox &box : boxes) {
    auto isBox = [&](Operation *op) { return finder.boxes.contains(op) && mayMeet(box.store, op); };
    auto isOther = [&](Operation *op) {
      return mayOrder(op) || (!finder.boxes.contains(op) && mayMeet(box.store, op));
    };
    bool isRepeated = box.store->getParentOfType<LoopLikeOpInterface>() != nullptr;
    orders.push_back({isRepeated || finder.isAccessed(box.store, /*before=*/true, isBox),
                      finder.isAccessed(box.store, /*before=*/true, isOther)});
  }
  for (auto [box, order] : llvm::zip(boxes, orders))
    storeBox(staging, box, order.first, order.second);
}
