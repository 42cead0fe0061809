// Devices that execute another machine's code on this one, and say what they found.
#ifndef RUNTIME_SIMULATION_H
#define RUNTIME_SIMULATION_H
#include "runtime/Device.h"

namespace tw {

/// Memory that a kernel may reach by addresses which it loads.
struct ReachableMemory {
  std::string name; // in reports
  uint64_t base = 0, bytes = 0;
  bool isReadOnly = false;
};

/// How a launch on a simulated device runs.
struct SimulationOptions {
  std::string schedule = "round-robin"; // or greedy, reverse, random
  uint64_t seed = 0;
  std::vector<uint64_t> ctas;      // linear numbers of the programs to run; empty: all
  std::string completion = "late"; // of asynchronous copies; or early, random (with the seed)
  std::string arithmetic = "fast"; // of matrix instructions; or exact
  uint64_t maxSteps = 0, maxStepsPerCta = 0, maxStepsPerLaunch = 0; // 0: as many as is usual
  unsigned numTimelines = 0;              // of so many programs the report has a timeline
  std::vector<ReachableMemory> reachable; // beside the memory of a launch's arguments
};

class SimulatedDevice : public Device {
public:
  SimulatedDevice *asSimulated() final { return this; }
  /// Returns the findings of the last launch, as JSON; empty before the first one.
  virtual std::string lastReport() = 0;
};

} // namespace tw
#endif
