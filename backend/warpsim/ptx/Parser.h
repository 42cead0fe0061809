// What the parts of the PTX parser share: the tokens, the symbols and the program being made.
#ifndef BACKEND_WARPSIM_PTX_PARSER_H
#define BACKEND_WARPSIM_PTX_PARSER_H
#include "backend/warpsim/ptx/InstructionTable.h"
#include "backend/warpsim/ptx/Symbols.h"
#include <tuple>

namespace tw::warpsim::ptx {

struct Mnemonic {
  const InstructionRow *row = nullptr;
  Instruction prototype;
};

struct Parser {
  std::vector<Token> tokens;
  size_t position = 0;
  ParseError &error;
  Program program;

  std::vector<BodyScope> scopes; // [0]: the module
  std::vector<FunctionSymbol> functions;
  std::unordered_map<std::string_view, int32_t> functionNamed;
  std::unordered_map<std::string_view, Mnemonic> mnemonics;
  std::vector<Fixup> fixups;
  std::vector<CallEdge> calls;
  std::vector<Instruction> afterCall;                         // stores of a host function's results
  std::vector<std::pair<uint32_t, uint32_t>> frameOfVariable; // .local variable -> function symbol
  std::vector<uint32_t> dynamicVariables;                     // into Program::variables
  uint32_t dynamicAlignment = 16;

  int32_t current = -1; // the function symbol being parsed
  uint32_t numCalls = 0;
  int32_t location = -1;
  std::map<std::tuple<int, int, int, int>, int32_t> locationNumber;
  std::map<std::tuple<int, int, int>, int32_t> latestLocation;

  explicit Parser(ParseError &error) : error(error) {}

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  const Token &take() { return tokens[std::min(position++, tokens.size() - 1)]; }
  bool takeIf(char punctuation) { return peek().is(punctuation) && (++position, true); }
  bool fail(int line, std::string message);
  bool failHere(std::string message) { return fail(peek().line, std::move(message)); }
  bool takeSink() {
    return peek().kind == TokenKind::Word && peek().text == "_" && (++position, true);
  }
  bool expect(char punctuation);
  bool takeWord(std::string_view &word, std::string_view what);
  bool takeInteger(int64_t &value, std::string_view what);
  Function &function() { return program.functions.back(); }
};

inline std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }
std::string describe(const Token &token);

// Parser.cpp
bool parsePragma(Parser &parser);

// Declarations.cpp
bool parseRegisters(Parser &parser);
bool parseVariable(Parser &parser, bool isExtern);
bool parseFormals(Parser &parser, bool isKernel, std::vector<Formal> &formals, uint32_t &bytes);
bool parseParameter(Parser &parser, Parameter &parameter, std::string_view &name);
Register newRegister(Parser &parser, Type type, uint32_t count = 1);
bool findRegister(const Parser &parser, std::string_view name, TypedRegister &found);
const Variable *findVariable(const Parser &parser, std::string_view name, uint32_t &index);

// Body.cpp
bool parseBody(Parser &parser);
bool parseLocation(Parser &parser);

// Operands.cpp, Values.cpp
bool parseOperands(Parser &parser, const InstructionRow &row, Instruction &instruction);
bool parseSource(Parser &parser, Type type, bool isRelaxed, Instruction &instruction);
bool parseRegister(Parser &parser, Type type, bool isRelaxed, Operand &operand);
bool parseAddress(Parser &parser, Instruction &instruction);
bool parseMove(Parser &parser, Instruction &instruction);
bool agreesWith(Type registerType, Type type, bool isRelaxed);
/// Puts an instruction at the end of the code, with the current line and location.
void append(Parser &parser, Instruction instruction);

// Calls.cpp
bool parseCallee(Parser &parser, Instruction &instruction);
bool bindParameterAddress(Parser &parser, const Token &name, Instruction &instruction,
                          bool &isFound);
bool placeFrames(Parser &parser);

} // namespace tw::warpsim::ptx
#endif
