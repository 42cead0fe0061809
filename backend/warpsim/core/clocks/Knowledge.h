// What one thread can know of the accesses of others: the latest clock of each that it has heard
// of.
#ifndef BACKEND_WARPSIM_CORE_KNOWLEDGE_H
#define BACKEND_WARPSIM_CORE_KNOWLEDGE_H
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tw::warpsim {

/// Clocks by thread of a CTA; those beyond its end are 0. Shared by all who know the same.
using ClockVector = std::vector<uint32_t>;

/// The latest clock of each thread of a CTA that somebody knows of, valid in one epoch of that CTA;
/// everything in the epochs before is known too. Lanes of a warp mostly know the same and
/// themselves: a few `raised` threads, ascending, are known up to another clock than `base` says.
struct CtaKnowledge {
  uint32_t epoch = 0;
  std::shared_ptr<const ClockVector> base; // null: nothing
  std::vector<std::pair<uint32_t, uint32_t>> raised;
  uint32_t clockOf(uint32_t thread) const;
};
/// Raises each clock to that of `knowledge`.
void joinInto(ClockVector &clocks, const CtaKnowledge &knowledge);

/// By CTA (Accessor::cta), ascending. Never changed once it is shared: the lanes of a warp, the
/// addresses that they released, and joins that add nothing hold one object, so that comparing
/// pointers answers most questions in grids of hundreds of CTAs.
using Knowledge = std::vector<std::pair<uint32_t, std::shared_ptr<const CtaKnowledge>>>;
/// Null: nothing is known.
using SharedKnowledge = std::shared_ptr<const Knowledge>;
/// Holds what is known at one reach each: to all, and to the threads of one CTA.
struct ScopedKnowledge {
  SharedKnowledge gpu, cta;
};

/// Returns what somebody knows who knows both: one of the two where it includes the other.
SharedKnowledge joined(const SharedKnowledge &a, const SharedKnowledge &b);
/// The part about one CTA, or null.
const CtaKnowledge *partOf(const SharedKnowledge &knowledge, uint32_t cta);

/// Remembers the last join: the lanes of a warp mostly ask for the same one.
template <typename Value, typename Other> struct LastJoin {
  Value from, result;
  Other with;
  template <typename Join> const Value &operator()(const Value &a, const Other &b, Join join) {
    if (!result || from != a || with != b) {
      result = join(a, b);
      from = a;
      with = b;
    }
    return result;
  }
};

} // namespace tw::warpsim
#endif
