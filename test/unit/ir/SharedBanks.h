// The banks of shared memory that tests of layouts count conflicts for.
#ifndef TEST_UNIT_IR_SHAREDBANKS_H
#define TEST_UNIT_IR_SHAREDBANKS_H
#include "ir/layout/SharedBanks.h"

namespace tw::test {

/// 32 banks of 4 bytes, of which a lane accesses 16 at once.
inline constexpr SharedBanks kBanks = {32, 4, 16};

} // namespace tw::test
#endif
