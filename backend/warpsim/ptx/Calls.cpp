// Calls: how `.param` variables become places in frames, and where the frames are.
//
// There is no recursion, so each function has one fixed frame in the local space of a lane. The
// formal `.param` parameters of a .func are the beginning of its frame, and the `.param` variables
// that a call passes are these very places: storing the argument passes it. A host function gets
// the values instead: they are loaded before the call, and its result is stored after it.
#include "backend/warpsim/ptx/Parser.h"
#include <algorithm>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

static uint32_t alignTo(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

static CallParameter *findCallParameter(Parser &parser, std::string_view name) {
  for (size_t depth = parser.scopes.size(); depth-- > 1;) {
    auto declared = parser.scopes[depth].callParameters.find(name);
    if (declared != parser.scopes[depth].callParameters.end())
      return &declared->second;
  }
  return nullptr;
}

static bool useCallParameter(Parser &parser, const Token &name, CallParameter &parameter) {
  int32_t instruction = int32_t(parser.program.code.size());
  if (!parameter.isBound) {
    if (parameter.uses.empty())
      parameter.numCallsBefore = parser.numCalls;
    parameter.uses.push_back(instruction);
    return true;
  }
  // Another call may have used the same frame by now.
  if (parameter.numCallsBefore != parser.numCalls)
    return parser.fail(name.line, quoted(name.text) + " is read after another call");
  parser.fixups.push_back({instruction, -1, parameter.frame, parameter.slot});
  return true;
}

static const Formal *findFormal(const FunctionSymbol &symbol, std::string_view name) {
  for (const std::vector<Formal> *formals : {&symbol.arguments, &symbol.results})
    for (const Formal &formal : *formals)
      if (!formal.isRegister && formal.parameter.name == name)
        return &formal;
  return nullptr;
}

/// `[name+..]` where the name is a parameter: of the call being prepared, or of this function.
bool tw::warpsim::ptx::bindParameterAddress(Parser &parser, const Token &name,
                                            Instruction &instruction, bool &isFound) {
  if (instruction.space != Space::Param)
    return true;
  const FunctionSymbol &symbol = parser.functions[size_t(parser.current)];
  if (CallParameter *parameter = findCallParameter(parser, name.text)) {
    isFound = true;
    instruction.space = Space::Local;
    return useCallParameter(parser, name, *parameter);
  }
  const Formal *formal = findFormal(symbol, name.text);
  isFound = formal != nullptr;
  if (formal)
    instruction.address.offset = formal->parameter.offset;
  if (formal && !symbol.isKernel) {
    instruction.space = Space::Local;
    parser.fixups.push_back({int32_t(parser.program.code.size()), -1, parser.current, 0});
  }
  return true;
}

/// Gives the `.param` variable of a call its place.
static bool bind(Parser &parser, const Token &name, CallParameter &parameter, const Formal &formal,
                 int32_t frame, int64_t slot) {
  if (parameter.isBound)
    return parser.fail(name.line, quoted(name.text) + " is passed to two calls");
  if (parameter.parameter.bytes != formal.parameter.bytes)
    return parser.fail(name.line,
                       quoted(name.text) + " has " + std::to_string(parameter.parameter.bytes) +
                           " bytes, the function wants " + std::to_string(formal.parameter.bytes));
  if (!parameter.uses.empty() && parameter.numCallsBefore != parser.numCalls)
    return parser.fail(name.line, "a call stands between the stores to " + quoted(name.text) +
                                      " and its own call");
  parameter.isBound = true;
  parameter.frame = frame;
  parameter.slot = slot;
  parameter.numCallsBefore = parser.numCalls + 1;
  for (int32_t use : parameter.uses)
    parser.fixups.push_back({use, -1, frame, slot});
  return true;
}

/// An access of a host call's parameter, at `slot` of this function's frame.
static Instruction accessOf(Parser &parser, Op op, const Instruction &call, uint32_t slot,
                            unsigned bytes) {
  Instruction access;
  access.op = op;
  access.space = Space::Local;
  access.type = bytes == 8 ? Type::B64 : bytes == 4 ? Type::B32 : bytes == 2 ? Type::B16 : Type::B8;
  access.guard = call.guard;
  access.line = call.line;
  access.address.offset = slot;
  Operand value;
  value.kind = Operand::Kind::Register;
  value.reg = newRegister(parser, access.type);
  (op == Op::Ld ? access.results : access.sources).push_back(value);
  return access;
}

static bool passToHost(Parser &parser, const Token &name, CallParameter &parameter,
                       const Formal &formal, bool isResult, Instruction &call) {
  unsigned bytes = formal.parameter.bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    return parser.fail(name.line, "a host function takes scalars only, not " + quoted(name.text));
  FunctionSymbol &symbol = parser.functions[size_t(parser.current)];
  uint32_t slot = alignTo(symbol.frameBytes, std::max(8u, parameter.parameter.alignment));
  if (!bind(parser, name, parameter, formal, parser.current, slot))
    return false;
  symbol.frameBytes = slot + bytes;
  Instruction access = accessOf(parser, isResult ? Op::St : Op::Ld, call, slot, bytes);
  if (isResult) {
    call.results.push_back(access.sources.front());
    parser.afterCall.push_back(std::move(access));
    return true;
  }
  call.sources.push_back(access.results.front());
  parser.fixups.push_back({int32_t(parser.program.code.size()), -1, parser.current, 0});
  append(parser, std::move(access));
  return true;
}

static bool passOne(Parser &parser, const FunctionSymbol &callee, int32_t calleeIndex,
                    const Formal &formal, bool isResult, Instruction &call) {
  if (formal.isRegister) {
    if (!isResult)
      return parseSource(parser, formal.parameter.type, false, call);
    call.results.emplace_back();
    return parseRegister(parser, formal.parameter.type, false, call.results.back());
  }
  Token name = parser.take();
  CallParameter *parameter =
      name.kind == TokenKind::Word ? findCallParameter(parser, name.text) : nullptr;
  if (!parameter)
    return parser.fail(name.line, describe(name) + " is no .param variable");
  if (callee.isExtern)
    return passToHost(parser, name, *parameter, formal, isResult, call);
  return bind(parser, name, *parameter, formal, calleeIndex, formal.parameter.offset);
}

static std::string countMessage(const FunctionSymbol &callee, bool isResult) {
  size_t count = isResult ? callee.results.size() : callee.arguments.size();
  return quoted(callee.name) + " has " + std::to_string(count) +
         (isResult ? " result" : " argument") + (count == 1 ? "" : "s");
}

static bool passAll(Parser &parser, int32_t calleeIndex, bool isResult, Instruction &call) {
  // A copy: the list of symbols does not grow here, but its frames do.
  const FunctionSymbol callee = parser.functions[size_t(calleeIndex)];
  const std::vector<Formal> &formals = isResult ? callee.results : callee.arguments;
  if (!parser.expect('('))
    return false;
  for (size_t index = 0; index < formals.size(); ++index) {
    bool isLast = parser.peek().is(')');
    if (isLast || (index && !parser.takeIf(',')))
      return parser.failHere(countMessage(callee, isResult));
    if (!passOne(parser, callee, calleeIndex, formals[index], isResult, call))
      return false;
  }
  return parser.takeIf(')') || parser.failHere(countMessage(callee, isResult));
}

/// `(results), name, (arguments)`, each list where the function has some.
bool tw::warpsim::ptx::parseCallee(Parser &parser, Instruction &call) {
  size_t resultsAt = parser.position;
  bool hasResults = parser.peek().is('(');
  if (hasResults) {
    while (!parser.peek().is(')') && !parser.peek().is(';') && parser.peek().kind != TokenKind::End)
      parser.take();
    if (!parser.expect(')') || !parser.expect(','))
      return false;
  }
  Token name = parser.take();
  auto known = parser.functionNamed.find(name.text);
  if (known == parser.functionNamed.end()) {
    bool isRegister = name.text.starts_with('%');
    return parser.fail(name.line, isRegister ? "an indirect call is not supported"
                                             : "unknown function " + describe(name));
  }
  int32_t calleeIndex = known->second;
  const FunctionSymbol &callee = parser.functions[size_t(calleeIndex)];
  if (callee.isKernel)
    return parser.fail(name.line, "kernel " + describe(name) + " cannot be called");
  if (hasResults != !callee.results.empty())
    return parser.fail(name.line, countMessage(callee, true));
  bool isBare = parser.peek().is(';');
  if (isBare && !callee.arguments.empty())
    return parser.fail(name.line, countMessage(callee, false));
  if (!isBare && (!parser.expect(',') || !passAll(parser, calleeIndex, false, call)))
    return false;
  size_t afterArguments = parser.position;
  parser.position = resultsAt;
  if (hasResults && !passAll(parser, calleeIndex, true, call))
    return false;
  parser.position = afterArguments;
  if (parser.peek().is(','))
    return parser.failHere("an indirect call is not supported");
  if (callee.isExtern)
    call.calleeName = name.text;
  parser.calls.push_back(
      {int32_t(parser.program.code.size()), parser.current, calleeIndex, name.line});
  ++parser.numCalls;
  return true;
}

/// The functions with callers before callees; shorter than all of them if there is recursion.
static std::vector<int32_t> sortByCalls(const Parser &parser) {
  std::vector<unsigned> numCallers(parser.functions.size());
  std::vector<std::vector<int32_t>> callees(parser.functions.size());
  for (const CallEdge &call : parser.calls) {
    ++numCallers[size_t(call.callee)];
    callees[size_t(call.caller)].push_back(call.callee);
  }
  std::vector<int32_t> order;
  for (size_t index = 0; index < numCallers.size(); ++index)
    if (!numCallers[index])
      order.push_back(int32_t(index));
  for (size_t next = 0; next < order.size(); ++next)
    for (int32_t callee : callees[size_t(order[next])])
      if (!--numCallers[size_t(callee)])
        order.push_back(callee);
  return order;
}

/// Resolves the calls and lays the frames out: each one behind those of all callers.
static bool layFrames(Parser &parser, std::vector<uint32_t> &base) {
  constexpr uint32_t kFrameAlignment = 16, kMaxFrames = 1 << 26;
  std::vector<int32_t> order = sortByCalls(parser);
  std::vector<bool> isOrdered(parser.functions.size());
  for (int32_t index : order)
    isOrdered[size_t(index)] = true;
  for (const CallEdge &call : parser.calls) {
    const FunctionSymbol &callee = parser.functions[size_t(call.callee)];
    parser.program.code[size_t(call.instruction)].callee = callee.programIndex;
    if (!isOrdered[size_t(call.callee)])
      return parser.fail(call.line, "function " + quoted(callee.name) + " calls itself");
    if (callee.programIndex < 0 && !callee.isExtern)
      return parser.fail(call.line, "function " + quoted(callee.name) + " has no body");
  }
  std::vector<std::vector<int32_t>> callees(parser.functions.size());
  for (const CallEdge &call : parser.calls)
    callees[size_t(call.caller)].push_back(call.callee);
  std::vector<uint32_t> end(parser.functions.size());
  for (int32_t caller : order) {
    uint32_t frameEnd = base[size_t(caller)] + parser.functions[size_t(caller)].frameBytes;
    if (frameEnd > kMaxFrames)
      return parser.fail(parser.functions[size_t(caller)].line, "local memory is too large");
    end[size_t(caller)] = frameEnd;
    for (int32_t callee : callees[size_t(caller)])
      base[size_t(callee)] = std::max(base[size_t(callee)], alignTo(frameEnd, kFrameAlignment));
  }
  for (size_t next = order.size(); next-- > 0;) {
    size_t caller = size_t(order[next]);
    for (int32_t callee : callees[caller])
      end[caller] = std::max(end[caller], end[size_t(callee)]);
    const FunctionSymbol &symbol = parser.functions[caller];
    if (symbol.programIndex >= 0)
      parser.program.functions[size_t(symbol.programIndex)].localBytes =
          symbol.isKernel ? end[caller] : base[caller] + symbol.frameBytes;
  }
  return true;
}

static void apply(const Fixup &fixup, Program &program, const std::vector<uint32_t> &base) {
  int64_t added =
      fixup.offset + (fixup.frame < 0 ? program.staticSharedBytes : base[size_t(fixup.frame)]);
  Instruction &instruction = program.code[size_t(fixup.instruction)];
  if (fixup.source < 0)
    instruction.address.offset += added;
  else
    instruction.sources[size_t(fixup.source)].bits += uint64_t(added);
}

bool tw::warpsim::ptx::placeFrames(Parser &parser) {
  Program &program = parser.program;
  std::vector<uint32_t> base(parser.functions.size());
  if (!layFrames(parser, base))
    return false;
  if (program.hasDynamicShared)
    program.staticSharedBytes = alignTo(program.staticSharedBytes, parser.dynamicAlignment);
  for (uint32_t index : parser.dynamicVariables)
    program.variables[index].offset = program.staticSharedBytes;
  for (auto [variable, symbol] : parser.frameOfVariable)
    program.variables[variable].offset += base[symbol];
  for (const Fixup &fixup : parser.fixups)
    apply(fixup, program, base);
  return true;
}
