// Collects what a launch did wrong: one finding for each pair of instructions and kind.
#ifndef BACKEND_WARPSIM_CORE_FINDINGS_H
#define BACKEND_WARPSIM_CORE_FINDINGS_H
#include "backend/warpsim/Launch.h"
#include <mutex>

namespace tw::warpsim {

/// Shared by all host threads of a launch. The kept occurrence is that of the first CTA, whatever
/// order the CTAs run in.
class FindingLog {
public:
  FindingLog(const Program &program, size_t maxFindings)
      : program(program), maxFindings(maxFindings) {}

  /// Counts an occurrence. True when its details are wanted: then `add` them.
  bool count(Kind kind, int32_t instruction, int32_t other, uint64_t cta);
  /// Fills in lines and the user's place. `other` is as it was counted.
  void add(Finding finding, uint64_t cta, int32_t other);
  std::vector<Finding> take();

private:
  struct Entry {
    uint64_t count = 0, cta = ~uint64_t(0);
    Finding finding;
  };
  using Key = std::array<int32_t, 3>; // instruction, kind, other instruction

  const Program &program;
  size_t maxFindings;
  std::mutex mutex; // guards `entries`
  std::map<Key, Entry> entries;
};

} // namespace tw::warpsim
#endif
