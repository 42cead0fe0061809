// Moves tiles through shared buffers and chooses the layouts that they are moved to, for
// stage-through-shared.
#include "passes/simt/shared/SharedStaging.h"
#include "ir/Diagnostic.h"
#include "ir/layout/CopyBuffers.h"
#include "ir/layout/MatrixAccess.h"
#include "ir/target/TargetDesc.h"
#include "passes/simt/shared/LaneExchange.h"
#include <vector>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

Staging::Staging(ModuleOp module)
    : builder(module.getContext()), loc(module.getLoc()), machine(machineOf(module)),
      loadsMatrices(hasFeature(targetOf(module), kLoadMatrix)) {
  if (auto warps = module->getAttrOfType<IntegerAttr>(kNumWarps))
    numWarps = warps.getInt();
}

//===-- Buffers ------------------------------------------------------------------------------===//

static std::string bufferName(Location loc, StringRef purpose) {
  SourceSpan span = spanOf(loc);
  return span.isKnown() ? (purpose + " at line " + Twine(span.line)).str() : purpose.str();
}

Value Staging::store(Value value, const LinearLayout &layout, StringRef purpose,
                     SmallPtrSetImpl<Operation *> *stores) {
  Type element = elementTypeOf(value.getType());
  auto type = SharedType::get(builder.getContext(), layout.shape(), element,
                              LayoutAttr::get(builder.getContext(), layout));
  Value buffer =
      AllocSharedOp::create(builder, loc, type, bufferName(loc, purpose), /*offset=*/nullptr,
                            /*slots=*/nullptr);
  Operation *store = StoreSharedOp::create(builder, loc, value, buffer);
  if (stores)
    stores->insert(store);
  return buffer;
}

LinearLayout Staging::conversionLayout(Type from, Type to) const {
  if (!hasLayout(from))
    return sharedLayout({1}, {0});
  unsigned bytes = elementBytes(elementTypeOf(from));
  if (loadsMatrices)
    if (std::optional<LinearLayout> matrices =
            matrixBuffer(layoutOf(from), layoutOf(to), bytes, machine.banks))
      return *matrices;
  return conflictFreeLayout(layoutOf(from), layoutOf(to), bytes, machine.banks);
}

/// What a warp pays for reading a tile from a buffer: the transfers of its accesses, and their
/// issue.
static double readCost(const LinearLayout &registers, const LinearLayout &buffer, unsigned bytes,
                       SharedBanks banks, bool loadsMatrices) {
  if (loadsMatrices)
    if (std::optional<MatrixAccess> access = matrixAccess(registers, buffer, bytes)) {
      unsigned rowBits = llvm::Log2_32(kMatrixRowBytes / bytes);
      LinearLayout::Bases row(access->rows.bases(Place::Register).take_front(rowBits));
      double conflicts =
          bankConflicts(access->rows.withPlace(Place::Register, row), buffer, bytes, banks);
      double matrices = registers.size(Place::Register) * bytes / double(banks.wordBytes);
      return matrices * (conflicts + 1.0 / access->numMatrices);
    }
  unsigned vector = sharedAccess(registers, buffer, std::max(1u, banks.accessBytes / bytes)).vector;
  double transfers =
      std::max(1u, registers.size(Place::Lane) * vector * bytes / banks.transferBytes());
  return registers.size(Place::Register) / vector *
         (transfers * bankConflicts(registers, buffer, bytes, banks) + 1);
}

/// Where readers disagree: the pieces of rows that no exchange reaches yet, one access of a lane
/// each, change places as well, if that helps.
static LinearLayout withMoreExchanges(LinearLayout buffer, unsigned bytes, SharedBanks banks,
                                      function_ref<double(const LinearLayout &)> costOf) {
  unsigned first = llvm::Log2_32(std::max(1u, banks.accessBytes / bytes));
  unsigned last = llvm::Log2_32(banks.transferBytes() / bytes);
  // As many rows as there are places in a transfer.
  unsigned end = std::min(2 * last - first, buffer.numBits(Place::Offset));
  for (unsigned bit = last; bit < end; ++bit) {
    LinearLayout::Bases offsets(buffer.bases(Place::Offset));
    uint32_t row = offsets[bit];
    LinearLayout best = buffer;
    for (unsigned pieces = 1; pieces < 1u << (last - first); ++pieces) {
      offsets[bit] = row;
      for (unsigned piece = 0; piece < last - first; ++piece)
        offsets[bit] ^= pieces >> piece & 1 ? buffer.bases(Place::Offset)[first + piece] : 0;
      LinearLayout changed = buffer.withPlace(Place::Offset, offsets);
      if (costOf(changed) < costOf(best))
        best = changed;
    }
    buffer = best;
  }
  return buffer;
}

LinearLayout Staging::bufferLayout(Type from, ArrayRef<Type> to) const {
  unsigned bytes = elementBytes(elementTypeOf(from));
  // Only the first registers are neighbours in global memory.
  unsigned numBits = std::min(layoutOf(from).numBits(Place::Register),
                              llvm::Log2_32(std::max(1u, machine.vectorBytes / bytes)));
  LinearLayout copied = layoutOf(from).withPlace(
      Place::Register,
      LinearLayout::Bases(layoutOf(from).bases(Place::Register).take_front(numBits)));
  std::vector<LinearLayout> candidates;
  for (Type read : to) {
    std::optional<LinearLayout> matrices;
    if (loadsMatrices)
      matrices = matrixBuffer(copied, layoutOf(read), bytes, machine.banks);
    candidates.push_back(matrices ? *matrices
                                  : copyBuffer(copied, layoutOf(read), bytes, machine.banks));
  }
  if (to.size() == 1)
    return candidates.front();
  auto costOf = [&](const LinearLayout &buffer) {
    double cost = readCost(copied, buffer, bytes, machine.banks, /*loadsMatrices=*/false);
    for (Type read : to)
      cost += readCost(layoutOf(read), buffer, bytes, machine.banks, loadsMatrices);
    return cost;
  };
  LinearLayout best = candidates.front();
  for (const LinearLayout &candidate : candidates)
    if (costOf(candidate) < costOf(best))
      best = candidate;
  return withMoreExchanges(best, bytes, machine.banks, costOf);
}

SmallVector<Value> Staging::throughShared(ValueRange values, TypeRange types, StringRef purpose,
                                          SmallPtrSetImpl<Operation *> *stores) {
  SmallVector<Value> buffers, results;
  for (auto [value, type] : llvm::zip(values, types))
    buffers.push_back(store(value, conversionLayout(value.getType(), type), purpose, stores));
  for (auto [buffer, type] : llvm::zip(buffers, types))
    results.push_back(LoadSharedOp::create(builder, loc, type, buffer));
  return results;
}

Value Staging::throughShared(Value value, Type type, StringRef purpose,
                             SmallPtrSetImpl<Operation *> *stores) {
  return throughShared(ValueRange(value), TypeRange(type), purpose, stores).front();
}

Value Staging::convert(Value value, Type type, StringRef purpose) {
  if (value.getType() == type)
    return value;
  if (prefersShared(value.getType(), type, machine.banks))
    return throughShared(value, type, purpose);
  return ConvertLayoutOp::create(builder, loc, type, value);
}

/// Above this a read stays where it is: it would keep too much shared memory occupied.
static constexpr int64_t kSunkBytes = 16 << 10;

void tw::simt::sinkLoads(Block &block) {
  SmallVector<LoadSharedOp> loads(block.getOps<LoadSharedOp>());
  for (LoadSharedOp load : llvm::reverse(loads)) {
    SharedType buffer = load.getBuffer().getType();
    if (buffer.getLayout().getValue().numElements() * elementBytes(buffer.getElementType()) >
        kSunkBytes)
      continue;
    Operation *before = load->getNextNode();
    auto mayPass = [&](Operation *op) {
      return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
             !llvm::is_contained(op->getOperands(), load.getResult());
    };
    while (mayPass(before))
      before = before->getNextNode();
    load->moveBefore(before);
  }
}

//===-- Questions ----------------------------------------------------------------------------===//

static unsigned rankOf(ArrayRef<uint32_t> images) {
  BitMatrix matrix;
  matrix.numRows = 32;
  matrix.columns.assign(images.begin(), images.end());
  return matrix.rank();
}

/// Instructions of a conversion by shuffles: one per 32 bits of a register and round, and a
/// selection per bit of a register's number that depends on the lane, at the sender and at the
/// receiver.
static uint64_t shuffleCost(const LaneExchange &exchange, const LinearLayout &to, unsigned bytes) {
  uint64_t shuffles = uint64_t(1) << rankOf(exchange.missed);
  uint64_t selections = rankOf(exchange.received) + rankOf(exchange.sent);
  return uint64_t(to.size(Place::Register)) * ((bytes + 3) / 4) * (shuffles + selections);
}

/// Instructions of a conversion through shared memory, of which one takes as long as two others.
static uint64_t sharedCost(const LinearLayout &from, const LinearLayout &to, unsigned bytes,
                           SharedBanks banks) {
  static constexpr uint64_t kAddressesAndBarrier = 10;
  LinearLayout buffer = conflictFreeLayout(from, to, bytes, banks);
  unsigned widest = std::max(1u, banks.accessBytes / bytes);
  auto accesses = [&](const LinearLayout &layout) {
    return layout.size(Place::Register) / sharedAccess(layout, buffer, widest).vector;
  };
  return 2 * (accesses(from) + accesses(to) + kAddressesAndBarrier);
}

bool tw::simt::prefersShared(Type fromType, Type toType, SharedBanks banks) {
  const LinearLayout &from = layoutOf(fromType), &to = layoutOf(toType);
  if (to.registersFrom(from))
    return false;
  std::optional<LaneExchange> exchange = planLaneExchange(from, to);
  if (!exchange || !to.isWithinWarpOf(from))
    return true;
  unsigned bytes = elementBytes(elementTypeOf(fromType));
  return shuffleCost(*exchange, to, bytes) > sharedCost(from, to, bytes, banks);
}

bool tw::simt::hasCopies(Type value) {
  if (!hasLayout(value))
    return true;
  const LinearLayout &layout = layoutOf(value);
  return layout.freeBits(Place::Lane) != 0 || layout.freeBits(Place::Warp) != 0;
}

bool tw::simt::warpsHoldHighestBits(const LinearLayout &layout, unsigned axis) {
  unsigned next = layout.firstBitOf(axis) + layout.numBitsOf(axis);
  SmallVector<unsigned> bits = warpBitsAlong(layout, axis);
  for (unsigned bit : llvm::reverse(bits))
    if (layout.bases(Place::Warp)[bit] != uint32_t(1) << --next)
      return false;
  uint32_t pieces = layout.maskOf(axis) >> next << next;
  auto touches = [&](uint32_t basis) { return (basis & pieces) != 0; };
  return llvm::none_of(layout.bases(Place::Register), touches) &&
         llvm::none_of(layout.bases(Place::Lane), touches);
}

//===-- Layouts ------------------------------------------------------------------------------===//

SmallVector<int32_t> tw::simt::rowMajorOrder(unsigned rank) {
  SmallVector<int32_t> order;
  for (unsigned dim = rank; dim-- > 0;)
    order.push_back(dim);
  return order;
}

LinearLayout Staging::layoutAlong(ArrayRef<int64_t> shape, unsigned axis,
                                  bool warpsAlongAxis) const {
  // The axis gives its highest bits to warps, the next to lanes; the rest stays in registers.
  auto take = [](int64_t &extent, int64_t wanted) {
    int64_t taken = std::min(extent, wanted);
    extent /= taken;
    return taken;
  };
  SmallVector<int64_t> rest(shape), lanes(shape.size(), 1), warps(shape.size(), 1);
  int64_t freeLanes = machine.warpSize, freeWarps = numWarps;
  SmallVector<int32_t> dims = rowMajorOrder(shape.size());
  auto *place = llvm::find(dims, int32_t(axis));
  std::rotate(dims.begin(), place, place + 1); // the axis first
  if (warpsAlongAxis) {
    lanes[axis] = take(rest[axis], freeLanes);
    warps[axis] = take(rest[axis], freeWarps);
    freeWarps /= warps[axis];
    freeLanes /= lanes[axis];
  }
  for (int32_t dim : dims) {
    if (lanes[dim] == 1) {
      lanes[dim] = take(rest[dim], freeLanes);
      freeLanes /= lanes[dim];
    }
    if (dim != int32_t(axis)) {
      int64_t taken = take(rest[dim], freeWarps);
      warps[dim] = taken;
      freeWarps /= taken;
    }
  }
  // Lanes and warps that found no place hold copies.
  lanes[axis] *= freeLanes;
  warps[axis] *= freeWarps;
  SmallVector<int64_t> perLane(shape.size(), 1);
  perLane[axis] = rest[axis];
  return blockedLayout(shape, perLane, lanes, warps, dims);
}

LinearLayout tw::simt::withPairInRegisters(const LinearLayout &half) {
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  bases[unsigned(Place::Register)].push_back(1);
  for (Place place : {Place::Register, Place::Lane, Place::Warp, Place::Cta})
    for (uint32_t basis : half.bases(place))
      bases[unsigned(place)].push_back(basis << 1);
  SmallVector<int64_t> shape(half.shape());
  shape.push_back(2);
  return LinearLayout(shape, bases);
}

LinearLayout tw::simt::dotOperandReads(const LinearLayout &product, ArrayRef<int64_t> operandShape,
                                       bool isRight) {
  // An element of the operand is at [batch, m, k] or [batch, k, n]; of the product, at [batch, m,
  // n].
  unsigned rank = product.rank(), depthDim = isRight ? rank - 2 : rank - 1;
  unsigned ownDim = isRight ? rank - 1 : rank - 2;
  std::array<LinearLayout::Bases, kNumPlaces> none;
  LinearLayout operand(operandShape, none);
  auto project = [&](uint32_t basis) {
    SmallVector<int64_t> from = product.coordinatesOf(basis), to(rank, 0);
    to[ownDim] = from[ownDim];
    if (rank == 3)
      to[0] = from[0];
    return operand.elementAt(to);
  };
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : product.bases(place))
      bases[unsigned(place)].push_back(project(basis));
  LinearLayout::Bases depth;
  for (unsigned bit = 0; bit < operand.numBitsOf(depthDim); ++bit)
    depth.push_back(uint32_t(1) << (operand.firstBitOf(depthDim) + bit));
  LinearLayout::Bases &registers = bases[unsigned(Place::Register)];
  registers.insert(isRight ? registers.end() : registers.begin(), depth.begin(), depth.end());
  return LinearLayout(operandShape, bases).withoutFreeRegisters();
}
