// Joins of what is known.
#include "backend/warpsim/core/clocks/Knowledge.h"
#include <algorithm>

using namespace tw::warpsim;
using Part = std::shared_ptr<const CtaKnowledge>;

// Longer lists of raised clocks are folded into the base, which is compared as a vector.
constexpr size_t kMaxRaised = 4;

uint32_t CtaKnowledge::clockOf(uint32_t thread) const {
  uint32_t clock = base && thread < base->size() ? (*base)[thread] : 0;
  for (auto [each, latest] : raised)
    if (each == thread)
      return std::max(clock, latest);
  return clock;
}

void tw::warpsim::joinInto(ClockVector &clocks, const CtaKnowledge &knowledge) {
  size_t size = knowledge.base ? knowledge.base->size() : 0;
  if (!knowledge.raised.empty())
    size = std::max<size_t>(size, knowledge.raised.back().first + 1);
  clocks.resize(std::max(clocks.size(), size));
  for (size_t i = 0; knowledge.base && i < knowledge.base->size(); ++i)
    clocks[i] = std::max(clocks[i], (*knowledge.base)[i]);
  for (auto [thread, clock] : knowledge.raised)
    clocks[thread] = std::max(clocks[thread], clock);
}

/// Returns true if no clock of `b` is later than that of `a`.
static bool includes(const ClockVector &a, const ClockVector &b) {
  size_t shared = std::min(a.size(), b.size());
  uint32_t isLater = 0;
  for (size_t i = 0; i < shared; ++i)
    isLater |= b[i] > a[i];
  return !isLater &&
         std::all_of(b.begin() + shared, b.end(), [](uint32_t clock) { return !clock; });
}

/// Returns true if all that `b` knows of a CTA is in `a`.
static bool includes(const CtaKnowledge &a, const CtaKnowledge &b) {
  if (a.epoch != b.epoch)
    return a.epoch > b.epoch;
  for (auto [thread, clock] : b.raised)
    if (a.clockOf(thread) < clock)
      return false;
  if (a.base == b.base || !b.base || (a.base && includes(*a.base, *b.base)))
    return true;
  if (a.raised.empty())
    return false;
  for (uint32_t thread = 0; thread < b.base->size(); ++thread)
    if (a.clockOf(thread) < (*b.base)[thread])
      return false;
  return true;
}

static std::vector<std::pair<uint32_t, uint32_t>> raisedOf(const CtaKnowledge &a,
                                                           const CtaKnowledge &b) {
  std::vector<std::pair<uint32_t, uint32_t>> result = a.raised;
  for (auto [thread, clock] : b.raised) {
    auto found = std::ranges::find(result, thread, &std::pair<uint32_t, uint32_t>::first);
    if (found == result.end())
      result.emplace_back(thread, clock);
    else
      found->second = std::max(found->second, clock);
  }
  std::ranges::sort(result);
  return result;
}

static Part joined(const Part &a, const Part &b) {
  if (a == b || includes(*a, *b))
    return a;
  if (includes(*b, *a))
    return b;
  CtaKnowledge result = {a->epoch, a->base ? a->base : b->base, raisedOf(*a, *b)};
  bool isBaseOfBoth = a->base == b->base || !a->base || !b->base;
  if (!isBaseOfBoth || result.raised.size() > kMaxRaised) {
    ClockVector clocks;
    joinInto(clocks, *a);
    joinInto(clocks, *b);
    result.base = std::make_shared<ClockVector>(std::move(clocks));
    result.raised.clear();
  }
  return std::make_shared<CtaKnowledge>(std::move(result));
}

SharedKnowledge tw::warpsim::joined(const SharedKnowledge &a, const SharedKnowledge &b) {
  if (a == b || !b || b->empty())
    return a;
  if (!a || a->empty())
    return b;
  Knowledge result;
  result.reserve(a->size() + b->size());
  bool isA = true, isB = true; // the result so far is that of one of the two
  auto other = b->begin();
  for (const auto &[cta, part] : *a) {
    for (; other != b->end() && other->first < cta; ++other, isA = false)
      result.push_back(*other);
    if (other == b->end() || other->first != cta) {
      isB = false;
      result.emplace_back(cta, part);
      continue;
    }
    Part both = ::joined(part, other->second);
    isA &= both == part;
    isB &= both == other->second;
    result.emplace_back(cta, std::move(both));
    ++other;
  }
  isA &= other == b->end();
  if (isA || isB)
    return isA ? a : b;
  result.insert(result.end(), other, b->end());
  return std::make_shared<Knowledge>(std::move(result));
}

const CtaKnowledge *tw::warpsim::partOf(const SharedKnowledge &knowledge, uint32_t cta) {
  if (!knowledge)
    return nullptr;
  auto found =
      std::lower_bound(knowledge->begin(), knowledge->end(), cta,
                       [](const auto &each, uint32_t number) { return each.first < number; });
  return found != knowledge->end() && found->first == cta ? found->second.get() : nullptr;
}
