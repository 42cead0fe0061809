// Kernels for sm_90a with mbarriers, bulk copies and tensor maps.
#ifndef TEST_UNIT_WARPSIM_BULKHARNESS_H
#define TEST_UNIT_WARPSIM_BULKHARNESS_H
#include "backend/warpsim/TensorMap.h"
#include "test/unit/warpsim/SimulationHarness.h"

namespace tw::warpsim {

/// A launch of a kernel whose first parameters are tensor maps and whose others are arrays of
/// words: %m0, %m1, ... have the addresses of maps, %g0, %g1, ... of arrays, %s that of shared
/// memory and %t the thread.
struct BulkLaunch {
  std::vector<TensorMap> maps;
  std::vector<std::vector<uint32_t> *> arrays;
  unsigned numThreads = 32, sharedBytes = 8192;
  std::string directives; // of the kernel, such as its clusters
  LaunchOptions options;
  std::array<uint32_t, 3> grid = {1, 1, 1};

  std::string text(const std::string &body) const;
  SimulationReport run(const std::string &body) const;
};

/// Returns the kinds found, which have to be the same in every completion mode.
std::string kindsOf(BulkLaunch launch, const std::string &body);

} // namespace tw::warpsim
#endif
