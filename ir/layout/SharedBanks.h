// How a machine's shared memory serves the lanes of a warp.
#ifndef IR_LAYOUT_SHAREDBANKS_H
#define IR_LAYOUT_SHAREDBANKS_H

namespace tw {

/// Each of `count` banks gives one word of `wordBytes` at a time; a lane accesses at most
/// `accessBytes` at once. Accesses of neighbouring lanes are served together as far as they fill a
/// transfer of all banks. All are powers of two.
struct SharedBanks {
  unsigned count, wordBytes, accessBytes;

  unsigned transferBytes() const { return count * wordBytes; }
};

} // namespace tw
#endif
