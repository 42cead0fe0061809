// Assembly text of the user's: values in the registers that its constraints name.
#include "backend/amd/LowerAmd.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

static unsigned bitsOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

/// Vector, scalar and accumulation registers by LLVM's letters ("AMDGPU" in its list of
/// constraints).
static bool isRegister(const AmdArch &arch, StringRef letter) {
  return letter == "v" || letter == "s" || (letter == "a" && arch.hasAccumulationRegisters);
}

/// Each value in as many registers as its bits fill: all kinds hold 32 bits.
static Type typeInRegisters(OpBuilder &b, Type value) {
  unsigned bits = bitsOf(value);
  if (isa<LLVM::LLVMPointerType>(value))
    return b.getI64Type();
  return bits < 32 ? Type(b.getI32Type()) : value;
}

static Value toRegisters(Lowering &lowering, Value value) {
  OpBuilder &b = lowering.builder;
  Type type = typeInRegisters(b, value.getType());
  if (value.getType() == type)
    return value;
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return LLVM::PtrToIntOp::create(b, lowering.loc, type, value);
  if (!isa<IntegerType>(value.getType()))
    value =
        LLVM::BitcastOp::create(b, lowering.loc, b.getIntegerType(bitsOf(value.getType())), value);
  return LLVM::ZExtOp::create(b, lowering.loc, type, value);
}

static Value fromRegisters(Lowering &lowering, Value word, Type type) {
  OpBuilder &b = lowering.builder;
  if (word.getType() == type)
    return word;
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(b, lowering.loc, type, word);
  Type integer = b.getIntegerType(bitsOf(type));
  word = LLVM::TruncOp::create(b, lowering.loc, integer, word);
  return type == integer ? word : LLVM::BitcastOp::create(b, lowering.loc, type, word);
}

static LogicalResult checkConstraints(Lowering &lowering, simt::InlineAsmOp op) {
  SmallVector<StringRef> constraints(llvm::split(op.getConstraints(), ','));
  if (constraints.size() != op.getNumResults() + op.getSources().size() || op.getNumResults() == 0)
    return op.emitOpError("must have a result, and one constraint for each value");
  for (StringRef constraint : constraints) {
    StringRef letter = constraint;
    letter.consume_front("=");
    letter.consume_front("&");
    unsigned tied;
    if (isRegister(lowering.arch, letter) ||
        (llvm::to_integer(letter, tied, 10) && tied < op.getNumResults()))
      continue;
    InFlightDiagnostic error = emitCoded(op, Code::AsmConstraints)
                               << "\"" << constraint << "\" is not a register of this GPU";
    error.attachNote()
        << "v is a vector register, one value of each lane, and s a scalar register, "
           "one of the wave; values of up to 32 bits take one and 64 bits two";
    return failure();
  }
  return success();
}

LogicalResult tw::amd::lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op) {
  if (failed(checkConstraints(lowering, op)))
    return failure();
  OpBuilder &b = lowering.builder;
  SmallVector<Value> operands;
  for (Value source : op.getSources())
    operands.push_back(toRegisters(lowering, source));
  SmallVector<Type> results;
  for (Type type : op.getResultTypes())
    results.push_back(typeInRegisters(b, type));
  Type type = results.front();
  if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(b.getContext(), results);
  auto code = LLVM::InlineAsmOp::create(
      b, lowering.loc, TypeRange(type), operands, op.getText(), op.getConstraints(),
      /*has_side_effects=*/!op.getIsPure(), /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Value word = code.getRes();
    if (results.size() > 1)
      word = LLVM::ExtractValueOp::create(b, lowering.loc, word, int64_t(i));
    result.replaceAllUsesWith(fromRegisters(lowering, word, result.getType()));
  }
  return success();
}
