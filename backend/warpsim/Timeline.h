// Records what the warps of a CTA do, and when: in steps of the CTA, its warp instructions in the
// order in which they run. Steps are not cycles: all instructions count the same, and warps take
// turns.
#ifndef BACKEND_WARPSIM_TIMELINE_H
#define BACKEND_WARPSIM_TIMELINE_H
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw::warpsim {

struct TimelineEvent {
  /// A warp's turn; an instruction of it that is more than arithmetic; a wait for others, or for
  /// copies; a copy between global and shared memory, up to the wait that it is over for or, where
  /// a barrier counts its bytes, to their coming.
  enum class Kind : uint8_t { Turn, Step, Wait, Copy } kind;
  unsigned warp = 0;
  int32_t pc = -1; // into Program::code; -1 of turns
  uint64_t begin = 0, end = 0;
};

/// The events of one CTA, in the order in which they began; none where nobody asks for them.
class Timeline {
public:
  void start(uint64_t number, bool isAsked);
  void beginTurn(unsigned warp, uint64_t clock);
  void endTurn(unsigned warp, uint64_t clock);
  void addStep(unsigned warp, int32_t pc, uint64_t clock);
  /// The wait ends when the warp's next turn begins.
  void beginWait(unsigned warp, int32_t pc, uint64_t clock);
  /// Returns the copy's number, for its end.
  size_t beginCopy(unsigned warp, int32_t pc, uint64_t clock);
  void endCopy(size_t number, uint64_t clock);
  /// Ends what has not ended, as in a deadlock.
  void finish(uint64_t clock);

  uint64_t cta = 0; // its number in the grid
  bool isKept = false;
  bool isCut = false; // later events are left out
  std::vector<TimelineEvent> events;

private:
  static constexpr size_t kNone = ~size_t(0);
  size_t add(const TimelineEvent &event);
  void end(size_t &number, uint64_t clock);
  size_t &openOf(std::vector<size_t> &open, unsigned warp);

  std::vector<size_t> turns, waits; // open, by warp
};

} // namespace tw::warpsim
#endif
