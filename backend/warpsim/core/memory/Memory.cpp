// Which addresses exist, and what is known of their bytes.
#include "backend/warpsim/core/memory/Memory.h"
#include <algorithm>

using namespace tw::warpsim;

GlobalMemory::GlobalMemory(const Program &program, const Launch &launch) {
  for (const Allocation &allocation : launch.allocations) {
    if (!allocation.bytes)
      continue;
    Region region;
    region.name = allocation.name;
    region.base = allocation.base;
    region.end = allocation.base + allocation.bytes;
    region.host = reinterpret_cast<uint8_t *>(allocation.base);
    region.isReadOnly = allocation.isReadOnly;
    region.skippedBytes = allocation.skippedBytes;
    region.initialized = allocation.initialized;
    regions.push_back(std::move(region));
  }
  std::sort(regions.begin(), regions.end(),
            [](const Region &a, const Region &b) { return a.base < b.base; });
  std::vector<Region> merged;
  for (Region &region : regions) {
    if (merged.empty() || merged.back().end <= region.base) {
      merged.push_back(std::move(region));
      continue;
    }
    Region &last = merged.back();
    if (last.name != region.name)
      last.name += "/" + region.name;
    last.end = std::max(last.end, region.end);
    last.isReadOnly &= region.isReadOnly;
    last.initialized = nullptr; // two views of the same bytes would have to agree
  }
  regions = std::move(merged);
  addVariables(globalImage, program.globalImage, program.globalBase, "global variables", false);
  addVariables(constImage, program.constImage, program.constBase, "constants", true);
  std::sort(regions.begin(), regions.end(),
            [](const Region &a, const Region &b) { return a.base < b.base; });
  addEmptyArrays(launch);
  for (Region &region : regions)
    if (!region.isReadOnly && launch.options.checksRaces)
      region.shadow = std::make_unique<PagedShadow>(region.base, region.end - region.base);
}

void GlobalMemory::addEmptyArrays(const Launch &launch) {
  for (const Allocation &allocation : launch.allocations) {
    if (allocation.bytes)
      continue;
    Region &region = emptyArrays[&allocation];
    region.name = allocation.name;
    region.base = region.end = allocation.base;
  }
}

void GlobalMemory::addVariables(std::string &image, const std::string &initial, uint64_t base,
                                const char *name, bool isReadOnly) {
  if (initial.empty())
    return;
  image = initial;
  Region region;
  region.name = name;
  region.base = base;
  region.end = base + image.size();
  region.host = reinterpret_cast<uint8_t *>(image.data());
  region.isReadOnly = isReadOnly;
  regions.push_back(std::move(region));
}

Region *GlobalMemory::find(uint64_t address, uint32_t &hint) {
  if (hint < regions.size() && regions[hint].base <= address && address < regions[hint].end)
    return &regions[hint];
  auto next = std::upper_bound(regions.begin(), regions.end(), address,
                               [](uint64_t value, const Region &r) { return value < r.base; });
  if (next == regions.begin() || (next - 1)->end <= address)
    return nullptr;
  hint = uint32_t(next - 1 - regions.begin());
  return &regions[hint];
}

Region *GlobalMemory::regionOf(const Allocation &allocation) {
  uint32_t hint = 0;
  if (auto empty = emptyArrays.find(&allocation); empty != emptyArrays.end())
    return &empty->second;
  return find(allocation.base, hint);
}

const Region *GlobalMemory::nearest(uint64_t address) const {
  const Region *best = nullptr;
  uint64_t least = ~uint64_t(0);
  for (const Region &region : regions) {
    uint64_t distance = address < region.base   ? region.base - address
                        : address >= region.end ? address - region.end
                                                : 0;
    if (distance < least) {
      least = distance;
      best = &region;
    }
  }
  return best;
}

void TrackedBytes::reset(size_t size) {
  bytes.resize(size);
  written.assign((size + 63) / 64 + 1, 0);
  defined.assign((size + 63) / 64 + 1, 0);
}

// An access is naturally aligned and at most 32 bytes, so its bits are in one word.
static uint64_t bitsOf(uint64_t offset, unsigned count) {
  return ((uint64_t(1) << count) - 1) << (offset & 63);
}

void TrackedBytes::markWritten(uint64_t offset, unsigned count, bool isDefined) {
  uint64_t bits = bitsOf(offset, count);
  written[offset >> 6] |= bits;
  if (isDefined)
    defined[offset >> 6] |= bits;
  else
    defined[offset >> 6] &= ~bits;
}

bool TrackedBytes::isWritten(uint64_t offset, unsigned count) const {
  return (~written[offset >> 6] & bitsOf(offset, count)) == 0;
}

bool TrackedBytes::isDefined(uint64_t offset, unsigned count) const {
  return (~defined[offset >> 6] & bitsOf(offset, count)) == 0;
}
