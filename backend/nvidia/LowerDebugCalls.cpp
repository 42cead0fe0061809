// Printing and assertions: calls of the two functions that the driver gives every module.
#include "backend/gpu/PrintedLines.h"
#include "backend/nvidia/LowerNvidia.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

static auto programIdOf(Lowering &lowering) {
  return [&lowering](unsigned axis) { return programId(lowering, axis); };
}

static auto printerOf(Lowering &lowering) {
  return
      [&lowering](StringRef format, ValueRange values) { emitVprintf(lowering, format, values); };
}

void tw::nvidia::lowerPrint(Lowering &lowering, simt::PrintOp op) {
  gpu::lowerPrint(lowering, op, programIdOf(lowering), printerOf(lowering));
}

/// Calls __assertfail(message, file, line, function, bytes of a character).
static void emitFailure(Lowering &lowering, simt::AssertOp op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  SourceSpan span = spanOf(loc);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type(),
       i64 = b.getI64Type();
  auto fail = cast<LLVM::LLVMFuncOp>(declareFunction(lowering, "__assertfail",
                                                     LLVM::LLVMVoidType::get(b.getContext()),
                                                     {pointer, pointer, i32, pointer, i64}));
  Value lineNumber = LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(span.line));
  Value charBytes = LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(1));
  StringRef kernel = cast<LLVM::LLVMFuncOp>(lowering.kernel).getName();
  LLVM::CallOp::create(b, loc, fail,
                       ValueRange{stringAddress(lowering, op.getMessage()),
                                  stringAddress(lowering, span.file), lineNumber,
                                  stringAddress(lowering, kernel), charBytes});
}

/// Prints which element failed, which the driver's own message has no place for, then stops.
void tw::nvidia::lowerAssert(Lowering &lowering, simt::AssertOp op) {
  gpu::lowerAssert(lowering, op, programIdOf(lowering), printerOf(lowering),
                   [&] { emitFailure(lowering, op); });
}
