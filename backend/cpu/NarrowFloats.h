// Conversions that LLVM calls on processors without instructions for 16-bit floats (compiler-rt's
// names); a JIT has no compiler runtime to take them from.
#ifndef BACKEND_CPU_NARROWFLOATS_H
#define BACKEND_CPU_NARROWFLOATS_H

namespace tw {

struct HostFunction {
  const char *name;
  void *address;
};
/// Ends with a null name.
const HostFunction *narrowFloatFunctions();

} // namespace tw
#endif
