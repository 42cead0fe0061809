// Assembly text of the user's as inline PTX: values in the registers that its constraints name, and
// the way back from an assembler's complaint to the text.
#include "backend/nvidia/LowerNvidia.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// The registers of PTX by LLVM's letters ("NVPTX" in its list of constraints).
static Type typeOfRegister(StringRef letter, MLIRContext *context) {
  Builder b(context);
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

static unsigned bitsOf(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
}

/// Whether a register holds a value: of as many bits, or fewer than 32 in a wider integer one.
static bool holds(Type reg, Type value) {
  unsigned bits = bitsOf(value), room = bitsOf(reg);
  if (isa<LLVM::LLVMPointerType>(value))
    return reg.isInteger(64);
  return bits == room || (reg.isInteger() && bits < room && room <= 32);
}

static Value toRegister(Lowering &lowering, Value value, Type reg) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (value.getType() == reg || isa<LLVM::LLVMPointerType>(value.getType()))
    return value;
  if (bitsOf(value.getType()) == bitsOf(reg))
    return LLVM::BitcastOp::create(b, loc, reg, value);
  return LLVM::ZExtOp::create(b, loc, reg, value);
}

static Value fromRegister(Lowering &lowering, Value word, Type type) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (word.getType() == type)
    return word;
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(b, loc, type, word);
  if (bitsOf(type) == bitsOf(word.getType()))
    return LLVM::BitcastOp::create(b, loc, type, word);
  return LLVM::TruncOp::create(b, loc, type, word);
}

static LogicalResult refuseConstraint(simt::InlineAsmOp op, StringRef constraint, Type value,
                                      bool isKnown) {
  InFlightDiagnostic error = emitCoded(op, Code::AsmConstraints);
  if (!isKnown)
    error << "\"" << constraint << "\" is not a register of this GPU";
  else
    error << "the register \"" << constraint << "\" does not hold a value of " << bitsOf(value)
          << " bits";
  error.attachNote() << "r holds up to 32 bits and h up to 16, also of small floats and of packed "
                        "elements; l 64 bits and pointers, f float32, d float64, b int1";
  return failure();
}

/// The types of the registers that the constraints name, in their order.
static FailureOr<SmallVector<Type>> registersOf(simt::InlineAsmOp op) {
  SmallVector<Type> registers, values(op.getResultTypes());
  llvm::append_range(values, op.getOperandTypes());
  SmallVector<StringRef> constraints(llvm::split(op.getConstraints(), ','));
  if (constraints.size() != values.size() || op.getNumResults() == 0)
    return op.emitOpError("must have a result, and one constraint for each value"), failure();
  for (auto [constraint, value] : llvm::zip(constraints, values)) {
    StringRef letter = constraint;
    letter.consume_front("=");
    unsigned tied;
    Type reg = llvm::to_integer(letter, tied, 10) && tied < op.getNumResults()
                   ? registers[tied]
                   : typeOfRegister(letter, op.getContext());
    if (!reg || !holds(reg, value))
      return refuseConstraint(op, constraint, value, bool(reg));
    registers.push_back(reg);
  }
  return registers;
}

/// The first line of the text that the assembler gets: what it says of the lines up to the end of
/// the braces is about this text.
static std::string markOf(unsigned number) {
  return "{ // inline assembly " + std::to_string(number);
}

static constexpr StringLiteral kEndMark = "// inline assembly ends";

LogicalResult tw::nvidia::lowerInlineAsm(Lowering &lowering, simt::InlineAsmOp op) {
  FailureOr<SmallVector<Type>> registers = registersOf(op);
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
  unsigned number =
      lowering.assemblies.try_emplace(op.getLoc(), lowering.assemblies.size()).first->second;
  // In braces, so that registers that the text declares may be declared in every copy of it.
  std::string text = markOf(number) + "\n" + op.getText().str() + "\n} " + kEndMark.str();
  auto code = LLVM::InlineAsmOp::create(
      b, lowering.loc, TypeRange(type), operands, text, op.getConstraints(),
      /*has_side_effects=*/!op.getIsPure(), /*is_align_stack=*/false,
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

/// The first line of its input that a log reports an error in, and what it says; 0 without one.
static std::pair<unsigned, StringRef> firstError(StringRef log) {
  for (StringRef line : llvm::split(log, '\n')) {
    auto [place, message] = line.split("; ");
    unsigned number = 0;
    StringRef digits = place.rsplit("line ").second;
    if ((message.starts_with("error") || message.starts_with("fatal")) &&
        llvm::to_integer(digits, number, 10))
      return {number, message.split(':').second.trim()};
  }
  return {0, ""};
}

/// The mark of the text around a line of PTX, or nothing.
static StringRef markAround(StringRef ptx, unsigned line) {
  StringRef mark;
  for (unsigned number = 1; number <= line && !ptx.empty(); ++number) {
    auto [text, rest] = ptx.split('\n');
    if (text.ltrim().starts_with("{ // inline assembly "))
      mark = text.trim();
    if (number > 1 && number < line && text.contains(kEndMark))
      mark = "";
    ptx = rest;
  }
  return mark;
}

bool tw::nvidia::blameInlineAsm(ModuleOp lowered, StringRef ptx, StringRef log) {
  auto [line, message] = firstError(log);
  StringRef mark = line ? markAround(ptx, line) : "";
  if (mark.empty())
    return false;
  WalkResult found = lowered.walk([&, message = message](LLVM::InlineAsmOp op) {
    if (op.getAsmString().split('\n').first != mark)
      return WalkResult::advance();
    InFlightDiagnostic error = emitCoded(op, Code::AsmRefused)
                               << "the assembler refuses this text: ";
    error << message;
    error.attachNote() << "see the PTX ISA for the instruction's operands, types and the first GPU "
                          "that has it; $0, $1, ... are registers in the order of the constraints";
    return WalkResult::interrupt();
  });
  return found.wasInterrupted();
}
