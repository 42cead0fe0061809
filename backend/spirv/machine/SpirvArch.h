// The machines behind OpenCL that Tilewright compiles for, as rows of facts.
#ifndef BACKEND_SPIRV_MACHINE_SPIRVARCH_H
#define BACKEND_SPIRV_MACHINE_SPIRVARCH_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}
namespace tw::tile {
class TargetAttr;
}

namespace tw {

/// The elements that a machine's matrix unit multiplies: none, halves and bytes, or tf32, too.
enum class MatrixUnit : uint8_t { None, Halves, Tf32 };

/// The facts in which the machines differ.
struct SpirvArch {
  llvm::StringLiteral name;       // "generic16", as users say
  unsigned warpSize;              // work-items of a subgroup
  unsigned sharedBytes;           // of one work-group
  unsigned maxThreads;            // of one work-group
  unsigned registers;             // of 32 bits that a work-item may have
  unsigned largeRegisters = 0;    // where the build asks for more; 0: it cannot
  unsigned maxThreadsOfLarge = 0; // of one work-group then
  unsigned lineBytes;             // that global memory keeps together
  bool dividesCorrectly = false;  // float32, and its square roots, where a build asks for it
  bool splitsBarriers = false;    // into arriving and waiting
  bool loadsBlocks = false;       // of arrays, by a subgroup of 16
  MatrixUnit matrixUnit = MatrixUnit::None; // of which a subgroup is one row of sums
  /// The versions of the Intel GPUs that are this machine (CL_DEVICE_IP_VERSION_INTEL); 0: any
  /// device may be.
  uint32_t firstVersion = 0, lastVersion = 0;
};

/// Resources of an artifact: the versions of the GPUs that the code is for, where it is not for any
/// device.
inline constexpr llvm::StringLiteral kFirstVersion = "first_version", kLastVersion = "last_version";

/// All of them, the generic ones first.
llvm::ArrayRef<SpirvArch> spirvArchTable();
/// Null when there is no such machine.
const SpirvArch *findSpirvArch(llvm::StringRef name);

/// The facts of a target that a launch chooses.
struct SpirvChoices {
  bool roundsSeparately = false;  // `separate_rounding`
  bool hasLargeRegisters = false; // of those that the machine has
  bool loadsBlocks = true;        // where the machine does
};

/// The facts that passes see as the module attribute `tile.target`.
tile::TargetAttr describeSpirv(mlir::MLIRContext &context, const SpirvArch &arch,
                               const SpirvChoices &choices = {});

} // namespace tw
#endif
