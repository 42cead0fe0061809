#include "scaling.h"

__attribute__((visibility("default"))) int twice(const float *x, float *y, int n) {
  return scale_by(x, y, n, 2.0f, nullptr, nullptr);
}
