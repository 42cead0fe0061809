// The pass `coalesce-accesses`: loads, stores and atomics of tiles get the layout in which each
// lane accesses most bytes at once and the lanes of a warp cover whole lines; conversions lead
// there and back.
#include "ir/target/TargetDesc.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/simt/Coalescing.h"
#include "passes/simt/LayoutRules.h"
#include <map>
#include <set>

namespace tw {
#define GEN_PASS_DEF_COALESCEACCESSES
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The widest access of a lane, for targets that do not say.
static constexpr unsigned kVectorBits = 128;
/// Of accesses that share a layout, the narrowest elements decide up to this: then the widest take
/// two accesses each, and every lane still fills whole sectors of 32 bytes.
static constexpr int64_t kMaxBytesPerLane = 32;
/// What memory delivers at once to a warp.
static constexpr int64_t kLineBytes = 128;

namespace {
struct Access {
  Operation *op;
  Value ptr, mask;
  AccessShape shape;
  int64_t bytes;  // of an element
  int64_t vector; // neighbours that one lane can access at once
  bool isOperand; // a load that feeds matrix instructions
};

/// Accesses of one function to tiles of one shape along the same dimensions: values flow between
/// them without conversions when they share a layout. Operands of matrix instructions need another
/// layout anyway: they are grouped by the bytes of an element, which are 0 here for the rest.
struct Group {
  std::vector<int64_t> shape;
  std::vector<int32_t> order;
  int64_t operandBytes;
  auto operator<=>(const Group &) const = default;
};
struct GroupSpread {
  int64_t vector = 1; // elements that a lane holds side by side
  int64_t bytes = 1;  // of the widest elements
};
} // namespace

static Value maskOf(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getMask();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getMask();
  if (auto atomic = dyn_cast<tile::AtomicRmwOp>(op))
    return atomic.getMask();
  return {};
}

static bool isAtomic(Operation *op) { return isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op); }

static std::vector<Access> accessesOf(FunctionOpInterface function, unsigned vectorBits) {
  Alignment alignment(function);
  std::vector<Access> accesses;
  function->walk([&](Operation *op) {
    if (!isa<tile::LoadOp, tile::StoreOp>(op) && !isAtomic(op))
      return;
    Value ptr = op->getOperand(0);
    if (!hasLayout(ptr.getType()))
      return;
    Access access{op,
                  ptr,
                  maskOf(op),
                  accessShape(alignment, ptr, maskOf(op)),
                  pointeeBytes(ptr.getType()),
                  1,
                  isa<tile::LoadOp>(op) && feedsMma(op->getResult(0))};
    int64_t widest = std::max<int64_t>(1, vectorBits / 8 / access.bytes);
    // Atomics are made element by element.
    if (!isAtomic(op))
      access.vector = std::min(widest, access.shape.vector());
    accesses.push_back(std::move(access));
  });
  return accesses;
}

static Group groupOf(const Access &access) {
  ArrayRef<int64_t> shape = tile::shapeOf(access.ptr.getType());
  ArrayRef<int32_t> order = access.shape.order;
  return {shape.vec(), order.vec(), access.isOperand ? access.bytes : 0};
}

static std::map<Group, GroupSpread> spreadsOf(ArrayRef<Access> accesses, Threads threads,
                                              bool hasProducts) {
  std::map<Group, GroupSpread> spreads;
  for (const Access &access : accesses) {
    GroupSpread &spread = spreads[groupOf(access)];
    spread.vector = std::max(spread.vector, access.vector);
    spread.bytes = std::max(spread.bytes, access.bytes);
  }
  for (auto &[group, spread] : spreads) {
    int64_t numElements = 1;
    for (int64_t extent : group.shape)
      numElements *= extent;
    // Beside matrix products, fewer and wider accesses of some threads are worth more than a share
    // for each: tiles pass through shared memory, where the accesses' layout ends.
    int64_t each = hasProducts ? numElements : std::max<int64_t>(1, numElements / threads.count());
    int64_t widest = std::max<int64_t>(1, kMaxBytesPerLane / spread.bytes);
    spread.vector = std::min({spread.vector, each, widest});
  }
  return spreads;
}

/// The function's argument that an address is computed from; null when it comes from elsewhere.
static BlockArgument baseOf(Value ptr) {
  while (Operation *op = ptr.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return {};
    ptr = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(ptr);
  return isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) ? argument : BlockArgument();
}

static std::string nameOf(BlockArgument argument) {
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kArgName);
  return name ? ("`" + name.getValue() + "`").str() : std::to_string(argument.getArgNumber());
}

/// Says why lanes access less at once than the target could, where the tile is large enough.
static void explain(const Access &access, unsigned vectorBits, int64_t possible) {
  int64_t widest = std::min<int64_t>(possible, vectorBits / 8 / access.bytes);
  if (access.vector >= widest || isAtomic(access.op))
    return;
  InFlightDiagnostic remark = access.op->emitRemark("[TW0350] accesses of ")
                              << access.vector * access.bytes << " bytes instead of "
                              << widest * access.bytes << ": ";
  if (access.shape.run < widest) {
    if (access.shape.run == 1)
      remark << "the addresses of neighbours are not known to be consecutive";
    else
      remark << "only " << access.shape.run << " neighbours have consecutive addresses";
  } else if (access.shape.aligned < widest) {
    remark << "the addresses are only known to be divisible by "
           << access.shape.aligned * access.bytes;
    BlockArgument base = baseOf(access.ptr);
    auto function = base ? cast<FunctionOpInterface>(base.getOwner()->getParentOp()) : nullptr;
    auto known =
        base ? function.getArgAttrOfType<IntegerAttr>(base.getArgNumber(), tile::kArgDivisibility)
             : nullptr;
    if (base && (!known || known.getInt() < widest * access.bytes))
      remark << "; argument " << nameOf(base) << " is not known to be divisible by "
             << widest * access.bytes;
    else
      remark << "; an offset or a stride is not known to be divisible by " << widest;
  } else {
    remark << "the mask is only known to be the same for " << access.shape.masked
           << (access.shape.masked == 1 ? " element" : " neighbours");
  }
}

static void convertAccess(Operation *op, const LinearLayout &layout) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!hasLayout(operand.get().getType()) || layoutOf(operand.get().getType()) == layout)
      continue;
    operand.set(ConvertLayoutOp::create(
        builder, op->getLoc(), withLayout(operand.get().getType(), layout), operand.get()));
  }
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    Type before = result.getType();
    if (layoutOf(before) == layout)
      continue;
    result.setType(withLayout(before, layout));
    auto back = ConvertLayoutOp::create(builder, op->getLoc(), before, result);
    result.replaceAllUsesExcept(back, back);
  }
}

/// The dimension along which tiles of each shape are folded, where there is one answer. Scans go
/// first: reductions can cross warps at little cost.
static std::map<std::vector<int64_t>, unsigned> foldedAxes(FunctionOpInterface function) {
  std::map<std::vector<int64_t>, std::set<unsigned>> reduced, scanned;
  function->walk([&](Operation *op) {
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      reduced[tile::shapeOf(reduce.getSources().front().getType()).vec()].insert(reduce.getAxis());
    if (auto scan = dyn_cast<tile::ScanOp>(op))
      scanned[tile::shapeOf(scan.getSources().front().getType()).vec()].insert(scan.getAxis());
  });
  std::map<std::vector<int64_t>, unsigned> axes;
  for (const auto &each : {scanned, reduced})
    for (const auto &[shape, candidates] : each)
      if (candidates.size() == 1)
        axes.try_emplace(shape, *candidates.begin());
  return axes;
}

static void coalesce(FunctionOpInterface function, Threads threads, unsigned vectorBits) {
  std::vector<Access> accesses = accessesOf(function, vectorBits);
  std::map<Group, GroupSpread> spreads = spreadsOf(accesses, threads, containsProduct(function));
  std::map<std::vector<int64_t>, unsigned> axes = foldedAxes(function);
  for (const Access &access : accesses) {
    Group group = groupOf(access);
    const std::vector<int64_t> &shape = group.shape;
    const GroupSpread &chosen = spreads[group];
    AccessSpread spread{group.order, unsigned(chosen.vector),
                        unsigned(std::max<int64_t>(1, kLineBytes / (chosen.vector * chosen.bytes))),
                        std::nullopt};
    if (auto axis = axes.find(shape); axis != axes.end())
      spread.axis = axis->second;
    convertAccess(access.op, accessLayout(shape, spread, threads));
    int64_t each = tile::numElementsOf(access.ptr.getType()) / threads.count();
    explain(access, vectorBits, std::min(each, *llvm::max_element(shape)));
  }
}

namespace {
struct CoalesceAccesses : tw::impl::CoalesceAccessesBase<CoalesceAccesses> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    tile::TargetAttr target = targetOf(module);
    unsigned vectorBits = target ? target.getVectorBits() : kVectorBits;
    for (auto function : module.getOps<FunctionOpInterface>())
      if (!function.isExternal())
        coalesce(function, threadsOf(module), vectorBits);
  }
};
} // namespace
