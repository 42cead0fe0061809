// What the files of the libcuda double share.
#ifndef TEST_UNIT_CUDA_DOUBLE_CUDA_H
#define TEST_UNIT_CUDA_DOUBLE_CUDA_H
#include "test/unit/driver_double/Double.h"

namespace tw::cuda_double {

/// The contexts that are current in this thread, the innermost last.
std::vector<void *> &contextStack();

/// How strictly captures forbid calls in this thread: 0 globally, 1 in the thread, 2 not.
int &captureMode();

/// Returns true if a capture forbids the calling thread what may wait for streams.
bool isForbidden();

/// The entries of PTX with their parameters; empty where the text is not PTX.
std::vector<std::unique_ptr<driver_double::Function>> readPtx(const std::string &text);

} // namespace tw::cuda_double
#endif
