// The lines that kernels print and that failed assertions leave, as a format and values.
#ifndef BACKEND_GPU_PRINTEDLINES_H
#define BACKEND_GPU_PRINTEDLINES_H
#include "backend/gpu/ThreadLowering.h"
#include <string>

namespace tw::gpu {

/// For a function like printf: its format and the values that it names.
struct PrintedLine {
  std::string format;
  llvm::SmallVector<mlir::Value> values;
};

/// Reads the program's number along an axis.
using ProgramIdEmitter = llvm::function_ref<mlir::Value(unsigned axis)>;

/// The lines as the other devices write them (backend/inspect/PrintedLine.h).
PrintedLine lineOfPrint(ThreadLowering &lowering, simt::PrintOp op, ProgramIdEmitter programId);
PrintedLine lineOfAssert(ThreadLowering &lowering, simt::AssertOp op, ProgramIdEmitter programId);

/// The address of memory on the stack that holds the values one after another, each aligned to its
/// size.
mlir::Value storeValues(ThreadLowering &lowering, const PrintedLine &line);
/// The address of a constant, zero-terminated text; one per text and module.
mlir::Value stringAddress(ThreadLowering &lowering, llvm::StringRef text);
/// The llvm.func of a function that the module does not define.
mlir::Operation *declareFunction(ThreadLowering &lowering, llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);

} // namespace tw::gpu
#endif
