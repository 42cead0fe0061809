// The instructions of a matrix unit (AMX) as functions, for tests on machines that have none:
// compiled code is the same to the last pass, and then calls these instead.
#ifndef BACKEND_CPU_EMULATEDMATRIXUNIT_H
#define BACKEND_CPU_EMULATEDMATRIXUNIT_H
#include "backend/cpu/NarrowFloats.h"

namespace llvm {
class Module;
}

namespace tw {

/// By the names that `callEmulatedMatrixUnit` gives them; ends with a row without name.
const HostFunction *emulatedMatrixFunctions();
/// Replaces the unit's intrinsics in a module by calls.
void callEmulatedMatrixUnit(llvm::Module &module);

/// The configuration of this thread, 64 bytes.
void storeEmulatedConfiguration(void *to);
void loadEmulatedConfiguration(const void *from);

} // namespace tw
#endif
