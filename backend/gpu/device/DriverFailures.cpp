// What the error numbers of a GPU's driver mean to users, and what they can do.
#include "backend/gpu/device/DriverFailures.h"

using namespace tw;
using namespace tw::gpu;

const FailureRow &gpu::rowOf(const FailureTable &table, int result) {
  for (const FailureRow &row : table.rows)
    if (row.result == result)
      return row;
  return table.other;
}

static std::string withSimulator(std::string hint, const std::string &simulator) {
  constexpr std::string_view mark = "$sim";
  if (size_t at = hint.find(mark); at != std::string::npos)
    hint.replace(at, mark.size(), simulator);
  return hint;
}

RuntimeError gpu::describeFailure(const FailureTable &table, const FailureRow &row,
                                  const DriverFailure &failure, const std::string &meaning,
                                  const std::string &call) {
  std::string message;
  if (row.blame == Blame::Kernel) {
    message = "a kernel on " + failure.device + " " + meaning;
    if (!failure.suspects.empty())
      message += "; the last ones launched were " + failure.suspects;
  } else {
    message = failure.device + ": " + meaning;
  }
  const std::string &simulator = failure.simulator.empty() ? table.simulator : failure.simulator;
  return {row.kind, row.code, message + " (" + call + ")", withSimulator(row.hint, simulator)};
}
