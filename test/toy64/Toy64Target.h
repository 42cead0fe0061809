// A made-up GPU as a target of the compiler.
#ifndef TEST_TOY64_TOY64TARGET_H
#define TEST_TOY64_TOY64TARGET_H
#include "backend/Target.h"
#include <memory>

namespace tw::test {

/// With asynchronous copies whose waits count, or with none.
std::unique_ptr<Target> makeToy64Target(bool isCounting);

} // namespace tw::test
#endif
