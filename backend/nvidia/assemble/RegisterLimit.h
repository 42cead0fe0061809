// How many registers a thread may have, and what is said of the assembler and its code.
#ifndef BACKEND_NVIDIA_REGISTERLIMIT_H
#define BACKEND_NVIDIA_REGISTERLIMIT_H
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Artifact.h"
#include "runtime/Specialization.h"

namespace tw::nvidia {

/// The option `maxnreg=N`, or the share that its warps leave a thread where that is less; 0 where
/// it is not given, none where the assembler would not keep to it.
std::optional<unsigned> maxRegistersOf(const CompileOptions &options);

/// Registers of 32 bits that the warps of one CTA share: CUDA programming guide, table "Technical
/// Specifications per Compute Capability". Each of four parts is for every fourth warp.
inline constexpr unsigned kRegisterFile = 64 * 1024, kFileParts = 4;
/// Returns the registers that each of so many threads of a CTA can have at the same time.
unsigned shareOf(unsigned numThreads);
/// Returns the registers that a thread may have: the limit, or else the share.
unsigned registersOf(const CompileOptions &options);

/// Reports that option on `place` if it cannot be kept.
mlir::LogicalResult checkMaxRegisters(const CompileOptions &options, mlir::Operation *place);

/// Emits remarks on the kernel about its machine code: registers that were spilled, and functions
/// of the assembler that it calls.
void reportMachineCode(mlir::ModuleOp lowered, const Artifact &artifact);

/// Reports on the kernel that no assembler which was asked works, with what it printed.
void reportBrokenAssembler(mlir::ModuleOp lowered, llvm::StringRef symbol, llvm::StringRef log);

} // namespace tw::nvidia
#endif
