// Makes the text of a finding smaller while it fails in the same way.
#ifndef TEST_FUZZ_SHRINK_H
#define TEST_FUZZ_SHRINK_H
#include "test/fuzz/Batch.h"

namespace tw::fuzz {

/// Leaves out lines, then passes, as long as the finding is of the same kind; at most `numTries`
/// attempts.
Finding shrink(Finding finding, const Limits &limits, unsigned numTries = 400);

} // namespace tw::fuzz
#endif
