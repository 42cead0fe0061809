// Assembly text of the user's as inline PTX.
#include "backend/gpu/InlineAssembly.h"
#include "backend/nvidia/LowerNvidia.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// The registers of PTX by LLVM's letters ("NVPTX" in its list of constraints).
static Type typeOfRegister(StringRef letter, Type value) {
  Builder b(value.getContext());
  if (letter == "b")
    return b.getI1Type();
  if (letter == "h" || letter == "c")
    return b.getIntegerType(16);
  if (letter == "r")
    return b.getI32Type();
  if (letter == "l")
    return b.getI64Type();
  if (letter == "f")
    return b.getF32Type();
  return letter == "d" ? Type(b.getF64Type()) : Type();
}

LogicalResult tw::nvidia::lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op) {
  // In braces, so that registers that the text declares may be declared in every copy of it.
  return gpu::lowerInlineAsm(
      lowering, op,
      {"{ ", "} ", "//", typeOfRegister,
       "r holds up to 32 bits and h up to 16, also of small floats and of packed elements; l 64 "
       "bits and pointers, f float32, d float64, b int1"});
}

/// From lines such as "ptxas file, line 12; error   : Not a name of any known instruction".
static AssemblerError firstError(StringRef log) {
  for (StringRef line : llvm::split(log, '\n')) {
    auto [place, message] = line.split("; ");
    unsigned number = 0;
    StringRef digits = place.rsplit("line ").second;
    if ((message.starts_with("error") || message.starts_with("fatal")) &&
        llvm::to_integer(digits, number, 10))
      return {number, message.split(':').second.trim()};
  }
  return {};
}

bool tw::nvidia::blameInlineAsm(ModuleOp lowered, StringRef ptx, StringRef log) {
  return gpu::blameInlineAsm(lowered, ptx, firstError(log),
                             "see the PTX ISA for the instruction's operands, types and the first "
                             "GPU that has it");
}
