// Runs kernels written as the body of a PTX entry, on arrays of 32-bit words.
#ifndef TEST_UNIT_WARPSIM_SIMULATIONHARNESS_H
#define TEST_UNIT_WARPSIM_SIMULATIONHARNESS_H
#include "backend/warpsim/device/Simulate.h"
#include <deque>

namespace tw::warpsim {

/// A kernel `k` with 64-bit parameters p0, p1, ...; registers %p0-15, %r0-63, %f0-31, %rd0-31,
/// %fd0-7, %h0-15; and `.shared` array `buffer` of 4096 bytes. Each parameter is also in %rd0, ...
std::string kernelText(const std::string &body, unsigned numParameters,
                       const std::string &declarations = "");

class Simulation {
public:
  /// Adds an argument. The reference stays valid.
  std::vector<uint32_t> &array(const std::string &name, std::vector<uint32_t> values,
                               bool isReadOnly = false);
  void scalar(uint64_t value);
  /// Runs a body, or a whole text if `isWhole`. A text that cannot be parsed fails the test.
  SimulationReport run(const std::string &body, const std::string &declarations = "");
  SimulationReport runText(const std::string &text);

  Launch launch;
  Program program;
  std::string printed;

private:
  std::deque<std::vector<uint32_t>> arrays;
  std::vector<uint64_t> arguments;
};

/// The kinds found, each once, in order of their names: "race-raw race-waw".
std::string kindsIn(const SimulationReport &report);
/// The first finding of a kind; an empty one with a failed test when there is none.
Finding findingOf(const SimulationReport &report, Kind kind);
/// 0, 1, 2, ...
std::vector<uint32_t> iota(uint32_t count);

} // namespace tw::warpsim
#endif
