// Reads the operands of an instruction as its row of the table says.
#include "backend/warpsim/ptx/Parser.h"

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

using Role = OperandRule::Role;
using TypeRule = OperandRule::TypeRule;

static Type doubleWidth(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

static Type typeFor(const OperandRule &rule, const Instruction &instruction) {
  switch (rule.typeRule) {
  case TypeRule::OfSource:
    return instruction.sourceType;
  case TypeRule::DoubleWidth:
    return doubleWidth(instruction.type);
  case TypeRule::Fixed:
    return rule.fixed;
  case TypeRule::OfInstruction:
    break;
  }
  return instruction.type;
}

static bool parseResult(Parser &parser, const OperandRule &rule, Instruction &instruction) {
  bool isPredicate = rule.role == Role::PredicateResult;
  Operand operand;
  if ((rule.mayBeSink || isPredicate) && parser.takeSink()) {
    operand.kind = Operand::Kind::Sink;
  } else if (!parseRegister(parser, isPredicate ? Type::Pred : typeFor(rule, instruction),
                            rule.isRelaxed, operand)) {
    return false;
  }
  instruction.results.push_back(operand);
  return true;
}

/// `%r1`, or `{%r1, %r2}` with as many registers as the instruction's vector is wide.
static bool parseVector(Parser &parser, const OperandRule &rule, Instruction &instruction) {
  unsigned width = instruction.vectorWidth, bytes = width * bytesOf(instruction.type);
  // 32 bytes are possible in eight or four elements (sm_100).
  if (bytes > 16 && !(bytes == 32 && width >= 4))
    return parser.failHere("a vector of " + std::to_string(bytes) + " bytes is too wide");
  bool hasBraces = parser.peek().is('{');
  if (width > 1 && !hasBraces)
    return parser.failHere("expected a vector of " + std::to_string(width) + " registers");
  if (hasBraces)
    parser.take();
  for (unsigned element = 0; element < width; ++element) {
    if (element && !parser.expect(','))
      return false;
    if (!rule.isResult) {
      if (!parseSource(parser, instruction.type, true, instruction))
        return false;
      continue;
    }
    Operand operand;
    if (width > 1 && parser.takeSink()) {
      operand.kind = Operand::Kind::Sink;
    } else if (!parseRegister(parser, instruction.type, true, operand)) {
      return false;
    }
    instruction.results.push_back(operand);
  }
  return !hasBraces || parser.expect('}');
}

/// `{%r1, %r2}`; braces are there around a single register too.
static bool parseFragment(Parser &parser, const OperandRule &rule, Instruction &instruction) {
  unsigned count = rule.count ? rule.count : instruction.vectorWidth;
  if (!parser.peek().is('{'))
    return parser.failHere("expected a vector of " + std::to_string(count) +
                           (count == 1 ? " register" : " registers"));
  parser.take();
  for (unsigned element = 0; element < count; ++element) {
    if (element && !parser.expect(','))
      return false;
    bool isParsed = rule.isResult ? parseResult(parser, rule, instruction)
                                  : parseSource(parser, typeFor(rule, instruction), rule.isRelaxed,
                                                instruction);
    if (!isParsed)
      return false;
  }
  return parser.expect('}');
}

/// The registers of the accumulator of wgmma; sources too, behind the others.
static bool parseAccumulator(Parser &parser, Instruction &instruction) {
  unsigned count = numAccumulatorRegisters(instruction);
  if (!parser.peek().is('{'))
    return parser.failHere("expected a vector of " + std::to_string(count) + " registers");
  parser.take();
  for (unsigned element = 0; element < count; ++element) {
    Operand operand;
    if ((element && !parser.expect(',')) ||
        !parseRegister(parser, accumulatorRegisterType(instruction), false, operand))
      return false;
    instruction.results.push_back(operand);
  }
  return parser.expect('}');
}

/// `%rd1`, or `{%r1, %r2, %r3, %r4}`.
static bool parseMatrixA(Parser &parser, Instruction &instruction) {
  bool isFragment = parser.takeIf('{');
  for (unsigned element = 0; element < (isFragment ? 4 : 1); ++element) {
    Operand operand;
    if ((element && !parser.expect(',')) ||
        !parseRegister(parser, isFragment ? Type::U32 : Type::B64, false, operand))
      return false;
    instruction.sources.push_back(operand);
  }
  return !isFragment || parser.expect('}');
}

/// A literal that is one of two.
static bool parseChoice(Parser &parser, int64_t first, int64_t second, Instruction &instruction) {
  int line = parser.peek().line;
  bool isNegative = parser.takeIf('-');
  if (parser.peek().kind != TokenKind::Integer)
    return parser.failHere("expected an integer instead of " + describe(parser.peek()));
  int64_t value = int64_t(parser.take().bits) * (isNegative ? -1 : 1);
  if (value != first && value != second)
    return parser.fail(line, "expected " + std::to_string(first) + " or " + std::to_string(second) +
                                 " instead of " + std::to_string(value));
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  operand.bits = uint32_t(value);
  instruction.sources.push_back(operand);
  return true;
}

/// Parses an address beside the instruction's first one.
static bool parseOtherAddress(Parser &parser, const Instruction &instruction, Space space,
                              Address &address) {
  Instruction other;
  other.op = instruction.op;
  other.space = space;
  bool isParsed = parseAddress(parser, other);
  address = other.address;
  return isParsed;
}

/// `[%rd1, {%r1, %r2}]`: the address of a tensor map, and coordinates, innermost first.
static bool parseTensorPlace(Parser &parser, Instruction &instruction) {
  TypedRegister map;
  if (!parser.expect('['))
    return false;
  if (!findRegister(parser, parser.peek().text, map))
    return parser.failHere("expected a register with the address of a tensor map instead of " +
                           describe(parser.peek()));
  if (!parseRegister(parser, Type::B64, false, instruction.sourceAddress.base) ||
      !parser.expect(',') || !parser.expect('{'))
    return false;
  for (unsigned i = 0; i < instruction.vectorWidth; ++i)
    if ((i && !parser.expect(',')) || !parseSource(parser, Type::S32, false, instruction))
      return false;
  return parser.expect('}') && parser.expect(']');
}

static bool parseImmediate(Parser &parser, const OperandRule &rule, Instruction &instruction) {
  if (parser.peek().kind != TokenKind::Integer)
    return parser.failHere("expected an integer instead of " + describe(parser.peek()));
  return parseSource(parser, rule.fixed, false, instruction);
}

static bool parseLabel(Parser &parser, Instruction &) {
  int line = parser.peek().line;
  std::string_view name;
  if (!parser.takeWord(name, "a label"))
    return false;
  parser.scopes.back().unresolved.push_back({int32_t(parser.program.code.size()), -1, name, line});
  return true;
}

static bool parseTargets(Parser &parser, Instruction &instruction) {
  Token name = parser.take();
  for (size_t depth = parser.scopes.size(); depth-- > 1;) {
    auto list = parser.scopes[depth].branchTargets.find(name.text);
    if (list == parser.scopes[depth].branchTargets.end())
      continue;
    int32_t slot = 0;
    for (const Token &label : list->second)
      parser.scopes.back().unresolved.push_back(
          {int32_t(parser.program.code.size()), slot++, label.text, label.line});
    instruction.targets.assign(list->second.size(), -1);
    return true;
  }
  return parser.fail(name.line, describe(name) + " is not a list of .branchtargets");
}

/// The policy has no effect here; it is checked and left out.
static bool parseCachePolicy(Parser &parser, Instruction &instruction) {
  if (instruction.modifiers.find(".L2::cache_hint") == std::string::npos)
    return true;
  Operand policy;
  return parser.expect(',') && parseRegister(parser, Type::B64, false, policy);
}

/// Returns true if the operand after the comma here is a predicate.
static bool isPredicateNext(const Parser &parser) {
  TypedRegister found;
  if (parser.peek(1).is('!'))
    return true;
  return parser.peek(1).kind == TokenKind::Word &&
         findRegister(parser, parser.peek(1).text, found) && found.type == Type::Pred;
}

/// `, 8` or `, %r1`: bytes to read; `, %p1`: read nothing. Left out before a cache policy.
static bool parseCopiedSize(Parser &parser, Instruction &instruction) {
  uint64_t bytes = instruction.sources[0].bits;
  bool isOfL2 = instruction.modifiers.starts_with(".cg");
  if (bytes != 16 && (isOfL2 || (bytes != 4 && bytes != 8)))
    return parser.failHere("cp.async copies " + std::string(isOfL2 ? "" : "4, 8 or ") +
                           "16 bytes, not " + std::to_string(bytes));
  TypedRegister found;
  const Token &next = parser.peek(1);
  bool isPolicy = next.kind == TokenKind::Word && findRegister(parser, next.text, found) &&
                  bytesOf(found.type) == 8;
  if (!parser.peek().is(',') || isPolicy)
    return true;
  bool isPredicate = isPredicateNext(parser);
  parser.take();
  if (!parseSource(parser, isPredicate ? Type::Pred : Type::U32, false, instruction))
    return false;
  const Operand &size = instruction.sources.back();
  if (size.kind == Operand::Kind::Immediate && size.bits > bytes)
    return parser.failHere("cp.async cannot read " + std::to_string(size.bits) +
                           " bytes to write " + std::to_string(bytes));
  return true;
}

static bool parseOperand(Parser &parser, const OperandRule &rule, Instruction &instruction) {
  switch (rule.role) {
  case Role::Result:
  case Role::PredicateResult:
    return parseResult(parser, rule, instruction);
  case Role::Source:
    return parseSource(parser, typeFor(rule, instruction), rule.isRelaxed, instruction);
  case Role::Predicate:
    return parseSource(parser, Type::Pred, false, instruction);
  case Role::Immediate:
    return parseImmediate(parser, rule, instruction);
  case Role::Address:
    return parseAddress(parser, instruction);
  case Role::Vector:
    return parseVector(parser, rule, instruction);
  case Role::Fragment:
    return parseFragment(parser, rule, instruction);
  case Role::Accumulator:
    return parseAccumulator(parser, instruction);
  case Role::MatrixA:
    return parseMatrixA(parser, instruction);
  case Role::Sign:
    return parseChoice(parser, 1, -1, instruction);
  case Role::Major:
  case Role::MajorOfA:
    return parseChoice(parser, 0, 1, instruction);
  case Role::SourceAddress:
    return parseOtherAddress(parser, instruction, Space::Global, instruction.sourceAddress);
  case Role::BarrierAddress:
    return parseOtherAddress(parser, instruction, Space::Shared, instruction.barrier);
  case Role::TensorPlace:
    return parseTensorPlace(parser, instruction);
  case Role::CopiedSize:
    return parseCopiedSize(parser, instruction);
  case Role::Label:
    return parseLabel(parser, instruction);
  case Role::BranchTargets:
    return parseTargets(parser, instruction);
  case Role::Callee:
    return parseCallee(parser, instruction);
  case Role::Move:
    return parseMove(parser, instruction);
  case Role::CachePolicy:
    return parseCachePolicy(parser, instruction);
  }
  return false;
}

/// Returns true if an optional operand is left out: nothing follows, or what follows is the
/// predicate that the next rule is for (`bar.red.and.pred p, 0, q`).
static bool isLeftOut(const Parser &parser, const InstructionRow &row, size_t index,
                      const Instruction &instruction) {
  const OperandRule &rule = row.operands[index];
  if (rule.role == Role::MajorOfA)
    return hasMatrixInRegisters(instruction);
  if (!rule.isOptional || rule.role == Role::CopiedSize)
    return false;
  if (rule.isSecond)
    return !parser.peek().is('|');
  if (!parser.peek().is(','))
    return true;
  bool isBeforePredicate =
      index + 1 < row.operands.size() && row.operands[index + 1].role == Role::Predicate;
  return isBeforePredicate && isPredicateNext(parser);
}

/// Parses the text between an operand and the one before it.
static bool parseSeparator(Parser &parser, const InstructionRow &row, const OperandRule &rule,
                           bool isFirst) {
  if (rule.isSecond)
    return parser.expect('|');
  bool standsAlone = rule.role == Role::CachePolicy || rule.role == Role::CopiedSize || isFirst;
  if (standsAlone || parser.takeIf(','))
    return true;
  return parser.failHere(parser.peek().is(';')
                             ? std::string(row.text.opcode) + " needs more operands"
                             : "expected ',' instead of " + describe(parser.peek()));
}

static bool parseEnd(Parser &parser, const InstructionRow &row) {
  if (parser.peek().is(',') || parser.peek().is('|'))
    return parser.failHere(std::string(row.text.opcode) + " has too many operands");
  return parser.expect(';');
}

bool tw::warpsim::ptx::parseOperands(Parser &parser, const InstructionRow &row,
                                     Instruction &instruction) {
  bool isFirst = true;
  for (size_t index = 0; index < row.operands.size(); ++index) {
    const OperandRule &rule = row.operands[index];
    if (isLeftOut(parser, row, index, instruction))
      continue;
    if (!parseSeparator(parser, row, rule, isFirst))
      return false;
    isFirst = false;
    if (!parseOperand(parser, rule, instruction))
      return false;
  }
  if (instruction.op == Op::Cvta && instruction.space == Space::Param &&
      !parser.function().isKernel)
    instruction.space = Space::Local; // the parameters of a .func are in its frame
  if (instruction.op == Op::WarpgroupMma)
    instruction.sources.insert(instruction.sources.end(), instruction.results.begin(),
                               instruction.results.end());
  return parseEnd(parser, row);
}
