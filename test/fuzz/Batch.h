// Trials in processes of their own, so that a crash, a hang or a flood of memory ends only one.
#ifndef TEST_FUZZ_BATCH_H
#define TEST_FUZZ_BATCH_H
#include "test/fuzz/Trial.h"
#include <functional>

namespace tw::fuzz {

struct Limits {
  unsigned seconds = 10;      // of processor time for one trial
  unsigned megabytes = 3'000; // of addresses
};

/// A trial that the compiler did not answer as it must.
struct Finding {
  uint64_t seed = 0;
  Trial trial;
  std::string what; // the signal, assertion or message
  /// `what` without numbers and names: equal for findings that are likely one fault.
  std::string kind() const;
};

struct Counts {
  unsigned findings = 0;
  unsigned refusedByParser = 0, done = 0; // the others got a diagnostic later
  std::vector<std::string> notDrawn;      // of each trial of which the fuzzer itself died: why
};

/// Runs the trials of the seeds from `first`. `report` is told of every finding.
Counts runTrials(uint64_t first, uint64_t count, const Corpus &corpus, const Limits &limits,
                 llvm::function_ref<void(const Finding &)> report);

/// Runs one trial; what is wrong, empty when nothing is.
std::string runAlone(const Trial &trial, const Limits &limits);

} // namespace tw::fuzz
#endif
