// Inline assembly, its text and constraints checked against the values, and calls of bitcode.
#include "frontend/tiles/AssemblyBuilder.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;

namespace {
struct AsmConstraints {
  std::vector<std::string> results, sources; // "=r", "=&r"; "r", "0"
};
} // namespace

static Reason constraintError(std::string message, std::string hint) {
  Reason error = operandError(Code::AsmConstraints, message, hint);
  error.labels.push_back({1, ""});
  return error;
}

static constexpr llvm::StringLiteral kConstraintHint =
    "constraints are separated by commas, results first, as in \"=r,r,r\"; a letter says which "
    "registers hold the value";

/// Reads the text between two commas: one letter, or the number of a result.
static std::optional<Reason> readConstraint(llvm::StringRef word, AsmConstraints &read) {
  if (word.starts_with("~{") && word.ends_with("}"))
    return std::nullopt; // text with effects is kept in order with all accesses of memory
  llvm::StringRef letter = word;
  bool isResult = letter.consume_front("=");
  if (isResult)
    (void)letter.consume_front("&"); // every result has a register of its own
  unsigned tied;
  bool isTied = !isResult && llvm::to_integer(letter, tied, 10);
  if (!isTied && (letter.size() != 1 || !llvm::isAlpha(letter[0])))
    return constraintError("\"" + word.str() + "\" is not a constraint of inline assembly",
                           kConstraintHint.str());
  if (isTied && tied >= read.results.size())
    return constraintError("the constraint \"" + word.str() + "\" names result " + word.str() +
                               " of " + std::to_string(read.results.size()),
                           "a number stands for the register of that result, counted from 0");
  if (isResult && !read.sources.empty())
    return constraintError("the result \"" + word.str() + "\" stands behind a source",
                           kConstraintHint.str());
  if (isResult)
    read.results.push_back("=" + letter.str());
  else
    read.sources.push_back(letter.str());
  return std::nullopt;
}

static OrReason<AsmConstraints> readConstraints(llvm::StringRef text) {
  AsmConstraints read;
  if (text.trim().empty())
    return constraintError("inline assembly without constraints", kConstraintHint.str());
  for (llvm::StringRef word : llvm::split(text, ','))
    if (std::optional<Reason> error = readConstraint(word.trim(), read))
      return *error;
  return read;
}

/// Why a `$` of the text is not one of a register, or nothing. `rest` begins behind the `$`.
static std::optional<std::string> checkDollar(llvm::StringRef &rest, size_t numRegisters) {
  if (rest.consume_front("$"))
    return std::nullopt;
  bool isBraced = rest.consume_front("{");
  llvm::StringRef digits = rest.take_while([](char c) { return llvm::isDigit(c); });
  rest = rest.drop_front(digits.size());
  if (digits.empty() || (isBraced && !rest.consume_front("}")))
    return "a `$` that no register's number follows";
  unsigned number;
  if (llvm::to_integer(digits, number, 10) && number < numRegisters)
    return std::nullopt;
  return "`$" + digits.str() + "`, and the constraints are of " + std::to_string(numRegisters) +
         " registers";
}

static std::optional<Reason> checkText(llvm::StringRef text, size_t numRegisters) {
  auto fail = [](const std::string &fault) {
    Reason error = operandError(
        Code::AsmText, "the text of this inline assembly has " + fault,
        "$0, $1, ... are the registers in the order of the constraints; $$ is a dollar sign");
    error.labels.push_back({0, ""});
    return error;
  };
  int depth = 0;
  for (llvm::StringRef rest = text; !rest.empty();) {
    char character = rest.front();
    rest = rest.drop_front();
    if (character == '\0')
      return fail("a zero byte");
    if (character == '$')
      if (std::optional<std::string> fault = checkDollar(rest, numRegisters))
        return fail(*fault);
    depth += character == '{' ? 1 : character == '}' ? -1 : 0;
    if (depth < 0)
      break;
  }
  if (depth != 0)
    return fail("braces that are not in pairs");
  return std::nullopt;
}

static std::string plural(size_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Checks that there is one constraint for every register.
static std::optional<Reason> checkCount(const char *what, size_t given, size_t needed, int64_t pack,
                                        size_t numValues) {
  if (given == needed)
    return std::nullopt;
  return constraintError(
      plural(given, "constraint") + (given == 1 ? " is" : " are") + " of " + what + "s, and " +
          plural(numValues, what) + " of " + plural(size_t(pack), "element") + " each take" +
          (numValues == 1 ? "s " : " ") + plural(needed, "register"),
      "elements below 32 bits share registers of 32 bits, `pack` of them at most; every other "
      "element has a register of its own");
}

static size_t countRegisters(tile::InlineAsmOp op, mlir::TypeRange types) {
  size_t count = 0;
  for (mlir::Type type : types)
    count += op.getNumRegisters(type);
  return count;
}

/// An error where the text and the constraints do not fit the operation's values.
static std::optional<Reason> check(tile::InlineAsmOp op, const AsmConstraints &constraints) {
  if (auto error =
          checkCount("result", constraints.results.size(), countRegisters(op, op.getResultTypes()),
                     op.getPack(), op.getNumResults()))
    return error;
  if (auto error =
          checkCount("source", constraints.sources.size(), countRegisters(op, op.getOperandTypes()),
                     op.getPack(), op.getNumOperands()))
    return error;
  return checkText(op.getText(), constraints.results.size() + constraints.sources.size());
}

OrReason<AssemblyBuilder::Sources>
AssemblyBuilder::underOneShape(llvm::ArrayRef<TypedValue> sources) {
  Sources broadcast;
  if (sources.empty())
    return broadcast;
  OrReason<llvm::SmallVector<int64_t>> common = commonShape(sources);
  if (!common)
    return common.reason();
  broadcast.shape = *common;
  for (const TypedValue &source : sources)
    broadcast.values.push_back(expandTo(source, broadcast.shape).value);
  return broadcast;
}

mlir::Type AssemblyBuilder::resultType(DType dtype, llvm::ArrayRef<int64_t> shape) const {
  mlir::Type element = dtype.irType(builder.getContext());
  return shape.empty() ? element : mlir::RankedTensorType::get(shape, element);
}

TilesOr AssemblyBuilder::inlineAsm(const AssemblyText &assembly, llvm::ArrayRef<TypedValue> sources,
                                   llvm::ArrayRef<DType> dtypes) {
  OrReason<AsmConstraints> read = readConstraints(assembly.constraints);
  if (!read)
    return read.reason();
  OrReason<Sources> broadcast = underOneShape(sources);
  if (!broadcast) {
    for (auto &label : broadcast.reason().labels)
      label.first += 2;
    return broadcast.reason();
  }
  llvm::SmallVector<mlir::Type> types;
  for (DType dtype : dtypes)
    types.push_back(resultType(dtype, broadcast->shape));
  std::vector<std::string> all = read->results;
  llvm::append_range(all, read->sources);
  auto op = tile::InlineAsmOp::create(builder, loc, types, assembly.text, llvm::join(all, ","),
                                      uint32_t(assembly.pack), assembly.isPure, broadcast->values);
  if (std::optional<Reason> error = check(op, *read)) {
    op.erase();
    return *error;
  }
  std::vector<TypedValue> results;
  for (auto [value, dtype] : llvm::zip(op.getResults(), dtypes))
    results.push_back(typed(value, dtype));
  return results;
}

/// Returns true if functions of bitcode take and give values of a type: the types that C has, too.
static bool isPassed(DType dtype) {
  return !dtype.isPointer && (dtype.isInt() || (dtype.isFloat() && dtype.bits() >= 16));
}

TileOr AssemblyBuilder::externCall(llvm::StringRef symbol, bool isPure,
                                   llvm::ArrayRef<TypedValue> sources, DType dtype) {
  for (const auto &[i, source] : llvm::enumerate(sources))
    if (!isPassed(source.dtype)) {
      Reason error = operandError(Code::OperandType,
                                  "a function of bitcode does not take " + source.dtype.str(),
                                  "convert it to an integer or to a float of at least 16 bits");
      error.labels.push_back({int(i), "this is " + source.str()});
      return error;
    }
  if (!isPassed(dtype))
    return operandError(Code::OperandType, "a function of bitcode does not give " + dtype.str(),
                        "its result is an integer or a float of at least 16 bits");
  OrReason<Sources> broadcast = underOneShape(sources);
  if (!broadcast)
    return broadcast.reason();
  mlir::Type type = resultType(dtype, broadcast->shape);
  return typed(create<tile::ExternCallOp>(type, symbol, isPure, broadcast->values), dtype);
}
