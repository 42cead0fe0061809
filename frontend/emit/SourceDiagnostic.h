// The frontend's error codes, and diagnostics made from them.
#ifndef FRONTEND_SOURCEDIAGNOSTIC_H
#define FRONTEND_SOURCEDIAGNOSTIC_H
#include "frontend/emit/Scopes.h"
#include "ir/Diagnostic.h"
#include "llvm/ADT/ArrayRef.h"

namespace tw {

enum class Code {
  UnknownName,
  UnknownAttribute,
  WrongType,
  NotStatic,
  OnePathOnly,
  TwoTypes,
  LoopTypeChanges,
  LoopBodyOnly,
  WrongArguments,
  Recursion,
  UnsupportedSyntax,
  UnsupportedFunction,
  StaticAssert,
  NotIterable,
  NotCallable,
  StaticEvaluation,
  BadSubscript,
  BadReturn,
  BadCondition,
  BadOption,
  LimitExceeded,
  ConstexprChanges,
  StaticPrint,
  BadSignature,
  EffectInCombine,
  AggregateField,
  UnknownScope,
  MalformedBuffer,
  InvalidIr,
};

struct CodeRow {
  Code code;
  llvm::StringLiteral name; // "TW0101"
  DiagnosticKind kind;
  llvm::StringLiteral title;
};
llvm::ArrayRef<CodeRow> frontendCodes();
const CodeRow &rowOf(Code code);

Diagnostic makeDiagnostic(Code code, std::string message, std::string hint,
                          std::vector<SourceLabel> labels);
/// The calls that led to the innermost frame, innermost first.
std::vector<SourceLabel> callStackOf(llvm::ArrayRef<std::shared_ptr<Frame>> frames);

} // namespace tw
#endif
