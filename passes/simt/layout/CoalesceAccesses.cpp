// The pass `coalesce-accesses`: loads, stores and atomics of tiles get the layout in which each
// lane accesses most bytes at once and the lanes of a warp cover whole lines; conversions lead
// there and back.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Fragment.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/layout/BufferChoice.h"
#include "passes/simt/layout/Coalescing.h"
#include "runtime/codes/Codes.h"
#include <map>
#include <set>

namespace tw {
#define GEN_PASS_DEF_COALESCEACCESSES
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The most accesses that a lane may need for the widest elements of accesses that share a layout;
/// up to this limit, the narrowest elements decide.
static constexpr int64_t kMostAccessesOfLane = 2;

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

static std::vector<Access> accessesOf(FunctionOpInterface function, int64_t vectorBytes) {
  IndexFacts facts(function);
  std::vector<Access> accesses;
  function->walk([&](tile::MemoryAccess op) {
    Value ptr = op.getPointers(), mask = op.getAccessMask();
    if (!hasLayout(ptr.getType()))
      return;
    Access access{op,
                  ptr,
                  mask,
                  accessShape(facts, ptr, mask),
                  pointeeBytes(ptr.getType()),
                  1,
                  isa<tile::LoadOp>(op) && feedsMma(op->getResult(0))};
    int64_t widest = std::max<int64_t>(1, vectorBytes / access.bytes);
    // Atomics are made element by element.
    if (!op.isAtomic())
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
                                              int64_t vectorBytes, bool hasProducts) {
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
    int64_t widest = std::max<int64_t>(1, kMostAccessesOfLane * vectorBytes / spread.bytes);
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
static void explain(const Access &access, int64_t vectorBytes, int64_t possible) {
  int64_t widest = std::min<int64_t>(possible, vectorBytes / access.bytes);
  if (access.vector >= widest || cast<tile::MemoryAccess>(access.op).isAtomic())
    return;
  InFlightDiagnostic remark = emitCodedRemark(access.op, Code::NarrowAccess)
                              << "accesses of " << access.vector * access.bytes
                              << " bytes instead of " << widest * access.bytes << ": ";
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

/// Returns true if matrix reads from shared memory transpose an operand's elements.
static bool isTurnedByReads(MatrixReads matrices, const Access &access, Type used) {
  return areColumns(matrices) && canTurn(matrices, access.bytes) && !isa<FloatTF32Type>(used) &&
         tile::registerBits(used) == 8 * access.bytes;
}

/// Operands whose other dimension is the consecutive one are turned in registers on their way to
/// shared memory where no other way turns them: so a thread loads neighbours along K. The lanes
/// next to those that load a sector follow along K, too: they write to other banks than these.
static LinearLayout withDepthInRegisters(const Access &access, const LinearLayout &layout,
                                         int64_t lanesOfSector, MatrixReads matrices) {
  if (!access.isOperand)
    return layout;
  std::optional<OperandDepth> depth = depthOfOperand(access.op->getResult(0));
  if (!depth || int32_t(depth->dim) == access.shape.order.front() ||
      isTurnedByReads(matrices, access, depth->element))
    return layout;
  return withNeighboursAlong(layout, depth->dim, unsigned(std::max<int64_t>(1, lanesOfSector)));
}

/// Where the machine's copies put lane after lane, the lanes of a loop's operand follow its buffer:
/// what changes places there does so in global memory instead, within lines.
static LinearLayout inBufferOrder(const Access &access, const LinearLayout &layout,
                                  tile::TargetAttr target, const Threads &threads) {
  tile::CopyAttr copy = packedCopyOf(target);
  auto load = dyn_cast<tile::LoadOp>(access.op);
  if (!copy || !access.isOperand || !load || !isa<scf::ForOp>(load->getParentOp()) ||
      !llvm::is_contained(copy.getBytes(), access.vector * access.bytes))
    return layout;
  BufferChoice buffers(load->getParentOfType<ModuleOp>());
  buffers.copies = true;
  LinearLayout buffer = buffers.ofCopy(withLayout(load.getType(), layout), readTypesOf(load));
  std::optional<LinearLayout> packed =
      packedLayout(buffer, unsigned(access.shape.order.front()), unsigned(access.vector),
                   threads.lanes, threads.warps);
  return packed.value_or(layout);
}

static void coalesce(FunctionOpInterface function, Threads threads, const Machine &machine) {
  int64_t vectorBytes = machine.vectorBytes, lineBytes = machine.lineBytes;
  std::vector<Access> accesses = accessesOf(function, vectorBytes);
  std::map<Group, GroupSpread> spreads =
      spreadsOf(accesses, threads, vectorBytes, containsProduct(function));
  std::map<std::vector<int64_t>, unsigned> axes = foldedAxes(function);
  tile::TargetAttr target = targetOf(function);
  MatrixReads matrices = matrixReadsOf(target);
  bool turnsInRegisters = target && matrices != MatrixReads::Words;
  for (const Access &access : accesses) {
    Group group = groupOf(access);
    const std::vector<int64_t> &shape = group.shape;
    const GroupSpread &chosen = spreads[group];
    AccessSpread spread{group.order, unsigned(chosen.vector),
                        unsigned(std::max<int64_t>(1, lineBytes / (chosen.vector * chosen.bytes))),
                        std::nullopt};
    if (auto axis = axes.find(shape); axis != axes.end())
      spread.axis = axis->second;
    LinearLayout layout = accessLayout(shape, spread, threads);
    LinearLayout plain = layout;
    if (turnsInRegisters)
      layout = withDepthInRegisters(access, layout,
                                    machine.sectorBytes / (chosen.vector * chosen.bytes), matrices);
    if (layout == plain)
      layout = inBufferOrder(access, layout, target, threads);
    convertAccess(access.op, layout);
    int64_t each = tile::numElementsOf(access.ptr.getType()) / threads.count();
    explain(access, vectorBytes, std::min(each, *llvm::max_element(shape)));
  }
}

namespace {
struct CoalesceAccesses : tw::impl::CoalesceAccessesBase<CoalesceAccesses> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<FunctionOpInterface>())
      if (!function.isExternal())
        coalesce(function, threadsOf(module), machineOf(module));
  }
};
} // namespace
