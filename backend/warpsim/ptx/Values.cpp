// Registers, literals, names and addresses: what stands in the operands of PTX instructions.
#include "backend/warpsim/ptx/Parser.h"
#include <algorithm>
#include <bit>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

namespace {
enum class Category { Bits, Integer, Float, Predicate };
} // namespace

static Category categoryOf(Type type) {
  switch (type) {
  case Type::Pred:
    return Category::Predicate;
  case Type::None:
  case Type::B8:
  case Type::B16:
  case Type::B32:
  case Type::B64:
  case Type::B128:
    return Category::Bits;
  case Type::U8:
  case Type::U16:
  case Type::U32:
  case Type::U64:
  case Type::S8:
  case Type::S16:
  case Type::S32:
  case Type::S64:
  case Type::U16x2:
  case Type::S16x2:
    return Category::Integer;
  default:
    return Category::Float;
  }
}

/// The rules of PTX ISA, "Operand Type Checking": same width and no float for an integer; the
/// relaxed ones of ld, st and cvt let a register be wider, a float register for bits only.
bool tw::warpsim::ptx::agreesWith(Type registerType, Type type, bool isRelaxed) {
  Category reg = categoryOf(registerType), wanted = categoryOf(type);
  if (reg == Category::Predicate || wanted == Category::Predicate)
    return reg == wanted;
  unsigned registerBytes = bytesOf(registerType), bytes = bytesOf(type);
  bool isWider =
      isRelaxed && registerBytes > bytes && (reg != Category::Float || wanted == Category::Bits);
  if (registerBytes != bytes && !isWider)
    return false;
  if (reg == Category::Float && wanted == Category::Float)
    return registerType == type;
  return reg == Category::Bits || wanted == Category::Bits || reg == wanted;
}

bool tw::warpsim::ptx::parseRegister(Parser &parser, Type type, bool isRelaxed, Operand &operand) {
  Token token = parser.take();
  TypedRegister found;
  if (token.kind != TokenKind::Word)
    return parser.fail(token.line, "expected a register instead of " + describe(token));
  if (!findRegister(parser, token.text, found))
    return parser.fail(token.line, "register " + std::string(token.text) + " is not declared");
  if (!agreesWith(found.type, type, isRelaxed))
    return parser.fail(token.line, "register " + std::string(token.text) + " of type ." +
                                       std::string(typeName(found.type)) + " cannot be a ." +
                                       std::string(typeName(type)) + " operand");
  operand.kind = Operand::Kind::Register;
  operand.reg = found.reg;
  return true;
}

static uint64_t lowBits(uint64_t bits, unsigned bytes) {
  return bytes >= 8 ? bits : bits & ((uint64_t(1) << 8 * bytes) - 1);
}

/// The bits of a number in the other of the two formats.
static uint64_t otherFloatBits(uint64_t bits, bool isSingle) {
  if (isSingle)
    return std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(bits))));
  return std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
}

/// A float literal as the bits of a type, -1 where it cannot be one. `0f` literals are also bit
/// patterns of .b32, `0d` ones of .b64.
static bool floatBits(const Token &token, bool isNegative, Type type, uint64_t &bits) {
  bool isSingle = token.kind == TokenKind::Float32;
  if (type == (isSingle ? Type::B32 : Type::B64)) {
    bits = token.bits ^ (isNegative ? uint64_t(1) << (isSingle ? 31 : 63) : 0);
    return true;
  }
  if (type != Type::F32 && type != Type::F64)
    return false;
  // Bits of the same type are kept (NaN payloads); others are converted.
  bool isOfType = isSingle == (type == Type::F32);
  bits = isOfType ? token.bits : otherFloatBits(token.bits, isSingle);
  if (isNegative)
    bits ^= uint64_t(1) << (type == Type::F32 ? 31 : 63);
  return true;
}

static bool parseLiteral(Parser &parser, Type type, uint64_t &bits) {
  bool isNegative = parser.takeIf('-'), isInverted = !isNegative && parser.takeIf('~');
  Token token = parser.take();
  Category category = categoryOf(type);
  bool fits = false;
  if (token.kind == TokenKind::Integer) {
    fits = category == Category::Bits || category == Category::Integer ||
           category == Category::Predicate;
    fits &= type != Type::U16x2 && type != Type::S16x2 && type != Type::B128;
    bits = isNegative ? 0 - token.bits : isInverted ? ~token.bits : token.bits;
    // Constants have 64 bits and are cut to the width at their use (PTX ISA, "Integer Constants").
    bits = type == Type::Pred ? bits != 0 : lowBits(bits, bytesOf(type));
  } else if (token.kind == TokenKind::Float32 || token.kind == TokenKind::Float64) {
    fits = !isInverted && floatBits(token, isNegative, type, bits);
  } else {
    return parser.fail(token.line, "expected an operand instead of " + describe(token));
  }
  return fits || parser.fail(token.line, "literal " + std::string(token.text) + " cannot be a ." +
                                             std::string(typeName(type)) + " operand");
}

static uint64_t baseOfSpace(Space space) {
  switch (space) {
  case Space::Shared:
    return kSharedBase;
  case Space::Global:
    return kGlobalBase;
  case Space::Const:
    return kConstBase;
  default:
    return 0;
  }
}

/// The address of a variable, and a fixup where it is not final: of a frame, or of dynamic shared
/// memory. `source` is the operand that holds it, -1 the address.
static uint64_t addressOf(Parser &parser, uint32_t index, int32_t source) {
  const Variable &variable = parser.program.variables[index];
  int32_t instruction = int32_t(parser.program.code.size());
  bool isDynamic = std::find(parser.dynamicVariables.begin(), parser.dynamicVariables.end(),
                             index) != parser.dynamicVariables.end();
  if (isDynamic)
    parser.fixups.push_back({instruction, source, -1, 0});
  else if (variable.space == Space::Local)
    parser.fixups.push_back({instruction, source, parser.current, 0});
  return baseOfSpace(variable.space) + variable.offset;
}

/// The address of a formal parameter: `mov.b64 %rd1, kernel_param_0`.
static bool parameterAddress(Parser &parser, std::string_view name, int32_t source,
                             uint64_t &bits) {
  for (const Formal &formal : parser.functions[size_t(parser.current)].arguments)
    if (formal.parameter.name == name && !formal.isRegister) {
      bits = formal.parameter.offset;
      if (!parser.functions[size_t(parser.current)].isKernel)
        parser.fixups.push_back({int32_t(parser.program.code.size()), source, parser.current, 0});
      return true;
    }
  return false;
}

/// A name as an operand: a variable or parameter stands for its address, a special register is read
/// into a register of its own first.
static bool parseNamedValue(Parser &parser, Type type, Instruction &instruction) {
  Token token = parser.take();
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  int32_t source = int32_t(instruction.sources.size());
  uint32_t index = 0;
  if (token.text == "WARP_SZ") {
    operand.bits = 32;
  } else if (const Variable *variable = findVariable(parser, token.text, index)) {
    bool isWide = variable->space == Space::Global || variable->space == Space::Const;
    bool takesAddress = instruction.op == Op::Mov || instruction.op == Op::Cvta;
    if (bytesOf(type) < (isWide ? 8u : 4u) || categoryOf(type) == Category::Float || !takesAddress)
      return parser.fail(token.line, "the address of " + quoted(token.text) + " cannot be a ." +
                                         std::string(typeName(type)) + " operand");
    operand.bits = addressOf(parser, index, source);
    if (variable->space == Space::Shared)
      operand.variable = int32_t(index);
  } else if (parser.current >= 0 && bytesOf(type) >= 4 &&
             parameterAddress(parser, token.text, source, operand.bits)) {
    // `operand.bits` is set.
  } else if (token.text.starts_with('%')) {
    return parser.fail(token.line, "register " + std::string(token.text) + " is not declared");
  } else {
    return parser.fail(token.line, "unknown name " + quoted(token.text));
  }
  instruction.sources.push_back(operand);
  return true;
}

/// `%tid.x` at the current place; nothing is taken if it is not a special register.
static bool takeSpecial(Parser &parser, Special &special, Type &type) {
  const Token &token = parser.peek();
  if (token.kind != TokenKind::Word || !token.text.starts_with('%'))
    return false;
  std::string name(token.text);
  bool hasAxis = parser.peek(1).kind == TokenKind::Directive;
  if (hasAxis)
    name += "." + std::string(parser.peek(1).text);
  std::optional<Special> found = specialNamed(name, type);
  if (!found)
    return false;
  special = *found;
  parser.position += hasAxis ? 2 : 1;
  return true;
}

bool tw::warpsim::ptx::parseSource(Parser &parser, Type type, bool isRelaxed,
                                   Instruction &instruction) {
  Operand operand;
  operand.isNegated = type == Type::Pred && parser.takeIf('!');
  const Token &token = parser.peek();
  if (token.kind != TokenKind::Word && !operand.isNegated) {
    operand.kind = Operand::Kind::Immediate;
    if (!parseLiteral(parser, type, operand.bits))
      return false;
    instruction.sources.push_back(operand);
    return true;
  }
  TypedRegister found;
  if (operand.isNegated || findRegister(parser, token.text, found)) {
    if (!parseRegister(parser, type, isRelaxed, operand))
      return false;
    instruction.sources.push_back(operand);
    return true;
  }
  Instruction read;
  int line = token.line;
  std::string name(token.text);
  if (!takeSpecial(parser, read.special, read.type))
    return parseNamedValue(parser, type, instruction);
  if (instruction.op != Op::Cvt || !agreesWith(read.type, type, isRelaxed))
    return parser.fail(line, "special register " + name + " cannot be read here");
  read.op = Op::MovSpecial;
  read.guard = instruction.guard;
  operand.kind = Operand::Kind::Register;
  operand.reg = newRegister(parser, read.type);
  read.results.push_back(operand);
  append(parser, std::move(read));
  instruction.sources.push_back(operand);
  return true;
}

/// `{a, b}` of a pack or unpack: the parts share the width of the whole.
static bool parseParts(Parser &parser, Instruction &instruction, bool isResult) {
  int line = parser.take().line; // {
  size_t numParts = 1;
  for (size_t ahead = 0; !parser.peek(ahead).is('}') && !parser.peek(ahead).is(';') &&
                         parser.peek(ahead).kind != TokenKind::End;
       ++ahead)
    numParts += parser.peek(ahead).is(',');
  static constexpr std::pair<unsigned, Type> kParts[] = {
      {1, Type::B8}, {2, Type::B16}, {4, Type::B32}, {8, Type::B64}};
  unsigned bytes = bytesOf(instruction.type);
  Type partType = Type::None;
  for (auto [partBytes, type] : kParts)
    if ((numParts == 2 || numParts == 4) && partBytes * numParts == bytes)
      partType = type;
  if (categoryOf(instruction.type) != Category::Bits || partType == Type::None)
    return parser.fail(line, "." + std::string(typeName(instruction.type)) + " has no " +
                                 std::to_string(numParts) + " parts");
  for (size_t part = 0; part < numParts; ++part) {
    Operand operand;
    if (part && !parser.expect(','))
      return false;
    if (!isResult) {
      if (!parseSource(parser, partType, false, instruction))
        return false;
      continue;
    }
    if (parser.takeSink()) {
      operand.kind = Operand::Kind::Sink;
    } else if (!parseRegister(parser, partType, false, operand)) {
      return false;
    }
    instruction.results.push_back(operand);
  }
  return parser.expect('}');
}

bool tw::warpsim::ptx::parseMove(Parser &parser, Instruction &instruction) {
  Type type = instruction.type;
  bool isUnpack = parser.peek().is('{');
  if (isUnpack) {
    if (!parseParts(parser, instruction, true))
      return false;
  } else {
    instruction.results.emplace_back();
    if (!parseRegister(parser, type, false, instruction.results.back()))
      return false;
  }
  if (!parser.expect(','))
    return false;
  if (parser.peek().is('{') && !isUnpack)
    return parseParts(parser, instruction, false);
  Type specialType = Type::None;
  TypedRegister found;
  Token token = parser.peek();
  bool isRegister = token.kind == TokenKind::Word && findRegister(parser, token.text, found);
  if (isRegister || isUnpack || !takeSpecial(parser, instruction.special, specialType))
    return parseSource(parser, type, false, instruction);
  instruction.op = Op::MovSpecial;
  return agreesWith(specialType, type, false) ||
         parser.fail(token.line, "special register " + std::string(token.text) + " is not a ." +
                                     std::string(typeName(type)));
}

/// The name in `[name+4]`: a variable of the instruction's space, or a parameter.
static bool parseAddressName(Parser &parser, Instruction &instruction) {
  Token token = parser.take();
  bool isFound = false;
  if (!bindParameterAddress(parser, token, instruction, isFound) || isFound)
    return isFound;
  uint32_t index = 0;
  const Variable *variable = findVariable(parser, token.text, index);
  if (!variable)
    return parser.fail(token.line, token.text.starts_with('%')
                                       ? "register " + std::string(token.text) + " is not declared"
                                       : "unknown name " + quoted(token.text));
  bool isGeneric = instruction.space == Space::Generic && variable->space == Space::Global;
  if (variable->space != instruction.space && !isGeneric)
    return parser.fail(token.line, quoted(token.text) + " is not in the space of this access");
  instruction.address.offset = int64_t(addressOf(parser, index, -1));
  if (variable->space == Space::Shared)
    instruction.address.base.variable = int32_t(index);
  return true;
}

/// `[%rd1+-4]`, `[name]`, `[name+8]`, `[16]`.
bool tw::warpsim::ptx::parseAddress(Parser &parser, Instruction &instruction) {
  if (!parser.expect('['))
    return false;
  TypedRegister base;
  const Token &token = parser.peek();
  if (token.kind == TokenKind::Integer || token.is('-')) {
    if (!parser.takeInteger(instruction.address.offset, "an address"))
      return false;
  } else if (findRegister(parser, token.text, base)) {
    bool isGlobal = instruction.space == Space::Generic || instruction.space == Space::Global;
    unsigned bytes = bytesOf(base.type);
    bool isAddress = bytes == 8 || (bytes == 4 && !isGlobal);
    if (!isAddress || categoryOf(base.type) == Category::Float)
      return parser.failHere("register " + std::string(token.text) + " of type ." +
                             std::string(typeName(base.type)) + " cannot hold this address");
    parser.take();
    instruction.address.base.kind = Operand::Kind::Register;
    instruction.address.base.reg = base.reg;
    // Parameters of a .func are in its frame.
    if (instruction.space == Space::Param && !parser.function().isKernel)
      instruction.space = Space::Local;
  } else if (token.kind != TokenKind::Word) {
    return parser.failHere("expected an address instead of " + describe(token));
  } else if (!parseAddressName(parser, instruction)) {
    return false;
  }
  bool hasPlus = parser.takeIf('+');
  if (hasPlus || parser.peek().is('-')) {
    int64_t offset = 0;
    if (!parser.takeInteger(offset, "an offset"))
      return false;
    instruction.address.offset = int64_t(uint64_t(instruction.address.offset) + uint64_t(offset));
  }
  if (instruction.op == Op::St && instruction.space == Space::Param)
    return parser.failHere("the parameters of a kernel cannot be stored to");
  return parser.expect(']');
}
