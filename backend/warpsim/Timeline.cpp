// Records what the warps of a CTA do, and when.
#include "backend/warpsim/Timeline.h"
#include <algorithm>

using namespace tw::warpsim;
using EventKind = TimelineEvent::Kind;

// More are of no use to people, and of some MB for a program that shows them.
constexpr size_t kMostEvents = 1 << 16;
// The end of an event that has not ended.
constexpr uint64_t kOpen = ~uint64_t(0);

void Timeline::start(uint64_t number, bool isAsked) {
  *this = {};
  cta = number;
  isKept = isAsked;
}

size_t Timeline::add(const TimelineEvent &event) {
  if (events.size() >= kMostEvents) {
    isCut = true;
    return kNone;
  }
  events.push_back(event);
  return events.size() - 1;
}

void Timeline::end(size_t &number, uint64_t clock) {
  if (number != kNone)
    events[number].end = clock;
  number = kNone;
}

size_t &Timeline::openOf(std::vector<size_t> &open, unsigned warp) {
  if (warp >= open.size())
    open.resize(warp + 1, kNone);
  return open[warp];
}

void Timeline::beginTurn(unsigned warp, uint64_t clock) {
  if (!isKept)
    return;
  end(openOf(waits, warp), clock);
  openOf(turns, warp) = add({EventKind::Turn, warp, -1, clock, kOpen});
}

void Timeline::endTurn(unsigned warp, uint64_t clock) {
  if (isKept)
    end(openOf(turns, warp), clock);
}

void Timeline::addStep(unsigned warp, int32_t pc, uint64_t clock) {
  if (isKept)
    add({EventKind::Step, warp, pc, clock - 1, clock});
}

void Timeline::beginWait(unsigned warp, int32_t pc, uint64_t clock) {
  if (isKept)
    openOf(waits, warp) = add({EventKind::Wait, warp, pc, clock, kOpen});
}

size_t Timeline::beginCopy(unsigned warp, int32_t pc, uint64_t clock) {
  return isKept ? add({EventKind::Copy, warp, pc, clock, kOpen}) : kNone;
}

void Timeline::endCopy(size_t number, uint64_t clock) { end(number, clock); }

void Timeline::finish(uint64_t clock) {
  for (TimelineEvent &event : events)
    event.end = std::min(event.end, clock);
}
