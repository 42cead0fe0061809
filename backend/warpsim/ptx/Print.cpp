// Writes a decoded instruction the way PTX does, from the row of the table that it came from.
#include "backend/warpsim/ptx/InstructionTable.h"
#include "backend/warpsim/ptx/Parse.h"
#include <algorithm>
#include <cinttypes>
#include <cstdio>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

using Role = OperandRule::Role;

static std::string formatted(const char *format, uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

/// The function of an instruction, also of a copy of it: lines ascend in the code.
static const Function *functionOf(const Program &program, const Instruction &instruction) {
  auto byLine = [](const Instruction &a, int32_t line) { return a.line < line; };
  auto found = std::lower_bound(program.code.begin(), program.code.end(), instruction.line, byLine);
  int32_t index = int32_t(found - program.code.begin());
  for (const Function &function : program.functions)
    if (index >= function.begin && index < function.end)
      return &function;
  return nullptr;
}

std::string tw::warpsim::registerName(const Function *function, Register reg) {
  if (function)
    for (const RegisterNames &names : function->registerNames) {
      uint32_t size = names.isWide ? 2 : 1;
      bool isHere = names.first.file == reg.file && reg.number >= names.first.number &&
                    reg.number < names.first.number + names.count * size;
      if (isHere && names.isNumbered)
        return names.name + std::to_string((reg.number - names.first.number) / size);
      if (isHere)
        return names.name;
    }
  const char *prefix = reg.file == RegisterFile::Predicate ? "%predicate"
                       : reg.file == RegisterFile::Word    ? "%word"
                                                           : "%double";
  return prefix + std::to_string(reg.number);
}

static std::string printLiteral(uint64_t bits, Type type) {
  switch (type) {
  case Type::F32:
    return formatted("0f%08" PRIX64, bits);
  case Type::F64:
    return formatted("0d%016" PRIX64, bits);
  case Type::S8:
    return std::to_string(int8_t(bits));
  case Type::S16:
    return std::to_string(int16_t(bits));
  case Type::S32:
    return std::to_string(int32_t(bits));
  case Type::S64:
    return std::to_string(int64_t(bits));
  default:
    return bits < 65536 ? std::to_string(bits) : formatted("0x%" PRIX64, bits);
  }
}

static std::string printOperand(const Function *function, const Operand &operand, Type type) {
  switch (operand.kind) {
  case Operand::Kind::Register:
    return (operand.isNegated ? "!" : "") + registerName(function, operand.reg);
  case Operand::Kind::Immediate:
    return printLiteral(operand.bits, type);
  case Operand::Kind::Sink:
  case Operand::Kind::None:
    break;
  }
  return "_";
}

static uint64_t baseOf(const Program &program, Space space) {
  return space == Space::Shared   ? program.sharedBase
         : space == Space::Global ? program.globalBase
         : space == Space::Const  ? program.constBase
                                  : 0;
}

/// NAME+N, or nothing where the offset is not within the `bytes` from `begin` on.
static std::string nameWithin(const std::string &name, uint64_t begin, uint64_t bytes,
                              uint64_t offset) {
  if (offset < begin || offset >= begin + std::max<uint64_t>(bytes, 1))
    return "";
  return offset == begin ? name : name + "+" + std::to_string(offset - begin);
}

/// Returns the name for an address without a register: `name+8`, or "" when nothing is there.
static std::string placeName(const Program &program, const Function *function,
                             const Instruction &instruction) {
  uint64_t offset = uint64_t(instruction.address.offset);
  if (instruction.space == Space::Param && function)
    for (const Parameter &parameter : function->parameters)
      if (std::string name = nameWithin(parameter.name, parameter.offset, parameter.bytes, offset);
          !name.empty())
        return name;
  for (const Variable &variable : program.variables) {
    uint64_t begin = baseOf(program, variable.space) + variable.offset;
    bool isHere = variable.space == instruction.space ||
                  (instruction.space == Space::Generic && variable.space == Space::Global);
    if (std::string name = nameWithin(variable.name, begin, variable.bytes, offset);
        isHere && !name.empty())
      return name;
  }
  return "";
}

static std::string printAddress(const Program &program, const Function *function,
                                const Instruction &instruction) {
  const Address &address = instruction.address;
  if (address.base.kind != Operand::Kind::Register) {
    std::string name = placeName(program, function, instruction);
    return "[" + (name.empty() ? std::to_string(address.offset) : name) + "]";
  }
  std::string text = "[" + registerName(function, address.base.reg);
  if (address.offset)
    text += "+" + std::to_string(address.offset);
  return text + "]";
}

static std::string printList(const Function *function, const std::vector<Operand> &operands,
                             Type type, const char *open, const char *close) {
  std::string text;
  for (const Operand &operand : operands)
    text += (text.empty() ? "" : ", ") + printOperand(function, operand, type);
  return open + text + close;
}

static std::string printVector(const Function *function, const std::vector<Operand> &operands,
                               Type type) {
  bool isOne = operands.size() == 1;
  return printList(function, operands, type, isOne ? "" : "{", isOne ? "" : "}");
}

static std::string printMove(const Function *function, const Instruction &instruction) {
  std::string text = printVector(function, instruction.results, instruction.type) + ", ";
  if (instruction.op == Op::MovSpecial)
    return text + std::string(specialName(instruction.special));
  return text + printVector(function, instruction.sources, instruction.type);
}

static std::string printCall(const Program &program, const Function *function,
                             const Instruction &instruction) {
  bool isKnown = instruction.callee >= 0 && size_t(instruction.callee) < program.functions.size();
  std::string text =
      isKnown ? program.functions[size_t(instruction.callee)].name : instruction.calleeName;
  if (!instruction.results.empty())
    text = printList(function, instruction.results, Type::B64, "(", "), ") + text;
  if (!instruction.sources.empty())
    text += printList(function, instruction.sources, Type::B64, ", (", ")");
  return text;
}

static std::string printTarget(const Program &program, int32_t target) {
  if (target < 0 || size_t(target) >= program.code.size())
    return "?";
  return "line " + std::to_string(program.code[size_t(target)].line);
}

namespace {
/// The operands not yet written.
struct Remaining {
  size_t result = 0, source = 0;
};
} // namespace

static Type typeOf(const OperandRule &rule, const Instruction &instruction) {
  if (rule.typeRule == OperandRule::TypeRule::Fixed)
    return rule.fixed;
  if (rule.typeRule == OperandRule::TypeRule::OfSource)
    return instruction.sourceType;
  bool isWide = rule.typeRule == OperandRule::TypeRule::DoubleWidth;
  return isWide ? (instruction.type == Type::S32 ? Type::S64 : Type::U64) : instruction.type;
}

static bool isSourceRole(Role role) {
  return role == Role::Source || role == Role::Predicate || role == Role::Immediate;
}

static std::string printFragment(const Function *function, const Instruction &instruction,
                                 const OperandRule &rule, Remaining &next) {
  const std::vector<Operand> &operands = rule.isResult ? instruction.results : instruction.sources;
  size_t &first = rule.isResult ? next.result : next.source;
  size_t count = rule.count ? rule.count : instruction.vectorWidth;
  size_t begin = std::min(first, operands.size()), end = std::min(first + count, operands.size());
  first = end;
  return printList(function,
                   {operands.begin() + ptrdiff_t(begin), operands.begin() + ptrdiff_t(end)},
                   typeOf(rule, instruction), "{", "}");
}

static std::string printMatrixA(const Function *function, const Instruction &instruction,
                                Remaining &next) {
  next.source = hasMatrixInRegisters(instruction) ? 4 : 1;
  return printVector(
      function, {instruction.sources.begin(), instruction.sources.begin() + ptrdiff_t(next.source)},
      Type::B32);
}

static std::string printSourceAddress(const Program &program, const Function *function,
                                      const Instruction &instruction) {
  Instruction source;
  source.address = instruction.sourceAddress;
  source.space = Space::Global;
  return printAddress(program, function, source);
}

static std::string printBarrierAddress(const Program &program, const Function *function,
                                       const Instruction &instruction) {
  Instruction barrier;
  barrier.address = instruction.barrier;
  barrier.space = Space::Shared;
  return printAddress(program, function, barrier);
}

static std::string printTensorPlace(const Function *function, const Instruction &instruction,
                                    Remaining &next) {
  size_t begin = next.source;
  next.source += instruction.vectorWidth;
  std::vector<Operand> coordinates(instruction.sources.begin() + ptrdiff_t(begin),
                                   instruction.sources.begin() + ptrdiff_t(next.source));
  return "[" + registerName(function, instruction.sourceAddress.base.reg) + ", " +
         printList(function, coordinates, Type::S32, "{", "}") + "]";
}

/// One operand of a rule, "" for an optional one that is not there.
static std::string printOne(const Program &program, const Function *function,
                            const Instruction &instruction, const OperandRule &rule,
                            size_t numRequiredAfter, Remaining &next) {
  switch (rule.role) {
  case Role::Result:
  case Role::PredicateResult:
    if (next.result >= instruction.results.size())
      return "";
    return printOperand(function, instruction.results[next.result++], Type::Pred);
  case Role::Source:
  case Role::Predicate:
  case Role::Immediate:
    if (next.source + numRequiredAfter >= instruction.sources.size())
      return "";
    return printOperand(function, instruction.sources[next.source++], typeOf(rule, instruction));
  case Role::Vector:
    return printVector(function, rule.isResult ? instruction.results : instruction.sources,
                       instruction.type);
  case Role::Address:
    return printAddress(program, function, instruction);
  case Role::Fragment:
    return printFragment(function, instruction, rule, next);
  case Role::Accumulator:
    return printList(function, instruction.results, Type::B32, "{", "}");
  case Role::MatrixA:
    return printMatrixA(function, instruction, next);
  case Role::MajorOfA:
    if (hasMatrixInRegisters(instruction))
      return "";
    [[fallthrough]];
  case Role::Sign:
  case Role::Major:
    return printOperand(function, instruction.sources[next.source++], Type::S32);
  case Role::SourceAddress:
    return printSourceAddress(program, function, instruction);
  case Role::BarrierAddress:
    return printBarrierAddress(program, function, instruction);
  case Role::TensorPlace:
    return printTensorPlace(function, instruction, next);
  case Role::CopiedSize:
    if (next.source >= instruction.sources.size())
      return "";
    return printOperand(function, instruction.sources[next.source++], Type::U32);
  case Role::Label:
    return printTarget(program, instruction.target);
  case Role::BranchTargets: {
    std::string text;
    for (int32_t target : instruction.targets)
      text += (text.empty() ? "{" : ", ") + printTarget(program, target);
    return text + "}";
  }
  case Role::Callee:
    return printCall(program, function, instruction);
  case Role::Move:
    return printMove(function, instruction);
  case Role::CachePolicy:
    break;
  }
  return "";
}

static std::string printOperands(const Program &program, const Function *function,
                                 const Instruction &instruction, const InstructionRow &row) {
  std::string text;
  Remaining next;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    size_t numRequiredAfter = 0;
    for (size_t j = i + 1; j < row.operands.size(); ++j)
      numRequiredAfter += isSourceRole(row.operands[j].role) && !row.operands[j].isOptional;
    std::string operand =
        printOne(program, function, instruction, row.operands[i], numRequiredAfter, next);
    if (!operand.empty())
      text += (text.empty() ? " " : row.operands[i].isSecond ? "|" : ", ") + operand;
  }
  return text;
}

/// The instruction as it is spelled: what is meant without a word is written without one.
static Instruction spelledOf(const Instruction &instruction) {
  Instruction spelled = instruction;
  if (instruction.op == Op::MovSpecial)
    spelled.op = Op::Mov;
  if (instruction.op == Op::Atom || instruction.op == Op::Red) {
    spelled.order = spelled.order == Order::Relaxed ? Order::Weak : spelled.order;
    spelled.scope = spelled.scope == Scope::Gpu ? Scope::None : spelled.scope;
  }
  return spelled;
}

std::string tw::warpsim::printInstruction(const Program &program, const Instruction &instruction) {
  if (program.isAmdgcn)
    return program.texts[size_t(program.textOf[size_t(&instruction - program.code.data())])].text;
  const Function *function = functionOf(program, instruction);
  std::string text;
  if (instruction.guard.kind == Operand::Kind::Register)
    text = "@" + printOperand(function, instruction.guard, Type::Pred) + " ";
  Instruction spelled = spelledOf(instruction);
  for (const InstructionRow &row : InstructionTable::get().rows()) {
    if (row.text.op != spelled.op)
      continue;
    if (std::optional<std::string> modifiers = spellModifiers(row, spelled))
      return text + std::string(row.text.opcode) + *modifiers +
             printOperands(program, function, instruction, row);
  }
  return text + "?";
}
