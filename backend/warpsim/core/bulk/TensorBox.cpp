// The box of a tensor copy: which bytes of shared memory are which elements (PTX ISA, "Tensors").
#include "backend/warpsim/core/bulk/BulkStep.h"
#include <algorithm>

using namespace tw::warpsim;

namespace {
/// A box under way through its rows.
struct BoxWalk {
  const TensorMap &map;
  std::array<int64_t, 5> start = {};
  std::array<uint32_t, 5> row = {}; // of the present row; [0] is not used
  uint32_t offset = 0;              // of the box in shared memory
  uint64_t sharedBase = 0;
  Region *region = nullptr; // in which the map's tensor begins
  bool hasReported = false; // that the tensor reaches outside of it

  /// The offset of a row's byte: 16-byte parts of every 128 bytes change places by the address bits
  /// above them.
  uint32_t placeOf(uint32_t byte) const {
    uint64_t address = sharedBase + offset + byte;
    uint64_t parts = map.swizzleBytes / 16;
    if (parts)
      address ^= (address >> 7 & (parts - 1)) << 4;
    return uint32_t(address - sharedBase);
  }
  bool next() {
    for (unsigned i = 1; i < map.rank; ++i) {
      if (++row[i] < map.countOf(i))
        return true;
      row[i] = 0;
    }
    return false;
  }
};
} // namespace

static const uint8_t *findMapBytes(const BulkStep &step, uint64_t address) {
  if ((address & kWindowMask) == kParamWindow) {
    const std::string &parameters = step.cta.launch.launch.parameters;
    uint64_t offset = address & ~kWindowMask;
    bool isThere = offset + 128 <= parameters.size();
    return isThere ? reinterpret_cast<const uint8_t *>(parameters.data()) + offset : nullptr;
  }
  uint32_t hint = 0;
  const Region *region = step.cta.launch.memory.find(address, hint);
  bool isThere = region && region->end - address >= 128;
  return isThere ? region->host + (address - region->base) : nullptr;
}

static std::optional<TensorMap> readMap(const BulkStep &step) {
  std::optional<uint64_t> address =
      readAddress(step, step.instruction.sourceAddress, "the address of a tensor map");
  if (!address)
    return std::nullopt;
  auto refuse = [&](const std::string &why) {
    step.report(Kind::TensorMapMisuse, why);
    return std::nullopt;
  };
  if (*address % 64)
    return refuse("the tensor map is not aligned to 64 bytes");
  const uint8_t *bytes = findMapBytes(step, *address);
  if (!bytes)
    return refuse("there is no tensor map of 128 bytes at this address");
  std::optional<TensorMap> map = decode(bytes);
  if (!map)
    return refuse("the 128 bytes are not a valid tensor map of this device");
  if (map->rank != step.instruction.vectorWidth)
    return refuse("the tensor map has " + std::to_string(map->rank) +
                  " dimensions, and the instruction " +
                  std::to_string(step.instruction.vectorWidth));
  return map;
}

/// A part of a row, in or outside of the tensor, in units of 16 bytes of shared memory.
static void addRun(const BoxWalk &walk, uint32_t begin, uint32_t end, uint64_t address,
                   bool isInside, BulkCopy &copy) {
  for (uint32_t at = begin; at < end;) {
    uint32_t next = std::min(end, (at / kBulkPieceBytes + 1) * kBulkPieceBytes);
    BulkPiece piece = {walk.placeOf(at), next - at};
    if (isInside) {
      piece.address = address + (at - begin);
      piece.host = walk.region->host + (piece.address - walk.region->base);
      piece.region = walk.region;
    }
    copy.pieces.push_back(piece);
    at = next;
  }
}

/// Reports a part of a tensor that is not in the array where the tensor begins.
static void reportOutside(const BulkStep &step, const BoxWalk &walk, uint64_t address,
                          uint32_t bytes, bool isLoad) {
  const Region *region = walk.region ? walk.region : step.cta.launch.memory.nearest(walk.map.base);
  if (!region)
    return step.report(Kind::OutOfBoundsGlobal,
                       "a tensor copy accesses global memory, of which the launch has none");
  int64_t offset = int64_t(address - region->base);
  step.cta.report(Kind::OutOfBoundsGlobal, step.warp, step.lane, step.pc, [&](Finding &finding) {
    finding.buffer = region->name;
    finding.offset = offset;
    finding.message = std::string("tensor copy ") + (isLoad ? "reads " : "writes ") +
                      std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                      " of `" + region->name + "`, which has " +
                      std::to_string(region->end - region->base) + " bytes";
  });
}

/// Adds the row that the walk is at, clipped to the tensor. What lies outside of its array is
/// reported, and taken as outside of the tensor.
static void addRow(const BulkStep &step, BoxWalk &walk, uint32_t rowBegin, bool isLoad,
                   BulkCopy &copy) {
  const TensorMap &map = walk.map;
  int64_t bytes = bytesOf(map.element), count = map.box[0], extent = int64_t(map.extents[0]);
  int64_t begin = std::clamp<int64_t>(-walk.start[0], 0, count);
  int64_t end = std::clamp<int64_t>(extent - walk.start[0], begin, count);
  uint64_t address = map.base + uint64_t((walk.start[0] + begin) * bytes);
  for (unsigned i = 1; i < map.rank; ++i) {
    int64_t at = walk.start[i] + int64_t(walk.row[i]) * map.elementStrides[i];
    if (at < 0 || at >= int64_t(map.extents[i]))
      begin = end = 0;
    address += uint64_t(at) * map.strideOf(i);
  }
  uint32_t first = rowBegin + uint32_t(begin * bytes), last = rowBegin + uint32_t(end * bytes);
  const Region *region = walk.region;
  bool isThere = region && address >= region->base && address < region->end &&
                 region->end - address >= last - first;
  if (first < last && !isThere) {
    if (!walk.hasReported)
      reportOutside(step, walk, address, last - first, isLoad);
    walk.hasReported = true;
    last = first;
  }
  addRun(walk, rowBegin, first, 0, false, copy);
  addRun(walk, first, last, address, true, copy);
  addRun(walk, last, rowBegin + uint32_t(count * bytes), 0, false, copy);
}

/// The bytes of an element outside, repeated in four bytes; of 8-byte elements in each half.
static uint32_t fillOf(const TensorMap &map) {
  if (!map.fillsWithNan)
    return 0;
  return bytesOf(map.element) == 2 ? 0x7fff7fff : 0x7fffffff;
}

bool tw::warpsim::findBox(const BulkStep &step, bool isLoad, BulkCopy &copy) {
  std::optional<TensorMap> map = readMap(step);
  if (!map)
    return false;
  // A pattern of the swizzle begins at a multiple of eight of its rows.
  uint32_t alignment = map->swizzleBytes ? map->swizzleBytes * 8 : 128;
  copy.bytes = map->boxBytes();
  copy.elementBytes = bytesOf(map->element);
  copy.element = map->element;
  copy.fill = fillOf(*map);
  std::optional<uint32_t> offset =
      resolveShared(step, step.instruction.address, copy.bytes, alignment,
                    isLoad ? "the destination of a tensor copy" : "the source of a tensor copy");
  if (!offset)
    return false;
  BoxWalk walk = {*map, {}, {}, *offset, step.cta.launch.program.sharedBase};
  uint32_t hint = 0;
  walk.region = step.cta.launch.memory.find(map->base, hint);
  for (unsigned i = 0; i < map->rank; ++i)
    walk.start[i] = int32_t(step.read(step.instruction.sources[i], "a coordinate"));
  uint32_t rowBytes = map->box[0] * copy.elementBytes, rowBegin = 0;
  do {
    addRow(step, walk, rowBegin, isLoad, copy);
    rowBegin += rowBytes;
  } while (walk.next());
  return true;
}
