// Counters of a launch on the simulator, in all and by line of the user's source.
#ifndef BACKEND_WARPSIM_STATISTICS_H
#define BACKEND_WARPSIM_STATISTICS_H
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tw::warpsim {

/// Counters of one instruction, or of all that come from one line of the user's source.
struct LineStatistics {
  uint64_t warpInstructions = 0;
  uint64_t globalRequests = 0, globalSectors = 0, globalBytes = 0; // loads and stores
  uint64_t sharedRequests = 0, sharedWavefronts = 0, idealSharedWavefronts = 0;
  uint64_t divergentBranches = 0;
  uint64_t waits = 0; // how often a warp had to wait there for others, or for copies

  LineStatistics &operator+=(const LineStatistics &other);
};

/// Counters of one launch, summed over CTAs.
struct Statistics {
  uint64_t warpInstructions = 0, threadInstructions = 0;
  std::map<std::string, uint64_t> mix; // warp instructions by opcode with type: "ld.global.v4.b32"
  // Sectors have 32 bytes; bytes are those asked for.
  uint64_t globalLoadRequests = 0, globalLoadSectors = 0, globalLoadBytes = 0;
  uint64_t globalStoreRequests = 0, globalStoreSectors = 0, globalStoreBytes = 0;
  uint64_t sharedRequests = 0, sharedWavefronts = 0; // n x 128 bytes: n without bank conflicts
  uint64_t idealSharedWavefronts = 0;
  // For ldmatrix and stmatrix: groups of 8 rows, and wavefronts that these took (1 each is best).
  uint64_t matrixRowGroups = 0, matrixWavefronts = 0;
  uint64_t asyncCopies = 0; // warp instructions
  uint64_t barriers = 0, atomics = 0, localAccesses = 0, divergentBranches = 0;
  std::map<std::pair<std::string, int32_t>, LineStatistics> lines; // by file and line, from 1
  /// Bytes asked for / bytes of the sectors touched, 1.0 is best; 1.0 when there were no accesses.
  double globalLoadEfficiency() const;
  double globalStoreEfficiency() const;
};

} // namespace tw::warpsim
#endif
