// Places in the user's source as LLVM's debug information.
#ifndef BACKEND_GPU_LINETABLES_H
#define BACKEND_GPU_LINETABLES_H
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tw::gpu {

/// The result: line directives in the text of the code only, or sections that tools read too.
enum class LineDetail { Directives, Tables };

/// The pass `attach-line-tables`, on the LLVM dialect: locations of kernels become positions within
/// subprograms, those of inlined calls within the called function's file. Files are named without
/// their directories, so that the code does not depend on where a project lies.
std::unique_ptr<mlir::Pass> createAttachLineTables(LineDetail detail);

} // namespace tw::gpu
#endif
