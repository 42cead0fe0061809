// Parses a PTX module: its header, variables, functions and debug data.
#include "backend/warpsim/ptx/Parser.h"
#include "backend/warpsim/ptx/ControlFlow.h"
#include <algorithm>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

bool Parser::fail(int line, std::string message) {
  error = {line, std::move(message)};
  return false;
}

std::string tw::warpsim::ptx::describe(const Token &token) {
  if (token.kind == TokenKind::End)
    return "the end of the text";
  if (token.kind == TokenKind::Directive)
    return quoted("." + std::string(token.text));
  return quoted(token.text);
}

bool Parser::expect(char punctuation) {
  if (takeIf(punctuation))
    return true;
  return failHere("expected " + quoted(std::string(1, punctuation)) + " instead of " +
                  describe(peek()));
}

bool Parser::takeWord(std::string_view &word, std::string_view what) {
  if (peek().kind != TokenKind::Word)
    return failHere("expected " + std::string(what) + " instead of " + describe(peek()));
  word = take().text;
  return true;
}

bool Parser::takeInteger(int64_t &value, std::string_view what) {
  bool isNegative = takeIf('-');
  if (peek().kind != TokenKind::Integer)
    return failHere("expected " + std::string(what) + " instead of " + describe(peek()));
  value = int64_t(take().bits);
  if (isNegative)
    value = int64_t(0 - uint64_t(value));
  return true;
}

/// Versions of PTX: for each major one the last minor one (PTX ISA, release notes).
static bool isVersion(std::string_view text) {
  constexpr std::string_view rows[] = {"1.5", "2.3", "3.2", "4.3", "5.0",
                                       "6.5", "7.8", "8.8", "9.3"};
  return text.size() == 3 && text[1] == '.' && text[2] >= '0' &&
         std::any_of(std::begin(rows), std::end(rows), [text](std::string_view last) {
           return text[0] == last[0] && text[2] <= last[2];
         });
}

/// Targets of PTX (PTX ISA, .target): those with an `a` or an `f` beside the plain ones.
static bool isTarget(std::string_view word) {
  constexpr std::string_view plain[] = {"10", "11",  "12",  "13",  "20",  "21",  "30", "32",
                                        "35", "37",  "50",  "52",  "53",  "60",  "61", "62",
                                        "70", "72",  "75",  "80",  "86",  "87",  "88", "89",
                                        "90", "100", "101", "103", "110", "120", "121"};
  if (!word.starts_with("sm_"))
    return false;
  word.remove_prefix(3);
  bool isSpecific = word.ends_with('a'), isFamily = word.ends_with('f');
  if (isSpecific || isFamily)
    word.remove_suffix(1);
  bool isKnown = std::find(std::begin(plain), std::end(plain), word) != std::end(plain);
  return isKnown && (!isFamily || word.size() == 3) &&
         (!isSpecific || word == "90" || word.size() == 3);
}

static bool parseVersion(Parser &parser) {
  Token number = parser.take();
  if (number.kind != TokenKind::Float64)
    return parser.fail(number.line, "expected a version like 8.7 instead of " + describe(number));
  if (!isVersion(number.text))
    return parser.fail(number.line, "there is no PTX version " + quoted(number.text) +
                                        " that the simulator knows: 1.0 to 9.3 are known");
  parser.program.version = number.text;
  return true;
}

static bool parseTarget(Parser &parser) {
  std::string_view word;
  do {
    if (!parser.takeWord(word, "an architecture"))
      return false;
    if (word == "debug" || word == "texmode_independent" || word == "texmode_unified")
      continue;
    if (!isTarget(word) || !parser.program.target.empty())
      return parser.fail(parser.peek().line, "unknown target " + quoted(word));
    parser.program.target = word;
  } while (parser.takeIf(','));
  return true;
}

/// `.file 1 "name"`, with a time and a size after it, or with a directory before the name.
static bool parseFile(Parser &parser) {
  int64_t number = 0;
  if (!parser.takeInteger(number, "a file number"))
    return false;
  if (parser.peek().kind != TokenKind::String)
    return parser.failHere("expected a file name instead of " + describe(parser.peek()));
  std::string name(parser.take().text);
  if (parser.peek().kind == TokenKind::String)
    name += "/" + std::string(parser.take().text);
  int64_t ignored = 0;
  while (parser.takeIf(','))
    if (!parser.takeInteger(ignored, "a time or a size"))
      return false;
  parser.program.files[int32_t(number)] = std::move(name);
  return true;
}

/// `.section name { ... }`: debug data, of no use here.
static bool skipSection(Parser &parser) {
  int line = parser.peek().line;
  if (parser.peek().kind != TokenKind::Directive && parser.peek().kind != TokenKind::Word)
    return parser.failHere("expected the name of a section");
  parser.take();
  if (!parser.expect('{'))
    return false;
  while (!parser.takeIf('}')) {
    if (parser.peek().kind == TokenKind::End)
      return parser.fail(line, "section without an end");
    parser.take();
  }
  return true;
}

static bool parseDimensions(Parser &parser, std::array<uint32_t, 3> &dimensions) {
  dimensions = {1, 1, 1};
  for (unsigned axis = 0; axis < 3; ++axis) {
    int64_t extent = 0;
    if (axis && !parser.takeIf(','))
      break;
    if (!parser.takeInteger(extent, "a number of threads"))
      return false;
    dimensions[axis] = uint32_t(extent);
  }
  return true;
}

bool tw::warpsim::ptx::parsePragma(Parser &parser) {
  do {
    if (parser.peek().kind != TokenKind::String)
      return parser.failHere("expected a string after .pragma");
    parser.take();
  } while (parser.takeIf(','));
  return parser.expect(';');
}

/// `.maxntid 128, 1, 1` and its neighbours, between the parameters and the body.
static bool parsePerformanceDirectives(Parser &parser, Function &function) {
  while (parser.peek().kind == TokenKind::Directive) {
    std::string_view name = parser.take().text;
    int64_t number = 0;
    bool isRead = false;
    if (name == "maxntid")
      isRead = parseDimensions(parser, function.maxNtid);
    else if (name == "reqntid")
      isRead = parseDimensions(parser, function.reqNtid);
    else if (name == "reqnctapercluster")
      isRead = parseDimensions(parser, function.cluster);
    else if (name == "noreturn" || name == "explicitcluster")
      isRead = true;
    else if (name == "pragma")
      isRead = parsePragma(parser);
    else if (name == "maxnreg" || name == "minnctapersm" || name == "maxnctapersm" ||
             name == "maxclusterrank")
      isRead = parser.takeInteger(number, "a number");
    else
      return parser.failHere("unknown directive ." + std::string(name) + " of a function");
    if (!isRead)
      return false;
    if (name == "minnctapersm")
      function.minCtas = uint32_t(number);
    if (name == "maxnreg")
      function.maxRegisters = uint32_t(number);
  }
  return true;
}

static bool differ(const std::vector<Formal> &a, const std::vector<Formal> &b) {
  return !std::ranges::equal(a, b, [](const Formal &one, const Formal &other) {
    return one.isRegister == other.isRegister && one.parameter.bytes == other.parameter.bytes &&
           one.parameter.alignment == other.parameter.alignment;
  });
}

/// The symbol of a function; made at its first declaration. Later ones must agree with it.
static int32_t symbolFor(Parser &parser, FunctionSymbol &&declared) {
  auto [entry, isNew] =
      parser.functionNamed.try_emplace(declared.name, int32_t(parser.functions.size()));
  if (isNew) {
    parser.functions.push_back(std::move(declared));
    return entry->second;
  }
  FunctionSymbol &known = parser.functions[size_t(entry->second)];
  if (known.isKernel != declared.isKernel || known.isExtern != declared.isExtern ||
      differ(known.arguments, declared.arguments) || differ(known.results, declared.results))
    return -1;
  known.arguments = std::move(declared.arguments);
  known.results = std::move(declared.results);
  return entry->second;
}

/// Gives the function that begins the parameters and registers of its declaration.
static void addFormals(Parser &parser, const FunctionSymbol &symbol) {
  for (auto [formals, registers] : {std::pair(&symbol.results, &parser.function().results),
                                    std::pair(&symbol.arguments, &parser.function().arguments)})
    for (const Formal &formal : *formals) {
      const Parameter &parameter = formal.parameter;
      if (symbol.isKernel)
        parser.function().parameters.push_back(parameter);
      if (!formal.isRegister)
        continue;
      Register reg = newRegister(parser, parameter.type);
      registers->push_back(reg);
      parser.function().registerNames.push_back(
          {parameter.name, reg, 1, false, parameter.type == Type::B128});
      parser.scopes.back().registers[formal.name] = {parameter.type, reg, 1};
    }
}

static bool defineFunction(Parser &parser, int32_t symbolIndex, Function &&function) {
  FunctionSymbol &symbol = parser.functions[size_t(symbolIndex)];
  if (symbol.programIndex >= 0)
    return parser.failHere("function " + quoted(symbol.name) + " is defined twice");
  symbol.programIndex = int32_t(parser.program.functions.size());
  function.name = symbol.name;
  function.isKernel = symbol.isKernel;
  function.begin = int32_t(parser.program.code.size());
  parser.program.functions.push_back(std::move(function));
  parser.current = symbolIndex;
  parser.location = -1;
  parser.scopes.emplace_back();
  addFormals(parser, symbol);
  if (!parseBody(parser))
    return false;
  parser.scopes.pop_back();
  parser.function().end = int32_t(parser.program.code.size());
  findReconvergence(parser.program, parser.function());
  parser.current = -1;
  return true;
}

static bool parsePrototype(Parser &parser, FunctionSymbol &symbol) {
  symbol.line = parser.peek().line;
  uint32_t bytes = 0;
  if (parser.peek().is('(') && !parseFormals(parser, symbol.isKernel, symbol.results, bytes))
    return false;
  if (!parser.takeWord(symbol.name, "the name of a function"))
    return false;
  if (parser.peek().is('(') && !parseFormals(parser, symbol.isKernel, symbol.arguments, bytes))
    return false;
  symbol.frameBytes = symbol.isKernel ? 0 : bytes;
  return true;
}

static bool parseFunction(Parser &parser, bool isKernel, bool isExtern) {
  FunctionSymbol symbol;
  symbol.isKernel = isKernel;
  symbol.isExtern = isExtern;
  if (!parsePrototype(parser, symbol))
    return false;
  Function function;
  if (!parsePerformanceDirectives(parser, function))
    return false;
  int line = symbol.line;
  std::string_view name = symbol.name;
  int32_t index = symbolFor(parser, std::move(symbol));
  if (index < 0)
    return parser.fail(line, "function " + quoted(name) + " was declared differently before");
  if (parser.takeIf(';'))
    return true;
  if (!parser.peek().is('{'))
    return parser.failHere("expected a function body instead of " + describe(parser.peek()));
  return defineFunction(parser, index, std::move(function));
}

static bool parseAddressSize(Parser &parser, int line) {
  int64_t bits = 0;
  if (!parser.takeInteger(bits, "32 or 64"))
    return false;
  return bits == 64 || parser.fail(line, ".address_size must be 64");
}

/// A directive that says something of the whole text.
static bool parseTextDirective(Parser &parser, const Token &directive) {
  std::string_view name = directive.text;
  if (name == "version")
    return parseVersion(parser);
  if (name == "target")
    return parseTarget(parser);
  if (name == "file")
    return parseFile(parser);
  if (name == "section")
    return skipSection(parser);
  if (name == "pragma")
    return parsePragma(parser);
  if (name == "loc")
    return parseLocation(parser);
  if (name == "address_size")
    return parseAddressSize(parser, directive.line);
  return parser.fail(directive.line, "unknown directive ." + std::string(name));
}

static bool parseDirective(Parser &parser) {
  bool isExtern = false;
  while (parser.peek().isDirective("visible") || parser.peek().isDirective("weak") ||
         parser.peek().isDirective("extern"))
    isExtern |= parser.take().text == "extern";
  Token directive = parser.peek();
  if (directive.kind != TokenKind::Directive)
    return parser.failHere("expected a directive instead of " + describe(directive));
  std::string_view name = directive.text;
  if (name == "global" || name == "const" || name == "shared" || name == "local")
    return parseVariable(parser, isExtern);
  parser.take();
  if (name == "entry" || name == "func")
    return parseFunction(parser, name == "entry", isExtern);
  return parseTextDirective(parser, directive);
}

static bool tokenize(std::string_view text, Parser &parser) {
  Lexer lexer(text);
  parser.tokens.reserve(text.size() / 4);
  do {
    parser.tokens.emplace_back();
    if (!lexer.next(parser.tokens.back(), parser.error))
      return false;
  } while (parser.tokens.back().kind != TokenKind::End);
  return true;
}

static bool parseModule(Parser &parser) {
  Program &program = parser.program;
  program.sharedBase = kSharedBase;
  program.globalBase = kGlobalBase;
  program.constBase = kConstBase;
  parser.scopes.emplace_back();
  if (!parser.peek().isDirective("version"))
    return parser.failHere("a PTX text begins with .version");
  while (parser.peek().kind != TokenKind::End)
    if (!parseDirective(parser))
      return false;
  if (program.target.empty())
    return parser.failHere("the text has no .target");
  return placeFrames(parser);
}

std::optional<Program> tw::warpsim::parsePtx(std::string_view text, ParseError &error) {
  Parser parser(error);
  if (!tokenize(text, parser) || !parseModule(parser))
    return std::nullopt;
  return std::move(parser.program);
}
