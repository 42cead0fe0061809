// Plans how the lanes of a warp exchange registers by shuffles so that a tile gets another layout.
#ifndef PASSES_SIMT_LAYOUT_LANEEXCHANGE_H
#define PASSES_SIMT_LAYOUT_LANEEXCHANGE_H
#include "ir/layout/LinearLayout.h"

namespace tw::simt {

/// One shuffle per register of the result: in round t, lane l of warp w gets the element of its
/// register `t ^ received(l)` from lane `lane(l) ^ laneOfWarp(w) ^ laneOfRound(t)`; lane s sends
/// its register `sent(s) ^ sentByWarp(w) ^ sentInRound(t)`. All are linear maps over GF(2), as one
/// image per bit of their argument.
struct LaneExchange {
  using Images = llvm::SmallVector<uint32_t>;
  Images received;
  Images lane, laneOfWarp, laneOfRound;
  Images sent, sentByWarp, sentInRound;
  /// Where one lane holds what several lanes want of it in the same round: lane l wants the
  /// register that differs by `missed(l)`, and takes one shuffle per value of this map.
  Images missed;

  bool keepsLanes() const; // lane(l) = l
};

/// A linear map's value, from its images of the argument's bits.
uint32_t applyImages(llvm::ArrayRef<uint32_t> images, uint32_t argument);

/// None where an element is in no lane of the same warp.
std::optional<LaneExchange> planLaneExchange(const LinearLayout &from, const LinearLayout &to);

} // namespace tw::simt
#endif
