// Printing and assertions.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/PrintedLines.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

static auto programIdOf(Lowering &lowering) {
  return [&lowering](unsigned axis) { return programId(lowering, axis); };
}

/// Calls vprintf(format, values).
static void emitLine(Lowering &lowering, const PrintedLine &line) {
  OpBuilder &b = lowering.builder;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value buffer = storeValues(lowering, line);
  auto print = cast<LLVM::LLVMFuncOp>(
      declareFunction(lowering, "vprintf", b.getI32Type(), {pointer, pointer}));
  LLVM::CallOp::create(b, lowering.loc, print,
                       ValueRange{stringAddress(lowering, line.format), buffer});
}

LogicalResult tw::amd::lowerPrint(Lowering &lowering, simt::PrintOp op) {
  if (!lowering.hasPrint) {
    InFlightDiagnostic error = emitCoded(op, Code::ThreadExceeded)
                               << "code objects cannot print: the driver's library has no function "
                                  "for it that this compiler knows";
    error.attachNote(op.getLoc()) << "store the values to an array, or print on a simulator";
    return failure();
  }
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, op.getMask(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitLine(lowering, lineOfPrint(lowering, op, programIdOf(lowering)));
  return success();
}

/// Prints which element failed, where something can, then stops the wave, which the driver reports.
void tw::amd::lowerAssert(Lowering &lowering, simt::AssertOp op) {
  OpBuilder &b = lowering.builder;
  auto branch = scf::IfOp::create(b, lowering.loc, op.getFailed(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (lowering.hasPrint)
    emitLine(lowering, lineOfAssert(lowering, op, programIdOf(lowering)));
  LLVM::Trap::create(b, lowering.loc);
}
