// Sectors, bank conflicts and other counts of memory requests.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/wave/SharedPhases.h"
#include <algorithm>

using namespace tw::warpsim;

constexpr unsigned kSectorShift = 5, kNumBanks = 32, kMaxBanks = 64, kBankBytes = 4;

/// Sectors are counted from the allocation's first byte: a GPU's allocator gives multiples of 256
/// bytes, whatever the host array's address is.
static uint64_t sectorOf(const Request &request, uint64_t address) {
  const Region *region = request.region;
  return (address - (region ? region->base - region->skippedBytes : 0)) >> kSectorShift;
}

static uint64_t countSectors(const Request &request) {
  uint64_t first = request.at[__builtin_ctz(request.lanes)];
  if (request.isUniform)
    return sectorOf(request, first + request.bytes - 1) - sectorOf(request, first) + 1;
  if (request.isRow)
    return sectorOf(request, first + kWarpSize * request.bytes - 1) - sectorOf(request, first) + 1;
  // An access is naturally aligned and at most a sector long: one sector a lane.
  std::array<uint64_t, kWarpSize> sectors;
  unsigned count = 0;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    uint64_t sector = sectorOf(request, request.at[__builtin_ctz(rest)]);
    if (count == 0 || sectors[count - 1] != sector)
      sectors[count++] = sector;
  }
  std::sort(sectors.begin(), sectors.begin() + count);
  return uint64_t(std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin());
}

/// The passes that a phase's lanes need: the most different words that one bank has to give.
static unsigned countPasses(const Request &request, LaneMask lanes, unsigned numBanks) {
  std::array<std::array<uint64_t, kWarpSize>, kMaxBanks> words;
  std::array<uint8_t, kMaxBanks> counts = {};
  unsigned passes = 0;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    uint64_t at = request.at[__builtin_ctz(rest)];
    for (uint64_t word = at / kBankBytes; word <= (at + request.bytes - 1) / kBankBytes; ++word) {
      auto &bank = words[word % numBanks];
      uint8_t &count = counts[word % numBanks];
      if (std::find(bank.begin(), bank.begin() + count, word) == bank.begin() + count)
        bank[count++] = word;
      passes = std::max<unsigned>(passes, count);
    }
  }
  return passes;
}

/// AMD's groups are not of neighbours, and depend on what is accessed.
static void countByPhases(const MemoryStep &step, const Request &request) {
  Statistics &statistics = step.cta.statistics;
  SharedPhases phases = sharedPhases(step.cta.launch.arch, request.bytes, step.isWrite);
  for (LaneMask group : phases.lanes) {
    LaneMask lanes = request.lanes & group;
    if (!lanes)
      continue;
    ++statistics.idealSharedWavefronts;
    statistics.sharedWavefronts += countPasses(request, lanes, phases.numBanks);
  }
}

/// The lanes of each phase cover the banks by themselves.
static void countPhases(Statistics &statistics, const Request &request, unsigned numPhases) {
  unsigned lanesPerPhase = kWarpSize / numPhases;
  LaneMask phaseLanes = lanesPerPhase == kWarpSize ? ~LaneMask(0) : (1u << lanesPerPhase) - 1;
  for (unsigned phase = 0; phase < numPhases; ++phase) {
    LaneMask lanes = request.lanes & (phaseLanes << phase * lanesPerPhase);
    if (!lanes)
      continue;
    ++statistics.idealSharedWavefronts;
    statistics.sharedWavefronts += countPasses(request, lanes, kNumBanks);
  }
}

static void countShared(const MemoryStep &step, const Request &request) {
  Statistics &statistics = step.cta.statistics;
  ++statistics.sharedRequests;
  // 8-byte accesses are served by half-warps, 16-byte ones by quarter-warps.
  unsigned numPhases = request.bytes <= 4 ? 1 : request.bytes / 4;
  // 128 bytes in a row cover each bank once, wherever they begin; and one word serves all lanes.
  if (request.isRow || request.isUniform) {
    statistics.sharedWavefronts += numPhases;
    statistics.idealSharedWavefronts += numPhases;
    return;
  }
  if (step.cta.launch.program.isAmdgcn)
    return countByPhases(step, request);
  countPhases(statistics, request, numPhases);
}

static void count(const MemoryStep &step, const Request &request) {
  Statistics &statistics = step.cta.statistics;
  // Lanes that ask for the same bytes ask once.
  unsigned numPlaces = request.isUniform ? 1 : unsigned(__builtin_popcount(request.lanes));
  uint64_t bytes = uint64_t(numPlaces) * request.bytes;
  if (request.space == Space::Shared) {
    countShared(step, request);
  } else if (request.space == Space::Local) {
    ++statistics.localAccesses;
  } else if (request.space == Space::Global && step.isWrite) {
    ++statistics.globalStoreRequests;
    statistics.globalStoreSectors += countSectors(request);
    statistics.globalStoreBytes += bytes;
  } else if (request.space == Space::Global) {
    ++statistics.globalLoadRequests;
    statistics.globalLoadSectors += countSectors(request);
    statistics.globalLoadBytes += bytes;
  }
}

/// The counters of accesses, loads and stores together.
static LineStatistics accessesOf(const Statistics &sum) {
  LineStatistics line;
  line.globalRequests = sum.globalLoadRequests + sum.globalStoreRequests;
  line.globalSectors = sum.globalLoadSectors + sum.globalStoreSectors;
  line.globalBytes = sum.globalLoadBytes + sum.globalStoreBytes;
  line.sharedRequests = sum.sharedRequests;
  line.sharedWavefronts = sum.sharedWavefronts;
  line.idealSharedWavefronts = sum.idealSharedWavefronts;
  return line;
}

void tw::warpsim::countRequest(const MemoryStep &step, const Request &request) {
  LineStatistics before = accessesOf(step.cta.statistics);
  count(step, request);
  LineStatistics after = accessesOf(step.cta.statistics);
  LineStatistics &own = step.cta.counted[size_t(step.pc)];
  own.globalRequests += after.globalRequests - before.globalRequests;
  own.globalSectors += after.globalSectors - before.globalSectors;
  own.globalBytes += after.globalBytes - before.globalBytes;
  own.sharedRequests += after.sharedRequests - before.sharedRequests;
  own.sharedWavefronts += after.sharedWavefronts - before.sharedWavefronts;
  own.idealSharedWavefronts += after.idealSharedWavefronts - before.idealSharedWavefronts;
}
