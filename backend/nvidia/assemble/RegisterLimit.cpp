// How many registers a thread may have, and what the assembler spilled to keep within that.
#include "backend/nvidia/assemble/RegisterLimit.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/GpuCode.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;

/// ptxas 13.0, sm_75 to sm_120: it raises less than 24 to that ("adjusting per thread register
/// count") and ignores more than 255 ("Too many maxnreg specified"). 255 are what instructions can
/// name.
static constexpr unsigned kFewest = 24, kMost = 255;

/// Warps are given registers in groups of 8 for every thread (in the same table).
static constexpr unsigned kAllocationStep = 8;

static constexpr StringLiteral kOption = "maxnreg", kAttribute = "nvvm.maxnreg";

unsigned nvidia::shareOf(unsigned numThreads) {
  unsigned warps = std::max<unsigned>(1, llvm::divideCeil(numThreads, 32 * kFileParts));
  unsigned share = kRegisterFile / kFileParts / (32 * warps);
  return std::min(kMost, share / kAllocationStep * kAllocationStep);
}

/// ptxas takes a limit in place of the share: more than that, and no GPU could launch the kernel.
std::optional<unsigned> nvidia::maxRegistersOf(const CompileOptions &options) {
  std::optional<StringRef> text = extraOption(options, kOption);
  unsigned number = 0;
  if (!text)
    return number;
  if (text->getAsInteger(10, number) || number < kFewest || number > kMost)
    return std::nullopt;
  return std::min(number, shareOf(32 * unsigned(std::max(options.numWarps, 0))));
}

unsigned nvidia::registersOf(const CompileOptions &options) {
  unsigned limit = maxRegistersOf(options).value_or(0);
  return limit != 0 ? limit : shareOf(32 * unsigned(std::max(options.numWarps, 0)));
}

LogicalResult nvidia::checkMaxRegisters(const CompileOptions &options, Operation *place) {
  if (maxRegistersOf(options))
    return success();
  InFlightDiagnostic error = emitCoded(place, Code::RegisterLimit)
                             << "a limit of maxnreg=" << *extraOption(options, kOption)
                             << " registers cannot be kept: a thread has from " << kFewest << " to "
                             << kMost;
  error.attachNote(place->getLoc())
      << "choose a number from " << kFewest << " to " << kMost << ", or leave maxnreg out";
  return error;
}

namespace {
/// The bound on the registers of a thread.
struct RegisterBound {
  int64_t registers = kMost;
  std::string reason = "a thread can have";
  StringRef remedy = "use smaller tiles, fewer num_stages or more warps (num_warps)";
};
} // namespace

/// The limit that the kernel was given; 0 for none.
static int64_t limitOf(LLVM::LLVMFuncOp kernel) {
  int64_t limit = 0;
  ArrayAttr attributes = kernel.getPassthroughAttr();
  for (Attribute entry : attributes ? attributes.getValue() : ArrayRef<Attribute>())
    if (auto pair = dyn_cast<ArrayAttr>(entry); pair && pair.size() == 2)
      if (cast<StringAttr>(pair[0]).getValue() == kAttribute)
        cast<StringAttr>(pair[1]).getValue().getAsInteger(10, limit);
  return limit;
}

static RegisterBound boundOf(const Artifact &artifact, int64_t limit) {
  RegisterBound bound;
  unsigned threads = unsigned(gpu::resourceOf(artifact, "threads", 0));
  int64_t warps = gpu::resourceOf(artifact, "num_warps", threads / 32);
  int64_t share = nvidia::shareOf(threads);
  if (share < bound.registers)
    bound = {share, "num_warps=" + std::to_string(warps) + " leaves a thread",
             "use smaller tiles, fewer num_stages or fewer warps (num_warps)"};
  if (limit > 0 && limit < bound.registers)
    bound = {limit, "maxnreg=" + std::to_string(limit) + " allows",
             "raise maxnreg or leave it out, or use smaller tiles or fewer num_stages"};
  return bound;
}

static void reportSpills(LLVM::LLVMFuncOp kernel, const Artifact &artifact) {
  int64_t bytes = gpu::resourceOf(artifact, "spill_bytes", 0);
  if (bytes == 0)
    return;
  RegisterBound bound = boundOf(artifact, limitOf(kernel));
  InFlightDiagnostic remark = emitCodedRemark(kernel, Code::SpilledRegisters)
                              << "too few registers: each thread stores and loads " << bytes
                              << " bytes of them in memory; it uses "
                              << gpu::resourceOf(artifact, "registers", 0) << " of the "
                              << bound.registers << " registers that " << bound.reason;
  remark.attachNote(kernel.getLoc()) << bound.remedy;
}

static void reportCalls(LLVM::LLVMFuncOp kernel, const Artifact &artifact) {
  std::vector<std::string> routines = nvidia::findRoutines(artifact.assembled);
  if (routines.empty())
    return;
  InFlightDiagnostic remark = emitCodedRemark(kernel, Code::CalledRoutines)
                              << "the machine code calls functions of its assembler, "
                              << artifact.assembler
                              << ", in place of instructions: " << llvm::join(routines, ", ");
  remark.attachNote(kernel.getLoc())
      << "install ptxas (pip install nvidia-cuda-nvcc), whose code has the instructions in "
         "place, and restart the process";
}

/// The kernel of a module at the last stage; null where it has another name.
static LLVM::LLVMFuncOp kernelOf(ModuleOp lowered, StringRef symbol) {
  return lowered.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
}

void nvidia::reportMachineCode(ModuleOp lowered, const Artifact &artifact) {
  if (LLVM::LLVMFuncOp kernel = kernelOf(lowered, artifact.symbol)) {
    reportSpills(kernel, artifact);
    reportCalls(kernel, artifact);
  }
}

void nvidia::reportBrokenAssembler(ModuleOp lowered, StringRef symbol, StringRef log) {
  LLVM::LLVMFuncOp kernel = kernelOf(lowered, symbol);
  Operation *place = kernel ? kernel.getOperation() : lowered.getOperation();
  InFlightDiagnostic error = emitCoded(place, Code::BrokenAssembler)
                             << "no assembler of PTX works here: " << log.trim();
  error.attachNote(place->getLoc())
      << "name ptxas in TILEWRIGHT_ASSEMBLERS, or unset it to take what packages, PATH and CUDA "
         "toolkits have; `tilewright info` says which assembler is taken";
}
