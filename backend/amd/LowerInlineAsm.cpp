// Assembly text of the user's.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/InlineAssembly.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// Vector, scalar and accumulation registers by LLVM's letters ("AMDGPU" in its list of
/// constraints). A value is in as many of them as its bits fill: all kinds hold 32 bits.
static Type typeInRegisters(const AmdArch &arch, StringRef letter, Type value) {
  bool isRegister =
      letter == "v" || letter == "s" || (letter == "a" && arch.hasAccumulationRegisters);
  if (!isRegister)
    return {};
  Builder b(value.getContext());
  if (isa<LLVM::LLVMPointerType>(value))
    return b.getI64Type();
  return bitsOf(value) < 32 ? Type(b.getI32Type()) : value;
}

LogicalResult tw::amd::lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op) {
  auto registerFor = [&](StringRef letter, Type value) {
    return typeInRegisters(lowering.arch, letter, value);
  };
  return gpu::lowerInlineAsm(
      lowering, op,
      {"", "", ";", registerFor,
       "v is a vector register, one value of each lane, and s a scalar register, one of the wave; "
       "values of up to 32 bits take one and 64 bits two"});
}

/// From lines such as "assembly:12:3: error: invalid instruction", which LLVM's assembler writes.
static AssemblerError firstError(StringRef log) {
  for (StringRef line : llvm::split(log, '\n')) {
    auto [place, message] = line.split(": error: ");
    unsigned number = 0;
    if (llvm::to_integer(place.rsplit(':').first.rsplit(':').second, number, 10))
      return {number, message};
  }
  return {};
}

/// The line of the assembly that names a symbol which the linker does not find, from messages such
/// as "relocation ... cannot be used against symbol 'name'; recompile" and "undefined symbol:
/// name".
static AssemblerError missingSymbol(StringRef assembly, StringRef log) {
  StringRef symbol = log.split("symbol").second.ltrim(": '").take_until(
      [](char character) { return llvm::StringRef("';\n").contains(character); });
  size_t place = symbol.empty() ? StringRef::npos : assembly.find(symbol);
  if (place == StringRef::npos)
    return {};
  return {unsigned(assembly.take_front(place).count('\n') + 1),
          "it names what this compiler does not link"};
}

bool tw::amd::blameInlineAsm(ModuleOp lowered, StringRef assembly, StringRef log) {
  AssemblerError error = firstError(log);
  if (error.line == 0)
    error = missingSymbol(assembly, log);
  return gpu::blameInlineAsm(lowered, assembly, error,
                             "see the instruction set of this GPU for the instruction, its "
                             "operands and their kinds of register");
}
