// Makes the text of a finding smaller: fewer lines, fewer passes.
#include "test/fuzz/Shrink.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw::fuzz;

namespace {
/// The finding so far, and the attempts that are left.
struct Shrinking {
  Finding finding;
  const Limits &limits;
  unsigned numTries;

  /// Keeps `trial` where it fails in the same way.
  bool keep(const Trial &trial) {
    if (numTries == 0)
      return false;
    --numTries;
    Finding smaller{finding.seed, trial, runAlone(trial, limits)};
    if (smaller.what.empty() || smaller.kind() != finding.kind())
      return false;
    finding = std::move(smaller);
    return true;
  }
};
} // namespace

static void dropPasses(Shrinking &shrinking) {
  std::string pipeline = shrinking.finding.trial.task.pipeline;
  llvm::SmallVector<llvm::StringRef> passes;
  llvm::StringRef(pipeline).split(passes, ',');
  for (size_t at = passes.size(); at-- > 0 && passes.size() > 1;) {
    llvm::SmallVector<llvm::StringRef> fewer(passes);
    fewer.erase(fewer.begin() + at);
    Trial trial = shrinking.finding.trial;
    trial.task.pipeline = llvm::join(fewer, ",");
    if (shrinking.keep(trial))
      passes = fewer;
  }
}

/// Leaves out `size` lines at a time; whether some were.
static bool dropLines(Shrinking &shrinking, size_t size) {
  std::string text = shrinking.finding.trial.text;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  bool isSmaller = false;
  for (size_t end = lines.size(); end > 0; end -= std::min(end, size)) {
    size_t begin = end - std::min(end, size);
    if (end > lines.size())
      continue;
    llvm::SmallVector<llvm::StringRef> fewer(lines);
    fewer.erase(fewer.begin() + begin, fewer.begin() + end);
    Trial trial = shrinking.finding.trial;
    trial.text = llvm::join(fewer, "\n") + "\n";
    if (!shrinking.keep(trial))
      continue;
    lines = fewer;
    isSmaller = true;
  }
  return isSmaller;
}

Finding tw::fuzz::shrink(Finding finding, const Limits &limits, unsigned numTries) {
  Shrinking shrinking{std::move(finding), limits, numTries};
  dropPasses(shrinking);
  for (size_t size : {16, 6, 3, 2, 1})
    while (dropLines(shrinking, size) && shrinking.numTries > 0)
      ;
  return shrinking.finding;
}
