// How the double of libamdhip64 reads code objects.
#ifndef TEST_UNIT_HIP_DOUBLE_CODEOBJECTS_H
#define TEST_UNIT_HIP_DOUBLE_CODEOBJECTS_H
#include "test/unit/driver_double/Double.h"

namespace tw::hip_double {

/// A code object, as far as launching and executing its kernels needs it.
struct CodeObject {
  std::string arch; // "gfx942"; "" of anything else
  std::string ir;   // of the section `.tilewright.ir`; "" without one
  std::vector<std::unique_ptr<driver_double::Function>> kernels;
};
CodeObject readCodeObject(const void *image);

} // namespace tw::hip_double
#endif
