// Plans shuffles by linear algebra: each round is a subspace of the result's registers and lanes in
// which every lane takes part once, as far as possible, on the sending and on the receiving side.
#include "passes/simt/layout/LaneExchange.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"

using namespace tw;
using namespace tw::simt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

namespace {
/// A place in the source: what a coordinate of the result maps to.
struct SourcePlace {
  uint32_t reg = 0, lane = 0;
  void operator^=(SourcePlace other) {
    reg ^= other.reg;
    lane ^= other.lane;
  }
};

/// The registers and lanes of a source as a space of elements.
struct Source {
  explicit Source(const LinearLayout &layout) : layout(layout) {
    for (auto [bit, basis] : llvm::enumerate(layout.bases(Place::Register)))
      registers.insert(basis, uint64_t(1) << bit);
    all = registers;
    BitMatrix matrix{32, {}};
    for (Place place : {Place::Register, Place::Lane})
      matrix.columns.append(layout.bases(place).begin(), layout.bases(place).end());
    for (auto [bit, basis] : llvm::enumerate(layout.bases(Place::Lane)))
      all.insert(basis, uint64_t(1) << (numRegisterBits() + bit));
    for (uint64_t relation : matrix.kernel())
      copies.push_back(unpack(relation));
  }
  unsigned numRegisterBits() const { return layout.numBits(Place::Register); }
  SourcePlace unpack(uint64_t packed) const {
    return {uint32_t(packed & (layout.size(Place::Register) - 1)),
            uint32_t(packed >> numRegisterBits())};
  }
  /// Where an element is: in a register of `lane` if possible.
  std::optional<SourcePlace> find(uint32_t element, uint32_t lane) const {
    XorBasis::Entry near = registers.reduce(element ^ layout.apply(Place::Lane, lane));
    if (near.vector == 0)
      return SourcePlace{uint32_t(near.combination), lane};
    XorBasis::Entry anywhere = all.reduce(element);
    if (anywhere.vector == 0)
      return unpack(anywhere.combination);
    return std::nullopt;
  }

  const LinearLayout &layout;
  XorBasis registers, all;
  SmallVector<SourcePlace> copies; // other places of an element, relative to one
};

/// The place that each lane bit of the result reads in a round. The lanes of a round should read
/// from different lanes: `choices` are the ways to change the lane, by another register of the
/// result or another copy in the source.
class LaneChoice {
public:
  LaneChoice(const Source &source, ArrayRef<SourcePlace> ofRegister, ArrayRef<SourcePlace> ofLane)
      : numRegisters(ofRegister.size()), places(ofLane), received(ofLane.size(), 0) {
    llvm::append_range(moves, ofRegister);
    llvm::append_range(moves, source.copies);
    for (auto [index, move] : llvm::enumerate(moves))
      choices.insert(move.lane, uint64_t(1) << index);
  }

  void choose() {
    // Lanes that differ whatever the choice come first: they leave the choices to the others.
    XorBasis apart = choices;
    SmallVector<unsigned> later;
    for (unsigned bit = 0; bit < places.size(); ++bit) {
      if (apart.insert(places[bit].lane))
        chooseLane(bit);
      else
        later.push_back(bit);
    }
    for (unsigned bit : later)
      chooseLane(bit);
  }

  SmallVector<SourcePlace> moves;
  unsigned numRegisters;
  SmallVector<SourcePlace> places;
  SmallVector<uint32_t> received;

private:
  /// Prefers the lane itself, then the place found first, then any that no other lane reads.
  void chooseLane(unsigned bit) {
    SmallVector<uint32_t> wanted = {1u << bit, places[bit].lane};
    for (const SourcePlace &move : moves)
      wanted.push_back(places[bit].lane ^ move.lane);
    for (uint32_t lane : wanted) {
      XorBasis::Entry change = choices.reduce(lane ^ places[bit].lane);
      if (change.vector != 0 || !taken.insert(lane))
        continue;
      for (auto [index, move] : llvm::enumerate(moves)) {
        if ((change.combination >> index & 1) == 0)
          continue;
        places[bit] ^= move;
        if (index < numRegisters)
          received[bit] |= 1u << index;
      }
      return;
    }
  }

  XorBasis choices, taken;
};
} // namespace

bool LaneExchange::keepsLanes() const {
  return llvm::all_of(llvm::enumerate(lane),
                      [](auto image) { return image.value() == 1u << image.index(); });
}

uint32_t tw::simt::applyImages(ArrayRef<uint32_t> images, uint32_t argument) {
  uint32_t result = 0;
  for (auto [bit, image] : llvm::enumerate(images))
    if (argument >> bit & 1)
      result ^= image;
  return result;
}

/// Which register each lane sends, given which places the lanes read in round 0.
static void chooseSent(LaneExchange &plan, ArrayRef<SourcePlace> places) {
  XorBasis readLanes;
  for (auto [bit, place] : llvm::enumerate(places)) {
    plan.lane.push_back(place.lane);
    readLanes.insert(place.lane, uint64_t(1) << bit);
  }
  // Lanes that nobody reads send register 0.
  for (unsigned bit = 0; bit < places.size(); ++bit)
    readLanes.insert(uint64_t(1) << bit);
  for (unsigned bit = 0; bit < places.size(); ++bit) {
    uint32_t readers = uint32_t(readLanes.reduce(uint64_t(1) << bit).combination);
    uint32_t reg = 0;
    for (auto [reader, place] : llvm::enumerate(places))
      if (readers >> reader & 1)
        reg ^= place.reg;
    plan.sent.push_back(reg);
  }
  for (const SourcePlace &place : places)
    plan.missed.push_back(place.reg ^ applyImages(plan.sent, place.lane));
}

std::optional<LaneExchange> tw::simt::planLaneExchange(const LinearLayout &from,
                                                       const LinearLayout &to) {
  Source source(from);
  SmallVector<SourcePlace> ofRegister, ofLane, ofWarp;
  auto find = [&](SmallVectorImpl<SourcePlace> &places, uint32_t element, uint32_t lane) {
    std::optional<SourcePlace> place = source.find(element, lane);
    if (place)
      places.push_back(*place);
    return place.has_value();
  };
  for (uint32_t basis : to.bases(Place::Register))
    if (!find(ofRegister, basis, 0))
      return std::nullopt;
  for (auto [bit, basis] : llvm::enumerate(to.bases(Place::Lane)))
    if (!find(ofLane, basis, 1u << bit))
      return std::nullopt;
  for (auto [bit, basis] : llvm::enumerate(to.bases(Place::Warp)))
    if (!find(ofWarp, basis ^ from.apply(Place::Warp, 1u << bit), 0))
      return std::nullopt;

  LaneChoice choice(source, ofRegister, ofLane);
  choice.choose();
  LaneExchange plan;
  plan.received = choice.received;
  chooseSent(plan, choice.places);
  for (const SourcePlace &place : ofRegister) {
    plan.laneOfRound.push_back(place.lane);
    plan.sentInRound.push_back(place.reg ^ applyImages(plan.sent, place.lane));
  }
  for (const SourcePlace &place : ofWarp) {
    plan.laneOfWarp.push_back(place.lane);
    plan.sentByWarp.push_back(place.reg ^ applyImages(plan.sent, place.lane));
  }
  return plan;
}
