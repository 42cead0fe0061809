// Chooses layouts of buffers in shared memory among candidates, by what writing and reading costs.
#include "passes/simt/layout/BufferChoice.h"
#include "ir/layout/CopyBuffers.h"
#include "passes/simt/layout/LaneExchange.h"
#include "llvm/ADT/Sequence.h"
#include <vector>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

MatrixReads tw::simt::matrixReadsOf(TargetAttr target) {
  if (hasFeature(target, Feature::LoadMatrix))
    return MatrixReads::Words;
  if (hasFeature(target, Feature::LoadTransposed8x8))
    return MatrixReads::Columns8;
  return hasFeature(target, Feature::LoadTransposed) ? MatrixReads::Columns : MatrixReads::None;
}

BufferChoice::BufferChoice(Operation *module)
    : machine(machineOf(module)), matrices(matrixReadsOf(targetOf(module))),
      storesMatrices(targetOf(module) && hasFeature(targetOf(module), Feature::StoreMatrix)),
      copies(!targetOf(module) || laneCopyOf(targetOf(module))) {}

//===-- Costs --------------------------------------------------------------------------------===//

/// The transfers of accesses of `vector` elements of each lane, and their issue.
static double accessCost(const LinearLayout &registers, unsigned vector, double conflicts,
                         unsigned bytes, SharedBanks banks) {
  unsigned transfers =
      std::max(1u, registers.size(Place::Lane) * vector * bytes / banks.transferBytes());
  return registers.size(Place::Register) / vector * (transfers * conflicts + 1);
}

/// The same where registers are read as matrices.
static double matrixCost(const LinearLayout &registers, const MatrixAccess &access,
                         const LinearLayout &buffer, unsigned bytes, SharedBanks banks,
                         SharedPadding padding) {
  unsigned rowElements = access.rowBytes / bytes;
  LinearLayout::Bases row(
      access.rows.bases(Place::Register).take_front(llvm::Log2_32(rowElements)));
  double conflicts = bankConflicts(access.rows.withPlace(Place::Register, row), buffer,
                                   SharedUse::Read, bytes, banks, padding);
  if (access.rowBytes < banks.accessBytes)
    return accessCost(registers, rowElements, conflicts, bytes, banks);
  double words = registers.size(Place::Register) * bytes / double(banks.wordBytes);
  return words * (conflicts + 1.0 / access.numMatrices);
}

/// Returns the cost to a warp of moving a tile to or from a buffer.
static double accessCost(const LinearLayout &registers, const LinearLayout &buffer, SharedUse use,
                         unsigned bytes, SharedBanks banks, MatrixReads matrices,
                         SharedPadding padding = {}) {
  if (std::optional<MatrixAccess> access = matrixAccess(registers, buffer, bytes, matrices))
    return matrixCost(registers, *access, buffer, bytes, banks, padding);
  unsigned vector = sharedAccess(registers, buffer, std::max(1u, banks.accessBytes / bytes)).vector;
  return accessCost(registers, vector, bankConflicts(registers, buffer, use, bytes, banks, padding),
                    bytes, banks);
}

/// How many registers an instruction may take as one operand: those that step along the dimension
/// of the first.
static unsigned operandRegisters(const LinearLayout &registers) {
  ArrayRef<uint32_t> bases = registers.bases(Place::Register);
  unsigned count = 0;
  for (unsigned dim = 0; dim < registers.rank() && !bases.empty(); ++dim)
    if (bases.front() & registers.maskOf(dim))
      count =
          bases.take_while([&](uint32_t basis) { return (basis & ~registers.maskOf(dim)) == 0; })
              .size();
  return 1u << count;
}

/// Words that do not come out of a buffer in the order in which operands have them: each takes a
/// move.
static unsigned numMoves(const LinearLayout &registers, const LinearLayout &buffer, unsigned bytes,
                         SharedBanks banks) {
  SharedAccess access = sharedAccess(registers, buffer, std::max(1u, banks.accessBytes / bytes));
  unsigned together = std::min(access.vector, operandRegisters(registers));
  bool isInOrder =
      llvm::equal(ArrayRef(access.registers).take_front(together), llvm::seq(0u, together));
  return isInOrder ? 0 : std::max(1u, registers.size(Place::Register) * bytes / banks.wordBytes);
}

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

bool BufferChoice::prefersShared(Type fromType, Type toType) const {
  const LinearLayout &from = layoutOf(fromType), &to = layoutOf(toType);
  if (to.registersFrom(from))
    return false;
  std::optional<LaneExchange> exchange = planLaneExchange(from, to);
  if (!exchange || !to.isWithinWarpOf(from))
    return true;
  unsigned bytes = elementBytes(elementTypeOf(fromType));
  return shuffleCost(*exchange, to, bytes) > sharedCost(from, to, bytes, machine.banks);
}

//===-- Candidates ---------------------------------------------------------------------------===//

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

namespace {
/// The accesses to a buffer: by the registers that are written, and by those of each reader.
struct Traffic {
  LinearLayout written;
  std::vector<LinearLayout> reads;
  unsigned bytes; // of an element
  /// Readers want their registers side by side in their order.
  bool keepsOrder = false;

  double costOf(const LinearLayout &buffer, const BufferChoice &choice) const {
    SharedBanks banks = choice.machine.banks;
    double cost = accessCost(written, buffer, SharedUse::Write, bytes, banks, MatrixReads::None);
    for (const LinearLayout &read : reads)
      cost += accessCost(read, buffer, SharedUse::Read, bytes, banks, choice.matrices) +
              (keepsOrder ? numMoves(read, buffer, bytes, banks) : 0);
    return cost;
  }
};
} // namespace

double BufferChoice::costOfWrites(const LinearLayout &buffer, Type from) const {
  return accessCost(layoutOf(from), buffer, SharedUse::Write, elementBytes(elementTypeOf(from)),
                    machine.banks, storesMatrices ? MatrixReads::Words : MatrixReads::None);
}

double BufferChoice::costOfConversion(Type from, Type to) const {
  LinearLayout buffer = ofConversion(from, to);
  return costOfWrites(buffer, from) + costOfReads(buffer, to);
}

double BufferChoice::costOfReads(const LinearLayout &buffer, ArrayRef<Type> to,
                                 SharedPadding padding) const {
  double cost = 0;
  for (Type type : to)
    cost += accessCost(layoutOf(type), buffer, SharedUse::Read, elementBytes(elementTypeOf(type)),
                       machine.banks, matrices, padding);
  return cost;
}

/// The first of those that cost least.
static LinearLayout cheapest(ArrayRef<LinearLayout> candidates, const Traffic &traffic,
                             const BufferChoice &choice) {
  auto costOf = [&](const LinearLayout &buffer) { return traffic.costOf(buffer, choice); };
  return *llvm::min_element(candidates, [&](const LinearLayout &left, const LinearLayout &right) {
    return costOf(left) < costOf(right);
  });
}

/// A buffer that is read as matrices, where the machine and the layouts allow it.
static void addMatrixBuffer(std::vector<LinearLayout> &candidates, const Traffic &traffic,
                            const LinearLayout &read, const BufferChoice &choice) {
  if (auto matrices =
          matrixBuffer(traffic.written, read, traffic.bytes, choice.machine.banks, choice.matrices))
    candidates.push_back(*matrices);
}

LinearLayout BufferChoice::ofConversion(Type from, Type to) const {
  if (!hasLayout(from))
    return sharedLayout({1}, {0});
  Traffic traffic{layoutOf(from), {layoutOf(to)}, elementBytes(elementTypeOf(from))};
  std::vector<LinearLayout> candidates;
  addMatrixBuffer(candidates, traffic, layoutOf(to), *this);
  candidates.push_back(
      conflictFreeLayout(traffic.written, layoutOf(to), traffic.bytes, machine.banks));
  return cheapest(candidates, traffic, *this);
}

/// Adds buffers that registers write in another order than the order in which they were loaded.
static void addReordered(std::vector<LinearLayout> &candidates, const Traffic &traffic,
                         SharedBanks banks) {
  for (const LinearLayout &read : traffic.reads) {
    candidates.push_back(conflictFreeLayout(traffic.written, read, traffic.bytes, banks));
    if (traffic.keepsOrder)
      candidates.push_back(readOrderLayout(traffic.written, read, traffic.bytes, banks));
  }
}

LinearLayout BufferChoice::ofCopy(Type from, ArrayRef<Type> to) const {
  unsigned bytes = elementBytes(elementTypeOf(from));
  // Only the first registers are neighbours in global memory.
  unsigned numBits = std::min(layoutOf(from).numBits(Place::Register),
                              llvm::Log2_32(std::max(1u, machine.vectorBytes / bytes)));
  Traffic traffic{
      layoutOf(from).withPlace(
          Place::Register,
          LinearLayout::Bases(layoutOf(from).bases(Place::Register).take_front(numBits))),
      {},
      bytes,
      /*keepsOrder=*/!copies && matrices != MatrixReads::Words};
  std::vector<LinearLayout> candidates;
  for (Type read : to) {
    traffic.reads.push_back(layoutOf(read));
    addMatrixBuffer(candidates, traffic, layoutOf(read), *this);
    candidates.push_back(copyBuffer(traffic.written, layoutOf(read), bytes, machine.banks));
  }
  if (!copies) {
    traffic.written = layoutOf(from);
    addReordered(candidates, traffic, machine.banks);
  }
  LinearLayout best = cheapest(candidates, traffic, *this);
  if (to.size() == 1)
    return best;
  return withMoreExchanges(best, bytes, machine.banks, [&](const LinearLayout &buffer) {
    return traffic.costOf(buffer, *this);
  });
}
