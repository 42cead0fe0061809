// What the functions that print are asked to write: values, and the texts around them.
#include "frontend/builtins/Printing.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

/// A separator or an ending that print takes; None means the usual one.
static FailureOr<std::string> printOption(Emitter &emitter, const std::optional<Argument> &option,
                                          llvm::StringRef usual) {
  if (!option || option->value.is<None>())
    return usual.str();
  if (const std::string *text = option->value.as<std::string>())
    return *text;
  return emitter.error(Code::WrongType, *option->node,
                       "print takes a text here, not " + typeName(option->value),
                       "write sep=\", \" or end=\"\"");
}

FailureOr<PrintForm> tw::printFormOf(Emitter &emitter,
                                     llvm::ArrayRef<std::optional<Argument>> bound) {
  FailureOr<std::string> separator = printOption(emitter, bound[1], " ");
  if (failed(separator))
    return failure();
  FailureOr<std::string> end = printOption(emitter, bound[2], "\n");
  if (failed(end))
    return failure();
  if (bound[3] && !bound[3]->value.is<None>())
    return emitter.error(Code::BadOption, *bound[3]->node, "print in a kernel writes to no file",
                         "leave out `file`");
  std::vector<PyValue> values;
  if (bound[0])
    values = (*bound[0]->value.as<Tuple>())->items;
  return PrintForm{std::move(values), *separator, *end};
}

std::string tw::devicePrefix(llvm::StringRef text, bool hasValues) {
  std::string prefix = text.str();
  if (hasValues && !text.ends_with(" "))
    prefix += " ";
  if (hasValues && !llvm::StringRef(prefix).ends_with(": "))
    prefix.replace(prefix.size() - 1, 1, ": ");
  bool isShown = hasValues ? prefix.size() > 2 : !prefix.empty();
  return isShown && prefix.front() != ' ' ? " " + prefix : prefix;
}
