// Printing and assertions: OpenCL's printf, and a word in memory for failures.
#include "backend/gpu/PrintedLines.h"
#include "backend/spirv/LowerSpirv.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

static auto programIdOf(Lowering &lowering) {
  return [&lowering](unsigned axis) { return programId(lowering, axis); };
}

/// A format of C as OpenCL's printf takes it: its `l` means 64 bits, and it has no `ll` ("OpenCL
/// C", printf).
static std::string formatForOpenCl(StringRef format) {
  std::string result;
  bool isConversion = false;
  for (size_t i = 0; i < format.size(); ++i) {
    char character = format[i];
    if (character == '%')
      isConversion = !isConversion; // %% is a character
    bool isSecond = isConversion && character == 'l' && format[i - 1] == 'l';
    if (!isSecond)
      result += character;
    if (isConversion && llvm::StringRef("duxfs").contains(character))
      isConversion = false;
  }
  return result;
}

/// The address of a format, which is in constant memory.
static Value formatAddress(Lowering &lowering, const std::string &format) {
  OpBuilder &b = lowering.builder;
  Operation *&global = lowering.strings[format];
  if (!global) {
    std::string terminated = format + '\0';
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lowering.module.getBody());
    std::string name = "format$" + std::to_string(lowering.strings.size() - 1);
    global = LLVM::GlobalOp::create(
        b, lowering.loc, LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, b.getStringAttr(terminated),
        /*alignment=*/1, /*addrSpace=*/2);
  }
  return LLVM::AddressOfOp::create(b, lowering.loc, cast<LLVM::GlobalOp>(global));
}

/// Mangled as with its first parameter, `constant char *`: by the plain name, LLVM's back end would
/// pass the address of the whole text, which is not valid SPIR-V.
static constexpr llvm::StringLiteral kPrintf = "_Z6printfPU3AS2Kcz";

static void emitPrintf(Lowering &lowering, StringRef format, ValueRange values) {
  OpBuilder &b = lowering.builder;
  auto print = lowering.module.lookupSymbol<LLVM::LLVMFuncOp>(kPrintf);
  Value address = formatAddress(lowering, formatForOpenCl(format));
  if (!print) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lowering.module.getBody());
    print = LLVM::LLVMFuncOp::create(
        b, lowering.loc, kPrintf,
        LLVM::LLVMFunctionType::get(b.getI32Type(), address.getType(), /*isVarArg=*/true),
        LLVM::Linkage::External, /*dsoLocal=*/false, LLVM::CConv::SPIR_FUNC);
  }
  SmallVector<Value> operands = {address};
  operands.append(values.begin(), values.end());
  LLVM::CallOp::create(b, lowering.loc, print, operands).setCConv(LLVM::CConv::SPIR_FUNC);
}

static auto printerOf(Lowering &lowering) {
  return [&lowering](StringRef format, ValueRange values) {
    if (lowering.runner == SpirvRunner::Driver)
      emitPrintf(lowering, format, values);
    else
      emitVprintf(lowering, format, values);
  };
}

void tw::spirv::lowerPrint(Lowering &lowering, simt::PrintOp op) {
  gpu::lowerPrint(lowering, op, programIdOf(lowering), printerOf(lowering));
}

/// OpenCL has no way to stop a kernel: the thread goes on, and the launch is reported as failed.
void tw::spirv::lowerAssert(Lowering &lowering, simt::AssertOp op) {
  gpu::lowerAssert(lowering, op, programIdOf(lowering), printerOf(lowering), [&] {
    if (lowering.failureWord)
      LLVM::StoreOp::create(lowering.builder, lowering.loc, constantI32(lowering, 1),
                            lowering.failureWord, /*alignment=*/4);
    else
      LLVM::Trap::create(lowering.builder, lowering.loc);
  });
}
