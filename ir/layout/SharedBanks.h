// How a machine's shared memory serves the lanes of a warp.
#ifndef IR_LAYOUT_SHAREDBANKS_H
#define IR_LAYOUT_SHAREDBANKS_H
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>

namespace tw {

enum class SharedUse : uint8_t { Read, Write };

/// The lanes of a warp that are served together when each accesses this much at once: those whose
/// numbers `lanes` span, and those in which a number is added to all of these without carry.
struct SharedPhase {
  static constexpr unsigned kMostLaneBits = 6; // of the widest warps

  SharedUse use = SharedUse::Read;
  unsigned accessBytes = 0;                      // of a lane
  unsigned numBanks = 0;                         // that serve them
  std::array<uint8_t, kMostLaneBits> lanes = {}; // independent; 0 behind the last

  /// The numbers that span the lanes of the phase that has lane 0.
  llvm::ArrayRef<uint8_t> span() const {
    return llvm::ArrayRef(lanes).take_while([](uint8_t lane) { return lane != 0; });
  }
  bool operator==(const SharedPhase &) const = default;
};

/// Each of `count` banks gives one word of `wordBytes` at a time; a lane accesses at most
/// `accessBytes` at once. Accesses of neighbouring lanes are served together as far as they fill a
/// transfer of all banks, where `phases` do not say otherwise. All are powers of two.
struct SharedBanks {
  unsigned count, wordBytes, accessBytes;
  llvm::ArrayRef<SharedPhase> phases = {}; // of a #tile.target, or of static data

  unsigned transferBytes() const { return count * wordBytes; }
  /// How the lanes of a warp are served when each accesses `bytes` at once.
  SharedPhase phaseOf(SharedUse use, unsigned bytes, unsigned numLanes) const;
};

/// Bytes of a buffer in shared memory that hold nothing: `bytes` of them behind every `interval`
/// bytes of elements, so that rows begin in other banks. Both are 0 where there are none; else the
/// interval is a power of two, and both are multiples of what lanes access at once.
struct SharedPadding {
  unsigned interval = 0, bytes = 0;

  /// Returns where a byte lies that is the `offset`th of the elements.
  uint64_t apply(uint64_t offset) const {
    return interval ? offset + offset / interval * bytes : offset;
  }
  bool operator==(const SharedPadding &) const = default;
};

} // namespace tw
#endif
