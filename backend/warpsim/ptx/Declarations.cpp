// Declarations of PTX: registers, variables with their initial values, and parameters.
#include "backend/warpsim/ptx/Parser.h"
#include <cstring>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

/// Beyond these a text is refused before memory is spent on it.
static constexpr uint64_t kMaxVariableBytes = uint64_t(1) << 26, kMaxRegisters = 1 << 20;

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Register tw::warpsim::ptx::newRegister(Parser &parser, Type type, uint32_t count) {
  unsigned bytes = bytesOf(type);
  RegisterFile file = type == Type::Pred ? RegisterFile::Predicate
                      : bytes > 4        ? RegisterFile::Double
                                         : RegisterFile::Word;
  uint32_t &next = parser.function().numRegisters[size_t(file)];
  Register reg{file, next};
  next += bytes == 16 ? 2 * count : count;
  return reg;
}

static bool isRegisterType(Type type) {
  switch (type) {
  case Type::None:
  case Type::BF16:
  case Type::BF16x2:
  case Type::TF32:
  case Type::F32x2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M1x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2:
  case Type::U16x2:
  case Type::S16x2:
    return false;
  default:
    return true;
  }
}

static bool parseRegisterType(Parser &parser, Type &type) {
  Token token = parser.take();
  type = token.kind == TokenKind::Directive ? typeNamed(token.text) : Type::None;
  if (!isRegisterType(type))
    return parser.fail(token.line, describe(token) + " is not a type of registers");
  return true;
}

static bool canHold(const Function &function, int64_t count) {
  uint64_t declared = 0;
  for (uint32_t number : function.numRegisters)
    declared += number;
  return count >= 1 && uint64_t(count) <= kMaxRegisters &&
         declared + uint64_t(count) <= kMaxRegisters;
}

/// %name, or %name<count>.
static bool parseDeclaredRegisters(Parser &parser, Type type) {
  int line = parser.peek().line;
  std::string_view name;
  if (!parser.takeWord(name, "the name of a register"))
    return false;
  int64_t count = 1;
  bool isNumbered = parser.takeIf('<');
  if (isNumbered && (!parser.takeInteger(count, "a number of registers") || !parser.expect('>')))
    return false;
  if (!canHold(parser.function(), count))
    return parser.fail(line, "number of registers out of range: " + std::to_string(count));
  Register first = newRegister(parser, type, uint32_t(count));
  BodyScope &scope = parser.scopes.back();
  auto &table = isNumbered ? scope.numberedRegisters : scope.registers;
  if (!table.try_emplace(name, DeclaredRegisters{type, first, uint32_t(count)}).second)
    return parser.fail(line, "register " + std::string(name) + " is declared twice");
  parser.function().registerNames.push_back(
      {std::string(name), first, uint32_t(count), isNumbered, type == Type::B128});
  return true;
}

bool tw::warpsim::ptx::parseRegisters(Parser &parser) {
  parser.take(); // .reg
  Type type = Type::None;
  if (!parseRegisterType(parser, type))
    return false;
  do
    if (!parseDeclaredRegisters(parser, type))
      return false;
  while (parser.takeIf(','));
  return parser.expect(';');
}

/// `%r12` as register 12 of a numbered declaration `%r<..>`.
static bool findNumbered(const BodyScope &scope, std::string_view name, TypedRegister &found) {
  uint64_t number = 0, power = 1;
  for (size_t length = name.size(); length > 1; --length) {
    char digit = name[length - 1];
    if (digit < '0' || digit > '9' || power > 100'000'000)
      return false;
    number += power * uint64_t(digit - '0');
    power *= 10;
    // %r07 is not a way to write %r7.
    bool isCanonical = digit != '0' || length == name.size();
    auto declared = scope.numberedRegisters.find(name.substr(0, length - 1));
    if (!isCanonical || declared == scope.numberedRegisters.end() ||
        number >= declared->second.count)
      continue;
    found.type = declared->second.type;
    found.reg = declared->second.first;
    found.reg.number += uint32_t(number) * (found.type == Type::B128 ? 2 : 1);
    return true;
  }
  return false;
}

bool tw::warpsim::ptx::findRegister(const Parser &parser, std::string_view name,
                                    TypedRegister &found) {
  for (size_t depth = parser.scopes.size(); depth-- > 1;) {
    const BodyScope &scope = parser.scopes[depth];
    if (!scope.registers.empty()) {
      auto declared = scope.registers.find(name);
      if (declared != scope.registers.end()) {
        found = {declared->second.first, declared->second.type};
        return true;
      }
    }
    if (!scope.numberedRegisters.empty() && findNumbered(scope, name, found))
      return true;
  }
  return false;
}

const Variable *tw::warpsim::ptx::findVariable(const Parser &parser, std::string_view name,
                                               uint32_t &index) {
  for (size_t depth = parser.scopes.size(); depth-- > 0;) {
    auto declared = parser.scopes[depth].variables.find(name);
    if (declared == parser.scopes[depth].variables.end())
      continue;
    index = declared->second;
    return &parser.program.variables[index];
  }
  return nullptr;
}

/// `.align 16` if it is there.
static bool parseAlignment(Parser &parser, uint64_t &alignment) {
  if (!parser.peek().isDirective("align"))
    return true;
  int line = parser.take().line;
  int64_t value = 0;
  if (!parser.takeInteger(value, "an alignment"))
    return false;
  if (value < 1 || value > 1 << 20 || (value & (value - 1)))
    return parser.fail(line, "alignment " + std::to_string(value) + " is not a power of two");
  alignment = uint64_t(value);
  return true;
}

/// `[4][8]`; an empty first extent is 0 elements so far.
static bool parseExtents(Parser &parser, uint64_t &numElements, bool &isUnsized) {
  bool isFirst = true;
  while (parser.takeIf('[')) {
    int64_t extent = 0;
    if (isFirst && parser.peek().is(']'))
      isUnsized = true;
    else if (!parser.takeInteger(extent, "a number of elements"))
      return false;
    else if (extent < 0 || uint64_t(extent) > kMaxVariableBytes ||
             numElements * uint64_t(extent) > kMaxVariableBytes)
      return parser.failHere("array of " + std::to_string(extent) + " elements is too large");
    else
      numElements *= uint64_t(extent);
    isFirst = false;
    if (!parser.expect(']'))
      return false;
  }
  return true;
}

bool tw::warpsim::ptx::parseParameter(Parser &parser, Parameter &parameter,
                                      std::string_view &name) {
  uint64_t alignment = 0;
  bool isUnsized = false;
  Token type;
  // .param .align 8 .b8 name[16]; .param .u64 .ptr .global .align 4 name
  if (!parseAlignment(parser, alignment))
    return false;
  type = parser.take();
  parameter.type = type.kind == TokenKind::Directive ? typeNamed(type.text) : Type::None;
  if (!isRegisterType(parameter.type) || parameter.type == Type::Pred)
    return parser.fail(type.line, describe(type) + " is not a type of parameters");
  uint64_t pointeeAlignment = 0;
  if (parser.peek().isDirective("ptr")) {
    parser.take();
    parameter.isPointer = true;
    for (std::string_view space : {"global", "const", "shared", "local"})
      if (parser.peek().isDirective(space)) {
        parser.take();
        break;
      }
    if (!parseAlignment(parser, pointeeAlignment))
      return false;
  }
  uint64_t numElements = 1;
  if (!parseAlignment(parser, alignment) || !parser.takeWord(name, "the name of a parameter") ||
      !parseExtents(parser, numElements, isUnsized))
    return false;
  parameter.name = name;
  parameter.bytes = uint32_t(isUnsized ? 0 : numElements * bytesOf(parameter.type));
  parameter.alignment = uint32_t(std::max<uint64_t>(alignment, bytesOf(parameter.type)));
  return true;
}

bool tw::warpsim::ptx::parseFormals(Parser &parser, bool isKernel, std::vector<Formal> &formals,
                                    uint32_t &bytes) {
  if (!parser.expect('('))
    return false;
  if (parser.takeIf(')'))
    return true;
  do {
    Formal formal;
    Token kind = parser.take();
    formal.isRegister = kind.isDirective("reg") && !isKernel;
    if (!formal.isRegister && !kind.isDirective("param"))
      return parser.fail(kind.line, "expected .param instead of " + describe(kind));
    if (!parseParameter(parser, formal.parameter, formal.name))
      return false;
    if (!formal.isRegister) {
      formal.parameter.offset = uint32_t(alignTo(bytes, formal.parameter.alignment));
      bytes = formal.parameter.offset + formal.parameter.bytes;
      if (bytes > kMaxVariableBytes)
        return parser.fail(kind.line, "parameters are too large");
    }
    formals.push_back(std::move(formal));
  } while (parser.takeIf(','));
  return parser.expect(')');
}

/// One scalar of an initializer, as the bits of `type`.
static bool parseInitialValue(Parser &parser, Type type, uint64_t &bits) {
  bool isGeneric = parser.peek().kind == TokenKind::Word && parser.peek().text == "generic";
  if (isGeneric && (parser.take(), !parser.expect('(')))
    return false;
  if (parser.peek().kind == TokenKind::Word) {
    Token name = parser.take();
    uint32_t index = 0;
    const Variable *variable = findVariable(parser, name.text, index);
    bool isGlobal = variable && variable->space == Space::Global;
    if (!variable || (!isGlobal && variable->space != Space::Const) || bytesOf(type) != 8)
      return parser.fail(name.line,
                         quoted(name.text) + " is not a variable whose address can be here");
    bits = (isGlobal ? kGlobalBase : kConstBase) + variable->offset;
    int64_t addend = 0;
    if (isGeneric && !parser.expect(')'))
      return false;
    if (parser.takeIf('+') || parser.peek().is('-'))
      if (!parser.takeInteger(addend, "an offset"))
        return false;
    bits += uint64_t(addend);
    return true;
  }
  Instruction value;
  value.type = type;
  if (!parseSource(parser, type, false, value))
    return false;
  if (value.sources.front().kind != Operand::Kind::Immediate)
    return parser.failHere("an initial value is a number");
  bits = value.sources.front().bits;
  return true;
}

/// `= 7` or `= {1, 2, {3, 4}}`: nested braces list the elements in order.
static bool parseInitializer(Parser &parser, Type type, std::string &image) {
  unsigned depth = 0;
  do {
    while (parser.takeIf('{'))
      ++depth;
    if (!(depth && parser.peek().is('}'))) {
      uint64_t bits = 0;
      if (!parseInitialValue(parser, type, bits))
        return false;
      image.append(reinterpret_cast<const char *>(&bits), bytesOf(type));
    }
    while (depth && parser.takeIf('}'))
      --depth;
  } while (depth && parser.takeIf(','));
  if (depth)
    return parser.failHere("expected '}' instead of " + describe(parser.peek()));
  return true;
}

/// Gives a variable its place in its space and, for .global and .const, its initial bytes.
static bool placeVariable(Parser &parser, Variable &variable, bool isDynamic,
                          const std::string &image) {
  Program &program = parser.program;
  if (isDynamic) {
    program.hasDynamicShared = true;
    parser.dynamicVariables.push_back(uint32_t(program.variables.size()));
    parser.dynamicAlignment = std::max(parser.dynamicAlignment, uint32_t(variable.alignment));
    return true; // its offset is known when all static ones are
  }
  if (variable.space == Space::Shared) {
    variable.offset = alignTo(program.staticSharedBytes, variable.alignment);
    program.staticSharedBytes = uint32_t(variable.offset + variable.bytes);
    return program.staticSharedBytes <= kMaxVariableBytes;
  }
  if (variable.space == Space::Local) {
    FunctionSymbol &symbol = parser.functions[size_t(parser.current)];
    variable.offset = alignTo(symbol.frameBytes, variable.alignment);
    symbol.frameBytes = uint32_t(variable.offset + variable.bytes);
    return symbol.frameBytes <= kMaxVariableBytes;
  }
  std::string &bytes = variable.space == Space::Global ? program.globalImage : program.constImage;
  variable.offset = alignTo(bytes.size(), variable.alignment);
  if (variable.offset + variable.bytes > kMaxVariableBytes)
    return false;
  bytes.resize(variable.offset);
  bytes += image;
  bytes.resize(variable.offset + variable.bytes);
  return true;
}

static Space spaceNamed(std::string_view name) {
  return Space(valueOfWord(ModifierKind::Space, name));
}

/// `.shared .align 16 .b8 name[64];`, `.global .u32 counter = 7, other;`, `.extern .shared ... [];`
bool tw::warpsim::ptx::parseVariable(Parser &parser, bool isExtern) {
  int line = parser.peek().line;
  Variable variable;
  variable.space = spaceNamed(parser.take().text);
  if (variable.space == Space::Local && parser.current < 0)
    return parser.fail(line, ".local variables belong to functions");
  uint64_t alignment = 0, perElement = 1;
  if (!parseAlignment(parser, alignment))
    return false;
  if (int width = valueOfWord(ModifierKind::VectorWidth, parser.peek().text);
      parser.peek().kind == TokenKind::Directive && width > 0) {
    perElement = uint64_t(width);
    parser.take();
  }
  Token typeToken = parser.take();
  Type type = typeToken.kind == TokenKind::Directive ? typeNamed(typeToken.text) : Type::None;
  if (!isRegisterType(type) || type == Type::Pred)
    return parser.fail(line, describe(typeToken) + " is not a type of variables");
  variable.alignment = std::max<uint64_t>(alignment, bytesOf(type) * perElement);
  do {
    std::string_view name;
    uint64_t numElements = perElement;
    bool isUnsized = false;
    if (!parser.takeWord(name, "the name of a variable") ||
        !parseExtents(parser, numElements, isUnsized))
      return false;
    std::string image;
    bool hasImage = variable.space == Space::Global || variable.space == Space::Const;
    if (hasImage && !isExtern && parser.takeIf('=') && !parseInitializer(parser, type, image))
      return false;
    bool isDynamic = isExtern && variable.space == Space::Shared;
    if (isExtern && !isDynamic)
      return parser.fail(line, "variable " + quoted(name) + " is defined elsewhere");
    if (isUnsized && image.empty() && !isDynamic)
      return parser.fail(line, "variable " + quoted(name) + " has no size");
    variable.name = name;
    variable.bytes = isDynamic ? 0 : isUnsized ? image.size() : numElements * bytesOf(type);
    if (image.size() > variable.bytes)
      return parser.fail(line, "more initial values than " + quoted(name) + " has elements");
    if (!placeVariable(parser, variable, isDynamic, image))
      return parser.fail(line, "variable " + quoted(name) + " is too large");
    uint32_t index = uint32_t(parser.program.variables.size());
    if (!parser.scopes.back().variables.try_emplace(name, index).second)
      return parser.fail(line, "variable " + quoted(name) + " is declared twice");
    if (variable.space == Space::Local)
      parser.frameOfVariable.push_back({index, uint32_t(parser.current)});
    parser.program.variables.push_back(variable);
  } while (parser.takeIf(','));
  return parser.expect(';');
}
