// The functions of the libcuda double that ask for the current context, and that of captures.
#include "test/unit/cuda_double/Cuda.h"

using namespace tw::cuda_double;
using namespace tw::driver_double;

std::vector<void *> &tw::cuda_double::contextStack() {
  static thread_local std::vector<void *> stack;
  return stack;
}

extern "C" int cuCtxGetCurrent(void **context) {
  Call call("cuCtxGetCurrent");
  *context = contextStack().empty() ? nullptr : contextStack().back();
  return call.failure;
}

extern "C" int cuCtxGetDevice(int *device) {
  ContextCall call("cuCtxGetDevice");
  if (call.failure)
    return call.failure;
  *device = int(reinterpret_cast<uintptr_t>(contextStack().back())) - 1;
  return 0;
}

extern "C" int cuCtxGetId(void *context, unsigned long long *id) {
  Call call("cuCtxGetId");
  *id = reinterpret_cast<uintptr_t>(context);
  return call.failure;
}

int &tw::cuda_double::captureMode() {
  static thread_local int mode = 0;
  return mode;
}

bool tw::cuda_double::isForbidden() { return state().settings.isCapturing && captureMode() == 0; }

extern "C" int cuThreadExchangeStreamCaptureMode(int *mode) {
  Call call("cuThreadExchangeStreamCaptureMode", " " + std::to_string(*mode));
  std::swap(captureMode(), *mode);
  return call.failure;
}
