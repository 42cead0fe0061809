// The OpenCL devices of this machine as targets by number: `opencl:0`, `opencl:1`, ...
#ifndef BACKEND_SPIRV_OPENCLDEVICES_H
#define BACKEND_SPIRV_OPENCLDEVICES_H
#include "backend/TargetKind.h"

namespace tw::spirv {

/// Makes a device's machine code of a kernel's SPIR-V by its driver when the kernel is compiled, so
/// that the code is in the kernel's artifact, and on disk with it.
struct DriverAssembler {
  /// The driver, its version and the device: the code depends on all of them.
  std::string name;
  /// Makes the code of `artifact.binary`; false with `error`, which has the driver's log. Null:
  /// there is no device.
  std::function<bool(const Artifact &artifact, std::string &code, RuntimeError &error)> assemble;
  /// False where the device lacks the extension: its code has none of the machine's loads of
  /// blocks.
  bool loadsBlocks = true;
};

/// Makes the target that compiles for a row of SpirvArch ("generic16").
using TargetMaker =
    std::function<std::unique_ptr<Target>(const std::string &arch, DriverAssembler assembler)>;

/// Gives a kind its functions `make` and `countDevices`, as gpu::addInstalledGpus does, and the
/// facts of the devices.
void addInstalledDevices(TargetKind &kind, TargetMaker makeTarget);

} // namespace tw::spirv
#endif
