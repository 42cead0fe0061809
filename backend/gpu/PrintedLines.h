// Printing and assertions: the lines that kernels print and that failed assertions leave.
#ifndef BACKEND_GPU_PRINTEDLINES_H
#define BACKEND_GPU_PRINTEDLINES_H
#include "backend/gpu/ThreadLowering.h"

namespace tw::gpu {

/// Reads the program's number along an axis.
using ProgramIdEmitter = llvm::function_ref<mlir::Value(unsigned axis)>;

/// Prints a line by a function like printf: its format, as C has it, and the values that it names.
using LineEmitter = llvm::function_ref<void(llvm::StringRef format, mlir::ValueRange values)>;
/// Calls vprintf(format, address of the values).
void emitVprintf(ThreadLowering &lowering, llvm::StringRef format, mlir::ValueRange values);

/// Prints where the mask is true. Lines are as the other devices write them
/// (backend/inspect/PrintedLine.h).
void lowerPrint(ThreadLowering &lowering, simt::PrintOp op, ProgramIdEmitter programId,
                LineEmitter emitLine);
/// Where the check fails: prints which element it was, unless `emitLine` is null, then does what
/// `stop` emits.
void lowerAssert(ThreadLowering &lowering, simt::AssertOp op, ProgramIdEmitter programId,
                 LineEmitter emitLine, llvm::function_ref<void()> stop);

/// The address of a constant, zero-terminated text; one per text and module.
mlir::Value stringAddress(ThreadLowering &lowering, llvm::StringRef text);
/// The llvm.func of a function that the module does not define.
mlir::Operation *declareFunction(ThreadLowering &lowering, llvm::StringRef name, mlir::Type result,
                                 llvm::ArrayRef<mlir::Type> arguments);

} // namespace tw::gpu
#endif
