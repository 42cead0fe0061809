// The registers that a thread may have and other options of launches, and remarks on what was
// done to keep within the registers.
#include "backend/amd/RegisterLimits.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/DescribeTarget.h"
#include "backend/gpu/GpuCode.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;

/// The number of registers that suffices for any code (LLVM's own minimum is lower).
static constexpr unsigned kFewestRegisters = 24;

static constexpr StringLiteral kWaves = "waves_per_eu", kMatrixExtent = "matrix_instr_nonkdim";

static gpu::LimitOption registersOption(const AmdArch &arch) {
  return {gpu::kRegisterLimit, kFewestRegisters, arch.namedRegisters, "a thread has from",
          "registers"};
}

/// Returns the option for the waves that a SIMD holds (CDNA3 ISA, "Wavefronts"; RDNA3 ISA,
/// "Work-groups").
static gpu::LimitOption wavesOption(const AmdArch &arch) {
  return {kWaves, 1, arch.simdWaves, "a SIMD holds from", "waves"};
}

std::vector<std::string> amd::launchOptions() {
  return {"bitcode",
          "no-fusion",
          "pass_limit",
          gpu::kRegisterLimit.str(),
          kWaves.str(),
          kMatrixExtent.str(),
          gpu::kSwizzlePrograms.str()};
}

std::optional<AmdLimits> amd::limitsOf(const CompileOptions &options, const AmdArch &arch) {
  std::optional<unsigned> registers = gpu::numberOf(options, registersOption(arch));
  std::optional<unsigned> waves = gpu::numberOf(options, wavesOption(arch));
  std::optional<gpu::ProgramOrder> order = gpu::programOrderOf(options, arch.numDies);
  if (!registers || !waves || !order)
    return std::nullopt;
  AmdLimits limits{.order = *order};
  if (*waves)
    limits.attributes.push_back({"amdgpu-waves-per-eu", llvm::formatv("{0},{0}", *waves).str()});
  // Where there are as many accumulation registers, which count together with the others for how
  // many waves a SIMD holds, LLVM takes twice this number for both.
  if (*registers)
    limits.attributes.push_back(
        {"amdgpu-num-vgpr", std::to_string(*registers / (arch.hasAccumulationRegisters ? 2 : 1))});
  return limits;
}

/// Reads the extent of matrix instructions; none where none of them has it.
static std::optional<unsigned> readMatrixExtent(const CompileOptions &options) {
  StringRef text = extraOption(options, kMatrixExtent).value_or("0");
  unsigned extent = 0;
  bool isKnown = !text.getAsInteger(10, extent) && (extent == 0 || extent == 16 || extent == 32);
  return isKnown ? std::optional(extent) : std::nullopt;
}

unsigned amd::matrixExtentOf(const CompileOptions &options) {
  return readMatrixExtent(options).value_or(0);
}

LogicalResult amd::checkLimits(const CompileOptions &options, const AmdArch &arch,
                               Operation *place) {
  for (const gpu::LimitOption &option : {registersOption(arch), wavesOption(arch)})
    if (failed(gpu::checkLimit(options, option, place)))
      return failure();
  if (readMatrixExtent(options))
    return gpu::checkProgramOrder(options, place, arch.numDies);
  InFlightDiagnostic error = emitCoded(place, Code::MatrixExtent)
                             << kMatrixExtent << "=" << *extraOption(options, kMatrixExtent)
                             << ": matrix instructions have 16 or 32 rows and columns";
  error.attachNote(place->getLoc())
      << "choose 16 or 32, or leave " << kMatrixExtent << " out, and the compiler chooses";
  return error;
}

static LLVM::LLVMFuncOp kernelOf(ModuleOp lowered) {
  return lowered.lookupSymbol<LLVM::LLVMFuncOp>(
      gpu::kernelSymbol(lowered, LLVM::cconv::CConv::AMDGPU_KERNEL));
}

void amd::reportSpills(ModuleOp lowered, const Artifact &artifact) {
  int64_t count = gpu::resourceOf(artifact, "spilled_registers", 0);
  LLVM::LLVMFuncOp kernel = kernelOf(lowered);
  if (count == 0 || !kernel)
    return;
  InFlightDiagnostic remark = emitCodedRemark(kernel, Code::SpilledRegisters)
                              << "too few registers: each thread stores and loads " << 4 * count
                              << " bytes of them in memory; it uses "
                              << gpu::resourceOf(artifact, "registers", 0) << " registers";
  remark.attachNote(kernel.getLoc())
      << "use smaller tiles, fewer num_stages or more warps (num_warps), and no waves_per_eu or "
         "maxnreg";
}

void amd::reportVariant(ModuleOp lowered, StringRef variant, int64_t before, int64_t after) {
  LLVM::LLVMFuncOp kernel = kernelOf(lowered);
  if (!kernel)
    return;
  InFlightDiagnostic remark = emitCodedRemark(kernel, Code::RetriedVariant)
                              << "the first code spilled, so the variant " << variant
                              << " was taken: a thread has " << after
                              << " bytes of scratch memory in place of " << before;
  remark.attachNote(kernel.getLoc())
      << "smaller tiles, fewer num_stages or more warps (num_warps) keep the first from spilling";
}
