// Printing and assertions.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/PrintedLines.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

static auto programIdOf(Lowering &lowering) {
  return [&lowering](unsigned axis) { return programId(lowering, axis); };
}

static auto printerOf(Lowering &lowering) {
  return
      [&lowering](StringRef format, ValueRange values) { emitVprintf(lowering, format, values); };
}

LogicalResult tw::amd::lowerPrint(Lowering &lowering, simt::PrintOp op) {
  if (!lowering.hasPrint) {
    InFlightDiagnostic error = emitCoded(op, Code::ThreadExceeded)
                               << "code objects cannot print: the driver's library has no function "
                                  "for it that this compiler knows";
    error.attachNote(op.getLoc()) << "store the values to an array, or print on a simulator";
    return failure();
  }
  gpu::lowerPrint(lowering, op, programIdOf(lowering), printerOf(lowering));
  return success();
}

/// Stops the wave, which the driver reports.
void tw::amd::lowerAssert(Lowering &lowering, simt::AssertOp op) {
  auto print = printerOf(lowering);
  gpu::lowerAssert(lowering, op, programIdOf(lowering),
                   lowering.hasPrint ? LineEmitter(print) : LineEmitter(),
                   [&] { LLVM::Trap::create(lowering.builder, lowering.loc); });
}
