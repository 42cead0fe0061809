// The AMD GPUs that Tilewright compiles for, as rows of facts.
#ifndef BACKEND_AMD_MACHINE_AMDARCH_H
#define BACKEND_AMD_MACHINE_AMDARCH_H
#include "backend/gpu/ProgramOrder.h"
#include "ir/target/Processor.h"
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

/// Families of matrix instructions and of what goes with them.
enum class AmdMatrix { Mfma2, Mfma3, Mfma4, Wmma3, Wmma4, Wmma5 };

/// The facts in which the GPUs differ.
struct AmdArch {
  llvm::StringLiteral name; // "gfx942", as LLVM and users say
  unsigned warpSize;
  unsigned sharedBytes; // of one work-group
  AmdMatrix matrix;
  /// Generation of the instruction set: 9, 11 or 12.
  unsigned generation;
  /// Dies with a cache (L2) of their own, to which the hardware deals programs in turn: of MI300X
  /// and MI350X.
  unsigned numDies = 1;
  /// Word 3 of a buffer resource with stride 0 (the instruction sets' "Buffer Resource
  /// Descriptor"): a raw buffer whose bounds count bytes.
  unsigned bufferFlags;
  /// Bits by which the bounds of a buffer resource are shifted down at its word 2: gfx1250 has them
  /// directly above addresses of 57 bits.
  unsigned boundsShift = 0;
  /// Bits of the cache policy of accesses whose data is used once (LLVM, "Memory Model",
  /// nontemporal).
  unsigned streamPolicy;
  unsigned namedRegisters = 256;         // that a lane addresses
  unsigned simdRegisters;                // that a SIMD has for each lane of its waves
  unsigned registerGranule = 8;          // a wave takes a multiple of so many
  unsigned simdWaves;                    // that a SIMD holds at most
  unsigned processorBytes;               // of shared memory that four SIMDs have together
  bool hasAccumulationRegisters = false; // as many again
  bool hasRowExchange = false;           // v_permlane16_swap, v_permlane32_swap
  bool roundsToBf16 = false;             // v_cvt_pk_bf16_f32
  /// Lanes by which reads of shared memory transpose halves: 16 (ds_read_b64_tr_b16, and _b8 of
  /// bytes) or 8 (ds_load_tr16_b128, and tr8_b64 of bytes by 16); 0: there are no such reads.
  unsigned turningLanes = 0;
  unsigned copyBytes = 0;    // a lane, of the widest direct copy to shared memory
  bool copiesArrays = false; // tensor_load_to_lds, by a wave

  /// The registers that code for one lane may use.
  unsigned allRegisters() const { return namedRegisters * (hasAccumulationRegisters ? 2 : 1); }
  /// True if copies to shared memory have a counter of their own (ASYNCcnt), and each lane says
  /// where its bytes go.
  bool countsCopies() const { return generation == 12 && copyBytes != 0; }
  /// The four SIMDs that share memory.
  Processor processor() const {
    return {/*simds=*/4, simdRegisters, registerGranule, simdWaves, processorBytes};
  }
  bool isWave64() const { return warpSize == 64; }
};

/// All of them, the oldest first.
llvm::ArrayRef<AmdArch> amdArchTable();
/// Null when there is no such GPU.
const AmdArch *findAmdArch(llvm::StringRef name);
/// Names of all of them: "gfx90a", ...
std::vector<std::string> amdArchs();

/// The facts of a target that a launch chooses.
struct AmdChoices {
  bool roundsSeparately = false; // `separate_rounding`
  unsigned matrixExtent = 0;     // rows and columns of matrix instructions; 0: no choice
  unsigned numWarps = 4;         // of a program, which its SIMDs hold at once
};

/// The facts that passes see as the module attribute `tile.target`.
tile::TargetAttr describeAmd(mlir::MLIRContext &context, const AmdArch &arch,
                             const AmdChoices &choices = {});

/// The requirements on a kernel's code.
struct AmdLimits {
  gpu::ProgramOrder order;
  /// LLVM's attributes of the function, with their values, that options of the launch ask for.
  std::vector<std::pair<std::string, std::string>> attributes = {};
  /// True if the machine that executes the code has the function vprintf.
  bool hasPrint = false;
  /// True if an offset that 32 bits cannot hold stays outside of the array, so that checks of
  /// accesses see it. A GPU takes such offsets modulo 2^32.
  bool keepsFarOffsets = false;
};

} // namespace tw
#endif
