// Plans of shuffles bring each element where the wanted layout has it.
#include "passes/simt/layout/LaneExchange.h"
#include "test/unit/ir/RandomLayouts.h"

using namespace tw;
using namespace tw::simt;
using llvm::ArrayRef;
using llvm::SmallVector;

using LaneExchanges = RandomLayouts;

/// Follows the plan in every lane, warp and round.
static void expectArrives(const LaneExchange &plan, const LinearLayout &from,
                          const LinearLayout &to) {
  ASSERT_EQ(plan.laneOfRound.size(), to.numBits(Place::Register));
  for (uint32_t warp = 0; warp < to.size(Place::Warp); ++warp) {
    for (uint32_t lane = 0; lane < to.size(Place::Lane); ++lane) {
      for (uint32_t round = 0; round < to.size(Place::Register); ++round) {
        uint32_t sender = applyImages(plan.lane, lane) ^ applyImages(plan.laneOfWarp, warp) ^
                          applyImages(plan.laneOfRound, round);
        uint32_t sent = applyImages(plan.sent, sender) ^ applyImages(plan.sentByWarp, warp) ^
                        applyImages(plan.sentInRound, round) ^ applyImages(plan.missed, lane);
        ASSERT_LT(sender, from.size(Place::Lane));
        ASSERT_LT(sent, from.size(Place::Register));
        uint32_t received = round ^ applyImages(plan.received, lane);
        ASSERT_EQ(from.element(sent, sender, warp), to.element(received, lane, warp))
            << from.text() << " to " << to.text();
      }
    }
  }
}

static bool missesNothing(const LaneExchange &plan) {
  return llvm::all_of(plan.missed, [](uint32_t missed) { return missed == 0; });
}

TEST_F(LaneExchanges, ReachEveryLayoutWithinAWarp) {
  unsigned numPlans = 0;
  for (int round = 0; round < 3000; ++round) {
    SmallVector<int64_t> extents = shape(7);
    LinearLayout from = surjective(extents, 5, below(3)), to = surjective(extents, 5, below(3));
    if (below(2))
      to = to.withPlace(Place::Warp, LinearLayout::Bases(from.bases(Place::Warp)));
    if (from.numBits(Place::Warp) != to.numBits(Place::Warp))
      continue;
    std::optional<LaneExchange> plan = planLaneExchange(from, to);
    ASSERT_EQ(plan.has_value(), to.isWithinWarpOf(from));
    if (!plan)
      continue;
    ++numPlans;
    expectArrives(*plan, from, to);
  }
  EXPECT_GT(numPlans, 500u);
}

TEST_F(LaneExchanges, PermutedCoordinatesNeedOneShuffleARegister) {
  for (int round = 0; round < 2000; ++round) {
    // Unit bases in any order over registers and lanes, with some lanes replicated.
    unsigned numBits = below(8) + 2;
    auto permuted = [&] {
      SmallVector<uint32_t> units;
      for (unsigned bit = 0; bit < numBits; ++bit)
        units.push_back(1u << bit);
      std::shuffle(units.begin(), units.end(), random);
      LinearLayout::Bases lanes(5, 0), registers;
      for (unsigned bit = 0; bit < 5 && !units.empty(); ++bit)
        if (below(4) != 0)
          lanes[bit] = units.pop_back_val();
      registers.assign(units.begin(), units.end());
      return LinearLayout({int64_t(1) << numBits}, {registers, lanes, {}, {}, {}});
    };
    LinearLayout from = permuted(), to = permuted();
    std::optional<LaneExchange> plan = planLaneExchange(from, to);
    ASSERT_TRUE(plan.has_value());
    expectArrives(*plan, from, to);
    EXPECT_TRUE(missesNothing(*plan)) << from.text() << " to " << to.text();
  }
}

TEST_F(LaneExchanges, SwappingOneBitMovesHalfTheRegisters) {
  LinearLayout from({64}, {LinearLayout::Bases{1, 2}, {4, 8, 16, 32, 0}, {}, {}, {}});
  LinearLayout to({64}, {LinearLayout::Bases{4, 2}, {1, 8, 16, 32, 0}, {}, {}, {}});
  std::optional<LaneExchange> plan = planLaneExchange(from, to);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->keepsLanes());
  EXPECT_EQ(plan->laneOfRound, (SmallVector<uint32_t>{1, 0}));
}

TEST_F(LaneExchanges, ElementsOfOtherWarpsHaveNoPlan) {
  LinearLayout from({64}, {LinearLayout::Bases{}, {1, 2, 4, 8, 16}, {32}, {}, {}});
  LinearLayout to({64}, {LinearLayout::Bases{}, {1, 2, 4, 8, 32}, {16}, {}, {}});
  EXPECT_FALSE(planLaneExchange(from, to).has_value());
}
