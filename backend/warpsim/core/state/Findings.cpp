// Keeps the findings of a launch apart by kind and instructions.
#include "backend/warpsim/core/state/Findings.h"

using namespace tw::warpsim;

bool FindingLog::count(Kind kind, int32_t instruction, int32_t other, uint64_t cta) {
  std::lock_guard lock(mutex);
  Key key = {instruction, int32_t(kind), other};
  auto found = entries.find(key);
  if (found == entries.end()) {
    if (entries.size() >= maxFindings)
      return false;
    found = entries.emplace(key, Entry()).first;
  }
  ++found->second.count;
  return cta < found->second.cta;
}

void FindingLog::add(Finding finding, uint64_t cta, int32_t other) {
  auto lineOf = [&](int32_t pc) { return pc < 0 ? 0 : program.code[pc].line; };
  finding.ptxLine = lineOf(finding.instruction);
  finding.otherPtxLine = lineOf(finding.otherInstruction);
  int32_t location = finding.instruction < 0 ? -1 : program.code[finding.instruction].location;
  if (location >= 0 && size_t(location) < program.locations.size()) {
    const SourceLocation &place = program.locations[location];
    auto file = program.files.find(place.file);
    finding.file = file == program.files.end() ? "" : file->second;
    finding.sourceLine = place.line;
    finding.sourceColumn = place.column;
  }
  std::lock_guard lock(mutex);
  Entry &entry = entries[{finding.instruction, int32_t(finding.kind), other}];
  if (cta >= entry.cta)
    return;
  entry.cta = cta;
  entry.finding = std::move(finding);
}

std::vector<Finding> FindingLog::take() {
  std::lock_guard lock(mutex);
  std::vector<Finding> findings;
  for (auto &[key, entry] : entries) {
    entry.finding.count = entry.count;
    findings.push_back(std::move(entry.finding));
  }
  entries.clear();
  return findings;
}
