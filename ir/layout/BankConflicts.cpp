// Layouts in shared memory without bank conflicts, after "Linear Layouts" (arXiv 2505.23819),
// section on optimal swizzling: the offset's bits above the banks span a space that meets what the
// lanes of one transfer write, and what those of another read, in 0 only.
#include "ir/layout/CopyBuffers.h"
#include "ir/layout/LinearLayout.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <set>
#include <vector>

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;
using Vectors = SmallVector<uint64_t>;

/// Bits of an element's offset within a word of a bank.
static unsigned wordBits(SharedBanks banks, unsigned elementBytes) {
  return elementBytes < banks.wordBytes ? llvm::Log2_32(banks.wordBytes / elementBytes) : 0;
}

//===-- Counting -----------------------------------------------------------------------------===//

/// How many transfers one access of a phase's lanes takes: the most words that one bank has to
/// give.
static unsigned transfersOf(ArrayRef<uint64_t> addresses, const SharedPhase &phase,
                            unsigned wordBytes) {
  std::vector<std::set<uint64_t>> words(phase.numBanks);
  for (uint64_t address : addresses)
    for (uint64_t byte = 0; byte < phase.accessBytes; byte += wordBytes) {
      uint64_t word = (address + byte) / wordBytes;
      words[word % phase.numBanks].insert(word);
    }
  size_t most = 1;
  for (const std::set<uint64_t> &bank : words)
    most = std::max(most, bank.size());
  return unsigned(most);
}

namespace {
/// The cost of one access by all lanes of a warp.
struct AccessCost {
  unsigned vector = 1;
  unsigned numAccesses = 1; // to move all registers
  unsigned transfers = 1;   // of one access
  unsigned fewest = 1;
};
} // namespace

/// The numbers that lie in the span of `basis`.
static SmallVector<uint32_t> spanOf(ArrayRef<uint8_t> basis) {
  SmallVector<uint32_t> numbers = {0};
  for (uint8_t vector : basis)
    for (size_t index = 0, count = numbers.size(); index < count; ++index)
      numbers.push_back(numbers[index] ^ vector);
  return numbers;
}

/// The first lane of each phase of a warp.
static SmallVector<uint32_t> phaseStarts(const SharedPhase &phase, unsigned numLanes) {
  XorBasis space;
  for (uint8_t lane : phase.span())
    space.insert(lane);
  SmallVector<uint8_t> others;
  for (unsigned lane = 1; lane < numLanes; lane *= 2)
    if (space.insert(lane))
      others.push_back(uint8_t(lane));
  return spanOf(others);
}

static AccessCost accessCost(const LinearLayout &registers, const LinearLayout &buffer,
                             SharedUse use, unsigned elementBytes, SharedBanks banks,
                             SharedPadding padding = {}) {
  AccessCost cost;
  SharedAccess access =
      sharedAccess(registers, buffer, std::max(1u, banks.accessBytes / elementBytes));
  cost.vector = access.vector;
  cost.numAccesses = access.registers.size() / access.vector;
  SharedPhase phase = banks.phaseOf(use, access.vector * elementBytes, registers.size(Place::Lane));
  BitMatrix offsets{buffer.numInputBits(), *buffer.rightInverse()};
  SmallVector<uint32_t> together = spanOf(phase.span());
  unsigned bytesTogether = together.size() * phase.accessBytes;
  cost.transfers = cost.fewest = 0;
  for (uint32_t first : phaseStarts(phase, registers.size(Place::Lane))) {
    Vectors addresses;
    for (uint32_t lane : together)
      addresses.push_back(
          padding.apply(offsets.apply(registers.apply(Place::Lane, first ^ lane)) * elementBytes));
    cost.transfers += transfersOf(addresses, phase, banks.wordBytes);
    cost.fewest += std::max(1u, bytesTogether / (phase.numBanks * banks.wordBytes));
  }
  return cost;
}

double tw::bankConflicts(const LinearLayout &registers, const LinearLayout &buffer, SharedUse use,
                         unsigned elementBytes, SharedBanks banks, SharedPadding padding) {
  AccessCost cost = accessCost(registers, buffer, use, elementBytes, banks, padding);
  return double(cost.transfers) / cost.fewest;
}

//===-- Spaces -------------------------------------------------------------------------------===//

/// Appends what of `vectors` does not depend on `basis`, up to `count` in all.
static void extend(Vectors &basis, ArrayRef<uint64_t> vectors, size_t count = 64) {
  XorBasis space;
  for (uint64_t vector : basis)
    space.insert(vector);
  for (uint64_t vector : vectors)
    if (basis.size() < count && space.insert(vector))
      basis.push_back(vector);
}

/// A basis of what two independent families both span.
static Vectors intersection(ArrayRef<uint64_t> left, ArrayRef<uint64_t> right) {
  BitMatrix both{64, Vectors(left)};
  both.columns.append(right.begin(), right.end());
  uint64_t ofLeft = (uint64_t(1) << left.size()) - 1;
  Vectors common;
  for (uint64_t relation : both.kernel())
    common.push_back(both.apply(relation & ofLeft));
  return common;
}

static Vectors basesOf(const LinearLayout &layout, Place place) {
  Vectors vectors;
  extend(vectors, Vectors(layout.bases(place)));
  return vectors;
}

namespace {
/// The elements that the lanes of one transfer reach, and the banks that give them.
struct Reach {
  Vectors elements;
  unsigned numBanks = 0;
};
} // namespace

/// Returns what the lanes of one transfer reach, where each lane accesses `inAccess`.
static Reach reachedAtOnce(const LinearLayout &layout, SharedUse use, ArrayRef<uint64_t> inWord,
                           ArrayRef<uint64_t> inAccess, unsigned elementBytes, SharedBanks banks) {
  SharedPhase phase = banks.phaseOf(use, elementBytes << inAccess.size(), layout.size(Place::Lane));
  Reach reach{Vectors(inWord), phase.numBanks};
  extend(reach.elements, inAccess);
  Vectors lanes;
  for (uint8_t lane : phase.span())
    lanes.push_back(layout.apply(Place::Lane, lane));
  extend(reach.elements, lanes);
  return reach;
}

//===-- Choice -------------------------------------------------------------------------------===//

/// `numSegmentBits` independent vectors whose span meets those of `written` and `read` in 0 only;
/// none has a part of `kept`.
static Vectors segmentBits(const Vectors &written, const Vectors &read, ArrayRef<uint64_t> others,
                           size_t numSegmentBits, ArrayRef<uint64_t> kept) {
  Vectors sum = intersection(written, read);
  extend(sum, kept);
  size_t numCommon = sum.size();
  Vectors onlyWritten(sum), onlyRead(sum);
  extend(onlyWritten, written);
  extend(onlyRead, read);
  extend(sum, written);
  extend(sum, read);
  size_t numReached = sum.size();
  extend(sum, others);
  Vectors segments(llvm::drop_begin(sum, numReached));
  for (size_t i = numCommon; i < std::min(onlyWritten.size(), onlyRead.size()); ++i)
    segments.push_back(onlyWritten[i] ^ onlyRead[i]);
  segments.truncate(std::min(segments.size(), numSegmentBits));
  return segments;
}

/// The buffer whose lowest bits of the offset are `low`; the first `numKept` of them do not depend
/// on others.
static LinearLayout layoutWithLowBits(const LinearLayout &from, const LinearLayout &to,
                                      const Vectors &low, unsigned elementBytes, SharedBanks banks,
                                      size_t numKept = 0) {
  unsigned numBits = llvm::Log2_32(from.numElements());
  // Bits above the vector that threads add must not reach into it: prefer what threads add.
  Vectors candidates;
  for (Place place : {Place::Warp, Place::Cta, Place::Lane})
    for (const LinearLayout *layout : {&from, &to})
      llvm::append_range(candidates, layout->bases(place));
  for (unsigned bit = numBits; bit-- > 0;)
    candidates.push_back(uint64_t(1) << bit);

  unsigned numWordBits = wordBits(banks, elementBytes);
  ArrayRef<uint64_t> inWord = ArrayRef(low).take_front(numWordBits);
  auto accessed = [&](const LinearLayout &layout) {
    XorBasis held;
    for (uint32_t basis : layout.bases(Place::Register))
      held.insert(basis);
    return ArrayRef(low).take_while([&](uint64_t vector) { return held.contains(vector); });
  };
  Reach written =
      reachedAtOnce(from, SharedUse::Write, inWord, accessed(from), elementBytes, banks);
  Reach read = reachedAtOnce(to, SharedUse::Read, inWord, accessed(to), elementBytes, banks);
  unsigned fewestBanks = std::min(written.numBanks, read.numBanks);
  unsigned numInBanks = llvm::Log2_32(fewestBanks * banks.wordBytes / elementBytes);
  Vectors segments = segmentBits(written.elements, read.elements, candidates,
                                 numBits > numInBanks ? numBits - numInBanks : 0,
                                 ArrayRef(low).take_front(numKept));
  llvm::sort(segments);

  Vectors taken(low);
  extend(taken, segments);
  size_t numTaken = taken.size();
  extend(taken, candidates);
  Vectors inBanks(llvm::drop_begin(taken, numTaken));
  llvm::sort(inBanks);
  Vectors offsets(low);
  extend(offsets, inBanks);
  extend(offsets, segments);
  return LinearLayout(from.shape(), {})
      .withPlace(Place::Offset, LinearLayout::Bases(offsets.begin(), offsets.end()));
}

/// Returns the cost of writing a buffer and reading it: an access costs its transfers and its
/// issue.
static unsigned bufferCost(const LinearLayout &from, const LinearLayout &to,
                           const LinearLayout &buffer, unsigned elementBytes, SharedBanks banks) {
  unsigned cost = 0;
  for (auto [registers, use] : {std::pair(&from, SharedUse::Write), {&to, SharedUse::Read}}) {
    AccessCost access = accessCost(*registers, buffer, use, elementBytes, banks);
    cost += access.numAccesses * (access.transfers + 1);
  }
  return cost;
}

LinearLayout tw::conflictFreeLayout(const LinearLayout &from, const LinearLayout &to,
                                    unsigned elementBytes, SharedBanks banks) {
  Vectors written = basesOf(from, Place::Register), read = basesOf(to, Place::Register);
  Vectors common = intersection(written, read);
  unsigned maxVectorBits = llvm::Log2_32(std::max(1u, banks.accessBytes / elementBytes));
  unsigned numWordBits = wordBits(banks, elementBytes);
  std::optional<LinearLayout> best;
  unsigned bestCost = 0;
  // Where one side has more neighbours than both have in common, it may still access them at once.
  for (const Vectors *side : {&written, &read}) {
    for (unsigned count = 0; count <= maxVectorBits; ++count) {
      Vectors low;
      extend(low, common, count);
      extend(low, *side, count);
      extend(low, basesOf(from, Place::Lane), numWordBits);
      extend(low, basesOf(to, Place::Lane), numWordBits);
      LinearLayout layout = layoutWithLowBits(from, to, low, elementBytes, banks);
      unsigned cost = bufferCost(from, to, layout, elementBytes, banks);
      if (best && cost >= bestCost)
        continue;
      best = layout;
      bestCost = cost;
    }
  }
  return *best;
}

LinearLayout tw::readOrderLayout(const LinearLayout &from, const LinearLayout &to,
                                 unsigned elementBytes, SharedBanks banks) {
  Vectors all = basesOf(to, Place::Register), low;
  for (unsigned dim = 0; dim < to.rank() && !all.empty(); ++dim)
    if (all.front() & to.maskOf(dim))
      llvm::copy_if(all, std::back_inserter(low),
                    [&](uint64_t basis) { return (basis & ~uint64_t(to.maskOf(dim))) == 0; });
  low.truncate(
      std::min<size_t>(low.size(), llvm::Log2_32(std::max(1u, banks.accessBytes / elementBytes))));
  size_t numKept = low.size();
  unsigned numWordBits = wordBits(banks, elementBytes);
  extend(low, basesOf(from, Place::Lane), numWordBits);
  extend(low, basesOf(to, Place::Lane), numWordBits);
  LinearLayout layout = layoutWithLowBits(from, to, low, elementBytes, banks, numKept);
  // Above the banks the order of bits is free. What registers of the writer step by comes last:
  // large steps are immediate offsets of accesses that write two places.
  uint64_t written = 0;
  for (uint32_t basis : from.bases(Place::Register))
    written |= basis;
  LinearLayout::Bases offsets(layout.bases(Place::Offset)), ordered;
  size_t numInBanks = llvm::Log2_32(std::max(1u, banks.transferBytes() / elementBytes));
  for (bool isOfRegisters : {false, true})
    for (auto [bit, basis] : llvm::enumerate(offsets))
      if (bit >= numInBanks && bool(basis & written) == isOfRegisters)
        ordered.push_back(basis);
  offsets.truncate(std::min(offsets.size(), numInBanks));
  offsets.append(ordered);
  return layout.withPlace(Place::Offset, std::move(offsets));
}

LinearLayout tw::swizzledRows(ArrayRef<int64_t> shape, uint32_t neighbour, unsigned elementBytes,
                              SharedBanks banks, unsigned ignoredRowBits) {
  LinearLayout whole(shape, {});
  SmallVector<int32_t> order;
  for (unsigned dim = shape.size(); dim-- > 0;)
    order.insert(whole.maskOf(dim) & neighbour ? order.begin() : order.end(), int32_t(dim));
  unsigned rowBytes = std::max(banks.accessBytes, unsigned(shape[order.front()]) * elementBytes);
  unsigned vector = std::max(1u, banks.accessBytes / elementBytes);
  unsigned phases = std::min(rowBytes, banks.transferBytes()) / banks.accessBytes;
  unsigned rowsPerPhase = std::max(1u, banks.transferBytes() / rowBytes) << ignoredRowBits;
  return swizzledLayout(shape, order, vector, rowsPerPhase, phases);
}

LinearLayout tw::copyBuffer(const LinearLayout &from, const LinearLayout &to, unsigned elementBytes,
                            SharedBanks banks) {
  unsigned maxVectorBits = llvm::Log2_32(std::max(1u, banks.accessBytes / elementBytes));
  unsigned numWordBits = wordBits(banks, elementBytes);
  Vectors low;
  extend(low,
         Vectors(from.bases(Place::Register).take_while([](uint32_t basis) { return basis != 0; })),
         maxVectorBits);
  std::vector<LinearLayout> candidates;
  if (!low.empty())
    for (unsigned ignoredRowBits : {0, 1, 2})
      candidates.push_back(
          swizzledRows(from.shape(), uint32_t(low.front()), elementBytes, banks, ignoredRowBits));
  size_t numKept = low.size();
  extend(low, basesOf(from, Place::Lane), std::max<size_t>(numKept, numWordBits));
  candidates.push_back(layoutWithLowBits(from, to, low, elementBytes, banks, numKept));
  auto costOf = [&](const LinearLayout &buffer) {
    return bufferCost(from, to, buffer, elementBytes, banks);
  };
  return *llvm::min_element(candidates, [&](const LinearLayout &left, const LinearLayout &right) {
    return costOf(left) < costOf(right);
  });
}
