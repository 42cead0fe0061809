// The NVIDIA GPUs that Tilewright compiles for, as rows of facts.
#ifndef BACKEND_NVIDIA_MACHINE_NVIDIAARCH_H
#define BACKEND_NVIDIA_MACHINE_NVIDIAARCH_H
#include "backend/nvidia/assemble/Assemblers.h"
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
enum class Feature : uint32_t;
} // namespace tw::tile

namespace tw {

/// The facts that differ between the GPUs.
struct NvidiaArch {
  llvm::StringLiteral name; // "sm_80", as LLVM, ptxas and users say
  unsigned number;          // 80: the compute capability times ten
  /// Version of PTX that is emitted, "80" for 8.0: the oldest that has every instruction we emit
  /// for the GPU, so that old drivers can still assemble it.
  llvm::StringLiteral ptxVersion;
  unsigned sharedBytes; // of one CTA, with the opt-in that the driver asks for above 48 KiB
  llvm::ArrayRef<tile::Feature> features;
  /// True if mma.sync of 8-bit floats is an instruction of the machine (QMMA). GPUs of 90 to 110
  /// take it too, but ptxas 13.0 makes two f16 products of each, converts the operands again for
  /// every one and adds their sums apart: on sm_90a a product of 64x64x64 by 4 warps then has 850
  /// instructions and 129 registers, and 762 and 96 where its operands are widened once.
  bool multipliesFloat8 = false;
  /// True if four warps together multiply from shared memory (wgmma).
  bool multipliesByWarpgroup = false;
  /// True if one thread copies boxes of arrays to shared memory (TMA).
  bool copiesBoxes = false;
  /// The name under which the same GPU also has instructions that no later one need have; "" where
  /// `name` is that name, or there is none. Code for it runs on this GPU only.
  llvm::StringLiteral specificName = "";
  /// Releases of ptxas whose code for the GPU is best. Where several are found, one of them is
  /// taken.
  nvidia::ReleaseRange bestAssemblers = {};
};

/// The `number` of the first GPU whose programs may be launched in clusters, of so many at most
/// (CUDA C++ Programming Guide, "Thread Block Clusters").
inline constexpr unsigned kFirstWithClusters = 90, kMostInCluster = 8;

/// All of them, the oldest first.
llvm::ArrayRef<NvidiaArch> nvidiaArchTable();
/// Null when there is no such GPU.
const NvidiaArch *findNvidiaArch(llvm::StringRef name);
/// Names of all of them: "sm_80", ...
std::vector<std::string> nvidiaArchs();

/// Choices of a launch among what a GPU can do.
struct NvidiaChoices {
  bool roundsSeparately = false; // `separate_rounding`
  bool copiesBoxes = true;       // where the GPU does
  bool launchesEarly = false;    // before the launches that it depends on end, where the GPU can
  unsigned registers = 255;      // of a thread
};

/// The facts that passes see as the module attribute `tile.target`, and with them the launch's
/// choices.
tile::TargetAttr describeNvidia(mlir::MLIRContext &context, const NvidiaArch &arch,
                                NvidiaChoices choices = {});

} // namespace tw
#endif
