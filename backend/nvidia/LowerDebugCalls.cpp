// Printing and assertions: calls of the two functions that the driver gives every module.
#include "backend/gpu/PrintedLines.h"
#include "backend/nvidia/LowerNvidia.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// The program's number as lines show it.
static auto programIdOf(Lowering &lowering) {
  return [&lowering](unsigned axis) {
    return readSpecialRegister(lowering, std::string("ctaid.") + "xyz"[axis], 0, INT32_MAX);
  };
}

/// Calls vprintf.
static void emitLine(Lowering &lowering, const PrintedLine &line) {
  OpBuilder &b = lowering.builder;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value buffer = storeValues(lowering, line);
  auto print = cast<LLVM::LLVMFuncOp>(
      declareFunction(lowering, "vprintf", b.getI32Type(), {pointer, pointer}));
  LLVM::CallOp::create(b, lowering.loc, print,
                       ValueRange{stringAddress(lowering, line.format), buffer});
}

void tw::nvidia::lowerPrint(Lowering &lowering, simt::PrintOp op) {
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, op.getMask(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitLine(lowering, lineOfPrint(lowering, op, programIdOf(lowering)));
}

/// Prints which element failed, which the driver's own message has no place for, then stops.
void tw::nvidia::lowerAssert(Lowering &lowering, simt::AssertOp op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  auto branch = scf::IfOp::create(b, loc, op.getFailed(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SourceSpan span = spanOf(loc);
  emitLine(lowering, lineOfAssert(lowering, op, programIdOf(lowering)));
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
