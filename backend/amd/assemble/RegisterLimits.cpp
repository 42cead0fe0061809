// How many registers a thread may have, and what was spilled to keep within that.
#include "backend/amd/assemble/RegisterLimits.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/GpuCode.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;

/// What instructions can name, and a number that any code can do with (LLVM's own least is lower).
static constexpr unsigned kFewestRegisters = 24, kMostRegisters = 256;
/// A SIMD holds 8 waves of CDNA and 16 of RDNA.
static constexpr unsigned kMostWaves = 16;

static constexpr StringLiteral kRegisters = "maxnreg", kWaves = "waves_per_eu";

/// The number that an option has, 0 where it is not given; none where it lies outside.
static std::optional<unsigned> numberOf(const CompileOptions &options, StringRef name,
                                        unsigned least, unsigned most) {
  std::optional<StringRef> text = extraOption(options, name);
  unsigned number = 0;
  if (!text)
    return number;
  if (text->getAsInteger(10, number) || number < least || number > most)
    return std::nullopt;
  return number;
}

std::optional<AmdLimits> amd::limitsOf(const CompileOptions &options) {
  std::optional<unsigned> registers =
      numberOf(options, kRegisters, kFewestRegisters, kMostRegisters);
  std::optional<unsigned> waves = numberOf(options, kWaves, 0, kMostWaves);
  if (!registers || !waves)
    return std::nullopt;
  return AmdLimits{.maxRegisters = *registers, .wavesPerSimd = *waves};
}

unsigned amd::matrixExtentOf(const CompileOptions &options) {
  return numberOf(options, "matrix_instr_nonkdim", 16, 32).value_or(0);
}

LogicalResult amd::checkLimits(const CompileOptions &options, Operation *place) {
  if (limitsOf(options))
    return success();
  bool isRegisters = !numberOf(options, kRegisters, kFewestRegisters, kMostRegisters).has_value();
  StringRef name = isRegisters ? kRegisters : kWaves;
  unsigned least = isRegisters ? kFewestRegisters : 1,
           most = isRegisters ? kMostRegisters : kMostWaves;
  InFlightDiagnostic error = emitCoded(place, Code::RegisterLimit)
                             << name << "=" << *extraOption(options, name) << " cannot be kept: "
                             << (isRegisters ? "a thread has from " : "a SIMD holds from ") << least
                             << " to " << most << (isRegisters ? " registers" : " waves");
  error.attachNote(place->getLoc())
      << "choose a number from " << least << " to " << most << ", or leave " << name << " out";
  return error;
}

void amd::reportSpills(ModuleOp lowered, const Artifact &artifact) {
  int64_t count = gpu::resourceOf(artifact, "spilled_registers", 0);
  if (count == 0)
    return;
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>()) {
    if (function.getName() != artifact.symbol)
      continue;
    InFlightDiagnostic remark = emitCodedRemark(function, Code::SpilledRegisters)
                                << "too few registers: each thread stores and loads " << 4 * count
                                << " bytes of them in memory; it uses "
                                << gpu::resourceOf(artifact, "registers", 0) << " registers";
    remark.attachNote(function.getLoc())
        << "use smaller tiles, fewer num_stages or more warps (num_warps), and no waves_per_eu or "
           "maxnreg";
  }
}
