// Places in the user's source as LLVM's debug information, for `.loc` lines in PTX.
#ifndef BACKEND_NVIDIA_LINETABLES_H
#define BACKEND_NVIDIA_LINETABLES_H
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace tw {

/// The pass `attach-line-tables`, on the LLVM dialect: locations of kernels become positions within
/// subprograms, those of inlined calls within the called function's file. Only line directives come
/// of it, no debug sections. Files are named without their directories, so that the code does not
/// depend on where a project lies.
std::unique_ptr<mlir::Pass> createAttachLineTables();

/// Gives each `.file` line of PTX a time stamp and a size that are the same on every machine: where
/// they are missing, tools look for the file.
std::string withFixedFileStamps(llvm::StringRef ptx);

} // namespace tw
#endif
