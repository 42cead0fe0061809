// Binds the arguments of calls to parameters, by position and by name.
#include "frontend/operators/ArgumentBinding.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

LogicalResult tw::wrongArguments(Emitter &emitter, const Signature &signature, const Node &node,
                                 const llvm::Twine &message) {
  return emitter.error(Code::WrongArguments, node, "`" + signature.name + "` " + message,
                       "it is " + signature.name + "(" + signature.text + ")");
}

namespace {
struct ArgumentBinder {
  Emitter &emitter;
  const Signature &signature;
  const Node &site;
  BoundArguments bound = {};

  LogicalResult bindPositional(const Arguments &arguments);
  LogicalResult bindKeyword(const Argument &argument);
  LogicalResult requireAll();
  LogicalResult wrongKeyword(const Argument &argument, const llvm::Twine &message);
};
} // namespace

static const Parameter *findOfKind(llvm::ArrayRef<Parameter> params, Parameter::Kind kind) {
  const Parameter *found = llvm::find_if(params, [&](const auto &p) { return p.kind == kind; });
  return found == params.end() ? nullptr : found;
}

LogicalResult ArgumentBinder::bindPositional(const Arguments &arguments) {
  llvm::ArrayRef<Parameter> params = signature.params;
  const Parameter *rest = findOfKind(params, Parameter::Kind::VarPositional);
  size_t next = 0, numGiven = 0;
  std::vector<PyValue> extra;
  for (const Argument &argument : arguments) {
    if (!argument.keyword.empty())
      continue;
    ++numGiven;
    if (next < params.size() && params[next].takesPosition())
      bound.places[next++] = argument;
    else if (rest)
      extra.push_back(argument.value);
    else
      return wrongArguments(emitter, signature, *argument.node,
                            formatv("takes {0} positional argument{1}, but {2} or more are given",
                                    next, next == 1 ? "" : "s", numGiven));
  }
  if (!extra.empty())
    bound.places[rest - params.begin()] = Argument{makeTuple(std::move(extra)), &site, ""};
  return success();
}

/// An error at the keyword itself, without its value.
LogicalResult ArgumentBinder::wrongKeyword(const Argument &argument, const llvm::Twine &message) {
  Node keyword = argument.whole ? *argument.whole : *argument.node;
  if (argument.whole) {
    keyword.endLine = keyword.line;
    keyword.endColumn = keyword.column + static_cast<int>(argument.keyword.size());
  }
  return wrongArguments(emitter, signature, keyword, message);
}

LogicalResult ArgumentBinder::bindKeyword(const Argument &argument) {
  for (auto [place, param] : llvm::zip_equal(bound.places, signature.params)) {
    if (param.name != argument.keyword || !param.takesKeyword())
      continue;
    if (place)
      return wrongKeyword(argument, "is given `" + argument.keyword + "` twice");
    place = argument;
    return success();
  }
  if (!findOfKind(signature.params, Parameter::Kind::VarKeyword))
    return wrongKeyword(argument, "has no parameter `" + argument.keyword + "`");
  bound.named.push_back(argument);
  return success();
}

LogicalResult ArgumentBinder::requireAll() {
  for (auto [place, param] : llvm::zip_equal(bound.places, signature.params))
    if (!place && param.isRequired())
      return wrongArguments(emitter, signature, site, "needs an argument for `" + param.name + "`");
  return success();
}

FailureOr<BoundArguments> tw::bindArguments(Emitter &emitter, const Signature &signature,
                                            const Arguments &arguments, const Node &site) {
  ArgumentBinder binder{emitter, signature, site};
  binder.bound.places.resize(signature.params.size());
  if (failed(binder.bindPositional(arguments)))
    return failure();
  for (const Argument &argument : arguments)
    if (!argument.keyword.empty() && failed(binder.bindKeyword(argument)))
      return failure();
  if (failed(binder.requireAll()))
    return failure();
  return std::move(binder.bound);
}
