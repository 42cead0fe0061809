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
  llvm::StringLiteral name;      // "generic16", as users say
  unsigned warpSize;             // work-items of a subgroup
  unsigned sharedBytes;          // of one work-group
  unsigned maxThreads;           // of one work-group
  unsigned registers;            // of 32 bits that a work-item may have
  unsigned lineBytes;            // that global memory keeps together
  bool dividesCorrectly = false; // float32, and its square roots, where a build asks for it
  bool splitsBarriers = false;   // into arriving and waiting
  MatrixUnit matrixUnit = MatrixUnit::None; // of which a subgroup is one row of sums
};

/// All of them, the generic ones first.
llvm::ArrayRef<SpirvArch> spirvArchTable();
/// Null when there is no such machine.
const SpirvArch *findSpirvArch(llvm::StringRef name);

/// The facts of a target that a launch chooses.
struct SpirvChoices {
  bool roundsSeparately = false; // `separate_rounding`
};

/// The facts that passes see as the module attribute `tile.target`.
tile::TargetAttr describeSpirv(mlir::MLIRContext &context, const SpirvArch &arch,
                               const SpirvChoices &choices = {});

} // namespace tw
#endif
