// Inline PTX: instructions and modifiers that LLVM IR cannot name.
#include "backend/nvidia/InlinePtx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw::nvidia;

/// LLVM's letter for the kind of register that holds a type.
static const char *registerOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type) || type.isInteger(64))
    return "l";
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  if (type.isInteger(1))
    return "b";
  if (type.isInteger(32))
    return "r";
  assert(type.isInteger(16) && "no register holds this type");
  return "h";
}

std::string InlinePtx::addResult(Type type, Value initial) {
  std::string name = "$" + std::to_string(results.size());
  if (initial) {
    operands.push_back(initial);
    operandConstraints.push_back(std::to_string(results.size()));
  }
  results.push_back(type);
  resultConstraints.push_back(std::string("=") + registerOf(type));
  return name;
}

std::string InlinePtx::addEarlyResult(Type type, Value initial) {
  std::string name = addResult(type, initial);
  resultConstraints.back().insert(1, "&");
  return name;
}

std::string InlinePtx::addOperand(Value value) {
  operands.push_back(value);
  operandConstraints.push_back(registerOf(value.getType()));
  return "$" + std::to_string(results.size() + operands.size() - 1);
}

std::string InlinePtx::addGuard(Value mask) { return mask ? "@" + addOperand(mask) + " " : ""; }

SmallVector<Value> InlinePtx::emit(StringRef text, bool hasEffects) {
  SmallVector<std::string> constraints(resultConstraints);
  llvm::append_range(constraints, operandConstraints);
  if (isOrdered)
    constraints.push_back("~{memory}");
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(builder.getContext(), results);
  auto code = LLVM::InlineAsmOp::create(
      builder, loc, type ? TypeRange(type) : TypeRange(), operands, text,
      llvm::join(constraints, ","), hasEffects, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (results.size() == 1)
    return {code.getRes()};
  SmallVector<Value> values;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, code.getRes(), i));
  return values;
}

Value tw::nvidia::emitPureInstruction(OpBuilder &builder, Location loc, StringRef mnemonic,
                                      Type result, ValueRange operands) {
  InlinePtx code(builder, loc);
  std::string text = mnemonic.str() + " " + code.addResult(result);
  for (Value operand : operands)
    text += ", " + code.addOperand(operand);
  return code.emit(text + ";", /*hasEffects=*/false).front();
}
