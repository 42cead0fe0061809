// OpenCL devices as targets of the compiler.
#ifndef BACKEND_SPIRV_SPIRVTARGET_H
#define BACKEND_SPIRV_SPIRVTARGET_H
#include "backend/Target.h"
#include "backend/spirv/device/OpenClDevices.h"
#include "backend/spirv/machine/SpirvArch.h"
#include <memory>

namespace tw {

/// The binary of an artifact: a SPIR-V module, or, for simulators, the LLVM IR that it is made of.
enum class SpirvCode { SpirV, Ir };

/// The target "spirv:generic16"; null when there is no such machine. With an assembler it makes the
/// machine code of a device, too.
std::unique_ptr<Target> makeSpirvTarget(const std::string &arch, SpirvCode code = SpirvCode::SpirV,
                                        spirv::DriverAssembler assembler = {});

/// Lists the words of launches that the target heeds (`TargetFacts::options`); null: all that some
/// machine heeds.
std::vector<std::string> spirvLaunchOptions(const SpirvArch *arch = nullptr);

} // namespace tw
#endif
