// Assembly text of the user's: values in the registers that its constraints name, and the way back
// from an assembler's complaint to the text.
#include "backend/gpu/InlineAssembly.h"
#include "backend/gpu/RegisterWords.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

//===-- Registers ----------------------------------------------------------------------------===//

/// Returns true if a register holds a value: one of as many bits, or one of fewer than 32 in a
/// wider integer register.
static bool holds(Type reg, Type value) {
  unsigned bits = bitsOf(value), room = bitsOf(reg);
  if (isa<LLVM::LLVMPointerType>(value))
    return reg.isInteger(64);
  return bits == room || (reg.isInteger() && bits < room && room <= 32);
}

static Value toRegister(ThreadLowering &lowering, Value value, Type reg) {
  OpBuilder &b = lowering.builder;
  Type type = value.getType();
  if (type == reg || isa<LLVM::LLVMPointerType>(type))
    return value;
  if (bitsOf(type) == bitsOf(reg))
    return LLVM::BitcastOp::create(b, lowering.loc, reg, value);
  return LLVM::ZExtOp::create(b, lowering.loc, reg, toInteger(b, lowering.loc, value));
}

static Value fromRegister(ThreadLowering &lowering, Value word, Type type) {
  OpBuilder &b = lowering.builder;
  if (bitsOf(type) < bitsOf(word.getType()))
    word = LLVM::TruncOp::create(b, lowering.loc, b.getIntegerType(bitsOf(type)), word);
  return fromInteger(b, lowering.loc, word, type);
}

static LogicalResult refuseConstraint(simt::InlineAsmOp op, StringRef constraint, Type value,
                                      bool isKnown, const AssemblyLanguage &language) {
  InFlightDiagnostic error = emitCoded(op, Code::AsmConstraints);
  if (!isKnown)
    error << "\"" << constraint << "\" is not a register of this GPU";
  else
    error << "the register \"" << constraint << "\" does not hold a value of " << bitsOf(value)
          << " bits";
  error.attachNote() << language.registers;
  return failure();
}

/// The types of the registers that the constraints name, in their order.
static FailureOr<SmallVector<Type>> registersOf(simt::InlineAsmOp op,
                                                const AssemblyLanguage &language) {
  SmallVector<Type> registers, values(op.getResultTypes());
  llvm::append_range(values, op.getOperandTypes());
  SmallVector<StringRef> constraints(llvm::split(op.getConstraints(), ','));
  if (constraints.size() != values.size() || op.getNumResults() == 0)
    return op.emitOpError("must have a result, and one constraint for each value"), failure();
  for (auto [constraint, value] : llvm::zip(constraints, values)) {
    StringRef letter = constraint;
    letter.consume_front("=");
    letter.consume_front("&");
    unsigned tied;
    Type reg = llvm::to_integer(letter, tied, 10) && tied < op.getNumResults()
                   ? registers[tied]
                   : language.registerFor(letter, value);
    if (!reg || !holds(reg, value))
      return refuseConstraint(op, constraint, value, bool(reg), language);
    registers.push_back(reg);
  }
  return registers;
}

//===-- The text -----------------------------------------------------------------------------===//

// What an assembler says of the lines between these two comments is about text of the user's.
static constexpr StringLiteral kBegin = "inline assembly ", kEnd = "inline assembly ends";

/// Returns the text that the assembler gets: the user's text between comments, the first of which
/// has a number for each place in the source.
static std::string markedText(ThreadLowering &lowering, simt::InlineAsmOp op,
                              const AssemblyLanguage &language) {
  unsigned number =
      lowering.assemblies.try_emplace(op.getLoc(), lowering.assemblies.size()).first->second;
  return (language.opening + language.comment + " " + kBegin + Twine(number) + "\n" + op.getText() +
          "\n" + language.closing + language.comment + " " + kEnd)
      .str();
}

LogicalResult tw::gpu::lowerInlineAsm(ThreadLowering &lowering, simt::InlineAsmOp op,
                                      const AssemblyLanguage &language) {
  FailureOr<SmallVector<Type>> registers = registersOf(op, language);
  if (failed(registers))
    return failure();
  ArrayRef<Type> results = ArrayRef(*registers).take_front(op.getNumResults());
  SmallVector<Value> operands;
  for (auto [source, reg] :
       llvm::zip(op.getSources(), ArrayRef(*registers).drop_front(results.size())))
    operands.push_back(toRegister(lowering, source, reg));
  OpBuilder &b = lowering.builder;
  Type type = results.front();
  if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(b.getContext(), results);
  auto code = LLVM::InlineAsmOp::create(
      b, lowering.loc, TypeRange(type), operands, markedText(lowering, op, language),
      op.getConstraints(), /*has_side_effects=*/!op.getIsPure(), /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Value word = code.getRes();
    if (results.size() > 1)
      word = LLVM::ExtractValueOp::create(b, lowering.loc, word, int64_t(i));
    result.replaceAllUsesWith(fromRegister(lowering, word, result.getType()));
  }
  return success();
}

//===-- Complaints of assemblers -------------------------------------------------------------===//

/// The first line of the text around a line of assembly, or nothing.
static StringRef firstLineAround(StringRef assembly, unsigned line) {
  StringRef first;
  for (unsigned number = 1; number <= line && !assembly.empty(); ++number) {
    auto [text, rest] = assembly.split('\n');
    if (number < line && text.contains(kEnd))
      first = "";
    else if (text.contains(kBegin))
      first = text.trim();
    assembly = rest;
  }
  return first;
}

bool tw::gpu::blameInlineAsm(ModuleOp lowered, StringRef assembly, const AssemblerError &error,
                             StringRef hint) {
  StringRef first = error.line ? firstLineAround(assembly, error.line) : "";
  if (first.empty())
    return false;
  WalkResult found = lowered.walk([&](LLVM::InlineAsmOp op) {
    if (op.getAsmString().split('\n').first != first)
      return WalkResult::advance();
    InFlightDiagnostic report = emitCoded(op, Code::AsmRefused);
    report << "the assembler refuses this text: " << error.message;
    report.attachNote() << hint << "; $0, $1, ... are registers in the order of the constraints";
    return WalkResult::interrupt();
  });
  return found.wasInterrupted();
}
