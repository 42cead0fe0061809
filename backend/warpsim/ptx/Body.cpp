// Parses the statements of a function body: scopes, labels, declarations and instructions.
#include "backend/warpsim/ptx/Parser.h"

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

void tw::warpsim::ptx::append(Parser &parser, Instruction instruction) {
  if (!instruction.line)
    instruction.line = parser.peek().line;
  instruction.location = parser.location;
  parser.program.code.push_back(std::move(instruction));
}

static int32_t numberOfLocation(Parser &parser, const SourceLocation &place) {
  auto [entry, isNew] =
      parser.locationNumber.try_emplace({place.file, place.line, place.column, place.inlinedAt},
                                        int32_t(parser.program.locations.size()));
  if (isNew)
    parser.program.locations.push_back(place);
  parser.latestLocation[{place.file, place.line, place.column}] = entry->second;
  return entry->second;
}

static bool parsePlace(Parser &parser, SourceLocation &place) {
  int64_t file = 0, line = 0, column = 0;
  if (!parser.takeInteger(file, "a file number") || !parser.takeInteger(line, "a line") ||
      !parser.takeInteger(column, "a column"))
    return false;
  place = {int32_t(file), int32_t(line), int32_t(column), -1};
  return true;
}

static bool parseCallSite(Parser &parser, SourceLocation &place) {
  SourceLocation callSite;
  if (!parsePlace(parser, callSite))
    return false;
  auto known = parser.latestLocation.find({callSite.file, callSite.line, callSite.column});
  place.inlinedAt =
      known != parser.latestLocation.end() ? known->second : numberOfLocation(parser, callSite);
  return true;
}

static bool parseLocationAttribute(Parser &parser, SourceLocation &place) {
  std::string_view word, label;
  int64_t offset = 0;
  if (!parser.takeWord(word, "function_name or inlined_at"))
    return false;
  if (word == "inlined_at")
    return parseCallSite(parser, place);
  if (word == "function_name")
    return parser.takeWord(label, "the label of a name") &&
           (!parser.takeIf('+') || parser.takeInteger(offset, "an offset"));
  return parser.failHere("unknown attribute " + quoted(word) + " of .loc");
}

/// `.loc 1 16 84` with `, function_name label+8, inlined_at 1 3 5` for inlined code. The call
/// site's own place in a chain of calls is the latest location of the same file, line and column.
bool tw::warpsim::ptx::parseLocation(Parser &parser) {
  SourceLocation place;
  if (!parsePlace(parser, place))
    return false;
  while (parser.takeIf(','))
    if (!parseLocationAttribute(parser, place))
      return false;
  parser.location = numberOfLocation(parser, place);
  return true;
}

static bool parseCallParameter(Parser &parser) {
  int line = parser.take().line; // .param
  CallParameter declared;
  declared.line = line;
  std::string_view name;
  if (!parseParameter(parser, declared.parameter, name))
    return false;
  if (!parser.scopes.back().callParameters.try_emplace(name, std::move(declared)).second)
    return parser.fail(line, "parameter " + quoted(name) + " is declared twice");
  return parser.expect(';');
}

static bool parseBodyDirective(Parser &parser) {
  Token directive = parser.peek();
  std::string_view name = directive.text;
  if (name == "reg")
    return parseRegisters(parser);
  if (name == "shared" || name == "local" || name == "global" || name == "const")
    return parseVariable(parser, false);
  if (name == "param")
    return parseCallParameter(parser);
  parser.take();
  if (name == "loc")
    return parseLocation(parser);
  if (name == "pragma")
    return parsePragma(parser);
  return parser.fail(directive.line, "unknown directive ." + std::string(name) + " in a function");
}

/// `list: .branchtargets L1, L2;` (the label has been taken).
static bool parseBranchTargets(Parser &parser, std::string_view name) {
  parser.take(); // .branchtargets
  std::vector<Token> labels;
  do {
    if (parser.peek().kind != TokenKind::Word)
      return parser.failHere("expected a label instead of " + describe(parser.peek()));
    labels.push_back(parser.take());
  } while (parser.takeIf(','));
  parser.scopes.back().branchTargets[name] = std::move(labels);
  return parser.expect(';');
}

static bool parseLabelStatement(Parser &parser) {
  Token name = parser.take();
  parser.take(); // :
  if (parser.peek().isDirective("branchtargets"))
    return parseBranchTargets(parser, name.text);
  int32_t here = int32_t(parser.program.code.size());
  if (!parser.scopes.back().labels.try_emplace(name.text, here).second)
    return parser.fail(name.line, "label " + quoted(name.text) + " is defined twice");
  return true;
}

static bool parseGuard(Parser &parser, Operand &guard) {
  if (!parser.takeIf('@'))
    return true;
  guard.isNegated = parser.takeIf('!');
  return parseRegister(parser, Type::Pred, false, guard);
}

static bool isOnTarget(const Parser &parser, const RowText &row) {
  unsigned arch = parser.program.arch();
  return arch >= row.minArch && arch < row.endArch &&
         (!row.isSpecific || parser.program.target.ends_with('a'));
}

static bool isInVersion(const Parser &parser, const RowText &row) {
  const std::string &version = parser.program.version; // "8.7"
  return unsigned(version[0] - '0') * 10 + unsigned(version[2] - '0') >= row.minVersion;
}

/// Says what an instruction is missing here.
static std::string whatIsNeeded(const Parser &parser, const RowText &row) {
  if (isOnTarget(parser, row))
    return " needs PTX " + std::to_string(row.minVersion / 10) + "." +
           std::to_string(row.minVersion % 10) + ", and the version is " + parser.program.version;
  bool isGone = parser.program.arch() >= row.endArch;
  return " needs sm_" + std::to_string(row.minArch) + (row.isSpecific ? "a" : "") +
         (isGone ? " and is gone from the next generation on" : "") + ", and the target is " +
         parser.program.target;
}

/// The row and the fields for an opcode with its modifiers. The same text means the same each time.
static const Mnemonic *findMnemonic(Parser &parser) {
  Token opcode = parser.take();
  size_t first = parser.position;
  while (parser.peek().kind == TokenKind::Directive)
    parser.take();
  const Token &last = parser.tokens[parser.position - 1];
  std::string_view text(opcode.text.data(),
                        size_t(last.text.data() + last.text.size() - opcode.text.data()));
  auto [entry, isNew] = parser.mnemonics.try_emplace(text);
  if (!isNew)
    return &entry->second;
  std::vector<std::string_view> modifiers;
  for (size_t i = first; i < parser.position; ++i)
    modifiers.push_back(parser.tokens[i].text);
  std::string message;
  entry->second.row =
      InstructionTable::get().match(opcode.text, modifiers, entry->second.prototype, message);
  const InstructionRow *row = entry->second.row;
  if (row && isOnTarget(parser, row->text) && isInVersion(parser, row->text))
    return &entry->second;
  if (row)
    message = std::string(text) + whatIsNeeded(parser, row->text);
  parser.fail(opcode.line, std::move(message));
  return nullptr;
}

/// The stores of what a call of a host function gives back come after it.
static void appendAfterCall(Parser &parser) {
  for (Instruction &store : parser.afterCall) {
    parser.fixups.push_back({int32_t(parser.program.code.size()), -1, parser.current, 0});
    append(parser, std::move(store));
  }
  parser.afterCall.clear();
}

static bool parseInstruction(Parser &parser) {
  Operand guard;
  if (!parseGuard(parser, guard))
    return false;
  Token opcode = parser.peek();
  if (opcode.kind != TokenKind::Word)
    return parser.failHere("expected an instruction instead of " + describe(opcode));
  const Mnemonic *mnemonic = findMnemonic(parser);
  if (!mnemonic)
    return false;
  Instruction instruction = mnemonic->prototype;
  instruction.guard = guard;
  instruction.line = opcode.line;
  if (!parseOperands(parser, *mnemonic->row, instruction))
    return false;
  append(parser, std::move(instruction));
  appendAfterCall(parser);
  return true;
}

/// Ends a scope: its labels become known to the branches in it; the others wait for the outer
/// scope.
static bool areCallParametersBound(Parser &parser, const BodyScope &scope) {
  for (const auto &[name, parameter] : scope.callParameters)
    if (!parameter.isBound && !parameter.uses.empty())
      return parser.fail(parameter.line, "parameter " + quoted(name) + " belongs to no call");
  return true;
}

static bool closeScope(Parser &parser, bool isBody) {
  BodyScope scope = std::move(parser.scopes.back());
  if (!areCallParametersBound(parser, scope))
    return false;
  BodyScope &outer = parser.scopes[parser.scopes.size() - (isBody ? 1 : 2)];
  for (const LabelUse &use : scope.unresolved) {
    auto label = scope.labels.find(use.name);
    if (label == scope.labels.end()) {
      if (isBody)
        return parser.fail(use.line, "unknown label " + quoted(use.name));
      outer.unresolved.push_back(use);
      continue;
    }
    Instruction &instruction = parser.program.code[size_t(use.instruction)];
    (use.slot < 0 ? instruction.target : instruction.targets[size_t(use.slot)]) = label->second;
  }
  if (!isBody)
    parser.scopes.pop_back();
  return true;
}

/// Running past the last instruction is a return.
static void appendReturn(Parser &parser, int line) {
  const Program &program = parser.program;
  int32_t end = int32_t(program.code.size());
  bool isNeeded = end == parser.function().begin;
  if (!isNeeded) {
    const Instruction &last = program.code.back();
    bool ends =
        last.op == Op::Ret || last.op == Op::Exit || last.op == Op::Bra || last.op == Op::BrxIdx;
    isNeeded = !ends || last.guard.kind != Operand::Kind::None;
  }
  for (const auto &[name, place] : parser.scopes.back().labels)
    isNeeded |= place == end;
  if (!isNeeded)
    return;
  Instruction instruction;
  instruction.op = Op::Ret;
  instruction.line = line;
  append(parser, std::move(instruction));
}

static bool parseStatement(Parser &parser) {
  const Token &token = parser.peek();
  if (token.kind == TokenKind::Word && parser.peek(1).is(':'))
    return parseLabelStatement(parser);
  if (parser.takeIf('}'))
    return closeScope(parser, false);
  if (token.kind == TokenKind::Directive)
    return parseBodyDirective(parser);
  return parser.takeIf(';') || parseInstruction(parser);
}

bool tw::warpsim::ptx::parseBody(Parser &parser) {
  size_t bodyDepth = parser.scopes.size();
  if (!parser.expect('{'))
    return false;
  while (true) {
    const Token &token = parser.peek();
    if (token.kind == TokenKind::End)
      return parser.failHere("the body of " + quoted(parser.function().name) + " has no end");
    if (parser.takeIf('{')) {
      parser.scopes.emplace_back();
      continue;
    }
    if (token.is('}') && parser.scopes.size() == bodyDepth) {
      appendReturn(parser, parser.take().line);
      return closeScope(parser, true);
    }
    if (!parseStatement(parser))
      return false;
  }
}
