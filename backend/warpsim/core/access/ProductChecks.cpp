// What goes wrong with products beside their operands: memory written while they read it, products
// that nobody waits for, and warps that do not take part.
#include "backend/warpsim/core/access/Addresses.h"

using namespace tw::warpsim;

/// Returns true if the lane knows that some warp has waited for the product: it ends for all four
/// of them.
static bool isKnownToBeOver(const MemoryStep &step, unsigned lane, unsigned group,
                            const GroupProduct &product) {
  const Clocks &clocks = step.cta.clocks;
  for (unsigned i = 0; i < kWarpsOfGroup; ++i) {
    if (!(product.finished >> i & 1))
      continue;
    if (product.epochs[i] < clocks.epoch())
      return true;
    for (unsigned other = 0; other < kWarpSize; ++other)
      if (clocks.knows(step.warp.index, lane, group * kWarpsOfGroup + i, other, product.clocks[i]))
        return true;
  }
  return false;
}

static void reportWrite(const MemoryStep &step, const Request &request, unsigned lane,
                        unsigned group, const GroupProduct &product) {
  bool isOver = product.finished == product.issued;
  auto describe = [&](Finding &finding) {
    Place place = describePlace(step.cta, request, lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.otherThread = step.cta.threadPosition(group * kWarpsOfGroup, 0);
    finding.message = "the thread writes " + place.text + ", which a product of warps " +
                      std::to_string(group * kWarpsOfGroup) + " to " +
                      std::to_string(group * kWarpsOfGroup + kWarpsOfGroup - 1) +
                      (isOver ? " has read, with nothing that orders the wait for it before"
                              : " reads: it is in flight, no wgmma.wait_group has covered it");
  };
  step.cta.report(isOver ? Kind::RaceWar : Kind::AsyncRace, step.warp, lane, step.pc, describe,
                  product.pc);
}

static void checkLaneOfWrite(const MemoryStep &step, const Request &request, unsigned lane) {
  AsyncProducts &products = step.cta.products;
  uint64_t first = request.at[lane] / kMatrixPieceBytes;
  uint64_t last = (request.at[lane] + request.bytes - 1) / kMatrixPieceBytes;
  for (unsigned number = 0; number < products.groups.size(); ++number) {
    const Warpgroup &group = products.groups[number];
    for (uint64_t piece = first; piece <= last; ++piece) {
      uint32_t reader = group.readers[piece];
      if (reader <= group.numDropped)
        continue;
      const GroupProduct &product = group.products[reader - 1 - group.numDropped];
      if (!isKnownToBeOver(step, lane, number, product))
        return reportWrite(step, request, lane, number, product);
    }
  }
}

/// Returns true if products that may not be over read some of these bytes.
static bool isRead(const AsyncProducts &products, uint64_t at, uint64_t bytes) {
  for (const Warpgroup &group : products.groups)
    for (uint64_t piece = at / kMatrixPieceBytes; piece <= (at + bytes - 1) / kMatrixPieceBytes;
         ++piece)
      if (group.readers[piece] > group.numDropped)
        return true;
  return false;
}

void tw::warpsim::checkProducts(const MemoryStep &step, const Request &request) {
  if (!step.isWrite || request.space != Space::Shared ||
      !step.cta.launch.launch.options.checksRaces)
    return;
  uint64_t rowBytes = uint64_t(kWarpSize) * request.bytes;
  if (request.isRow && !isRead(step.cta.products, request.at[0], rowBytes))
    return;
  Request each = request;
  each.expand();
  for (LaneMask rest = each.lanes; rest; rest &= rest - 1)
    checkLaneOfWrite(step, each, unsigned(__builtin_ctz(rest)));
}

static void reportMissingWarps(Cta &cta, unsigned number) {
  const Warpgroup &group = cta.products.groups[number];
  unsigned first = number * kWarpsOfGroup;
  if (group.isBroken || first + kWarpsOfGroup > cta.warps.size())
    return; // told already
  for (const GroupProduct &product : group.products) {
    unsigned missing = ~product.issued & 0xf;
    if (!missing)
      continue;
    unsigned warp = first + unsigned(__builtin_ctz(missing));
    cta.report(Kind::WarpgroupMisuse, cta.warps[warp], 0, product.pc, [&](Finding &finding) {
      finding.message = "warp " + std::to_string(warp) +
                        " ends without this product, which other warps of its warpgroup have "
                        "issued: all four have to";
    });
  }
}

void tw::warpsim::reportProductLeaks(Cta &cta) {
  if (!cta.products.isUsed)
    return;
  for (unsigned warp = 0; warp < cta.warps.size(); ++warp)
    for (const ProductInFlight &product : cta.products.ofWarp[warp].inFlight) {
      bool isCommitted = product.group < cta.products.ofWarp[warp].numCommitted;
      unsigned lane = unsigned(__builtin_ctz(product.lanes));
      cta.report(Kind::AsyncLeak, cta.warps[warp], lane, product.pc, [&](Finding &finding) {
        finding.message = std::string("the thread ends and has not ") +
                          (isCommitted ? "waited for" : "committed, nor waited for,") +
                          " this product";
      });
    }
  for (unsigned group = 0; group < cta.products.groups.size(); ++group)
    reportMissingWarps(cta, group);
}
