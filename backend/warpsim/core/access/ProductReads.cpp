// Checks of the shared memory that a product reads, when it is issued.
#include "backend/warpsim/core/access/ProductReads.h"

using namespace tw::warpsim;

static std::string nameOf(const std::array<uint32_t, 3> &thread) {
  return "thread (" + std::to_string(thread[0]) + ", " + std::to_string(thread[1]) + ", " +
         std::to_string(thread[2]) + ")";
}

static void reportProxyRace(const MemoryStep &step, const Request &request, unsigned lane,
                            const PastWrite &write, const char *what) {
  auto describe = [&](Finding &finding) {
    Place place = describePlace(step.cta, request, lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.otherThread = step.cta.threadPosition(write.warp, write.lane);
    finding.message = std::string(what) + place.text + ", which " + nameOf(finding.otherThread) +
                      " wrote, through the asynchronous proxy: no fence.proxy.async comes between";
  };
  step.cta.report(Kind::ProxyRace, step.warp, lane, step.pc, describe, write.pc);
}

bool tw::warpsim::checkProxy(const MemoryStep &step, const Request &request, unsigned lane,
                             const char *what) {
  Cta &cta = step.cta;
  const Clocks &clocks = cta.clocks;
  ProxyFences &fences = cta.proxyFences;
  bool isForAll = true, isRacing = false;
  PastWrite uncovered;
  auto check = [&](const PastWrite &write) {
    if (!fences.isOfCta(write) || fences.coversForAll(clocks, write))
      return;
    isForAll = false;
    bool isKnown = write.epoch != clocks.epoch() ||
                   clocks.knows(step.warp.index, lane, write.warp, write.lane, write.clock);
    if (!isKnown)
      isRacing = true;
    else if (!fences.covers(clocks, step.warp.index, lane, write))
      uncovered = write;
  };
  cta.sharedShadow.forEachWrite(uint32_t(request.at[lane]), request.bytes, check);
  if (isRacing)
    checkLane(step, request, Strength::Weak, lane, nullptr);
  else if (uncovered.epoch)
    reportProxyRace(step, request, lane, uncovered, what);
  return isForAll;
}

static void checkContent(const MemoryStep &step, const Request &request, unsigned lane) {
  const LaunchOptions &options = step.cta.launch.launch.options;
  if (step.cta.async.numInFlight)
    checkInFlight(step, request);
  if (options.checksInitialized && !step.cta.shared.isWritten(request.at[lane], request.bytes))
    reportAccess(step, Kind::UninitShared, request, lane, "has bytes that nothing has written");
}

bool tw::warpsim::checkOperand(const MemoryStep &step, std::span<const uint32_t> addresses,
                               uint32_t number, bool isFirst) {
  Cta &cta = step.cta;
  Warpgroup &group = cta.products.groups[step.warp.index / kWarpsOfGroup];
  unsigned lane = unsigned(__builtin_ctz(step.warp.present()));
  Request request;
  request.space = Space::Shared;
  request.lanes = LaneMask(1) << lane;
  request.bytes = kMatrixPieceBytes;
  bool isForAll = true;
  for (uint32_t address : addresses) {
    uint64_t offset = address - cta.launch.program.sharedBase;
    request.at[lane] = address;
    if (offset + request.bytes > cta.launch.sharedBytes) {
      reportAccess(step, Kind::OutOfBoundsShared, request, lane,
                   "is outside shared memory (" + std::to_string(cta.launch.sharedBytes) +
                       " bytes)");
      continue;
    }
    request.at[lane] = offset;
    group.readers[offset / request.bytes] = number + 1;
    if (isFirst)
      checkContent(step, request, lane);
    if (cta.bulk.isUsed)
      checkBulk(step, request);
    if (cta.launch.launch.options.checksRaces)
      // The first lane stands for its warp, whose lanes issue the product together.
      isForAll &= checkProxy(step, request, lane, "the product reads ");
  }
  return isForAll;
}
