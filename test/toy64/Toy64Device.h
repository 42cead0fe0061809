// A made-up GPU as a device.
#ifndef TEST_TOY64_TOY64DEVICE_H
#define TEST_TOY64_TOY64DEVICE_H
#include "runtime/Device.h"

namespace tw::test {

/// Runs the programs of a grid one after another, each by WarpEvaluator, on the caller's arrays.
std::shared_ptr<Device> makeToy64Device();

} // namespace tw::test
#endif
