// The registers that a thread may have and other options of launches, and remarks on what was
// done to keep within the registers.
#ifndef BACKEND_AMD_REGISTERLIMITS_H
#define BACKEND_AMD_REGISTERLIMITS_H
#include "backend/amd/machine/AmdArch.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Artifact.h"
#include "runtime/Specialization.h"

namespace tw::amd {

/// Lists the words of launches that the target heeds (`TargetFacts::options`).
std::vector<std::string> launchOptions();

/// Reads the options `maxnreg=N`, `waves_per_eu=N` and `swizzle_programs=`; none where they
/// cannot be kept.
std::optional<AmdLimits> limitsOf(const CompileOptions &options, const AmdArch &arch);

/// Reads the option `matrix_instr_nonkdim=N`; 0 where it is not given.
unsigned matrixExtentOf(const CompileOptions &options);

/// Reports on a kernel, or where it waits for other programs, those of these options that cannot be
/// kept.
mlir::LogicalResult checkLimits(const CompileOptions &options, const AmdArch &arch,
                                mlir::Operation *kernel);

/// Remarks on the kernel where `artifact.resources` says that registers were spilled.
void reportSpills(mlir::ModuleOp lowered, const Artifact &artifact);

/// Remarks on the kernel that a variant of its code was taken because the first spilled: bytes of
/// scratch memory that a thread has in the first and in this one.
void reportVariant(mlir::ModuleOp lowered, llvm::StringRef variant, int64_t before, int64_t after);

} // namespace tw::amd
#endif
