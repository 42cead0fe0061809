// The table of the frontend's error codes.
#include "frontend/emit/SourceDiagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace tw;
using Kind = DiagnosticKind;

static constexpr CodeRow kCodes[] = {
    {Code::UnknownName, "TW0101", Kind::Compile, "unknown name"},
    {Code::UnknownAttribute, "TW0102", Kind::Compile, "unknown attribute or method"},
    {Code::WrongType, "TW0103", Kind::Compile, "value of the wrong type"},
    {Code::NotStatic, "TW0104", Kind::Compile, "run-time value where a constexpr is needed"},
    {Code::OnePathOnly, "TW0105", Kind::Compile, "name that is defined on one path only"},
    {Code::TwoTypes, "TW0106", Kind::Compile, "name that has different types on two paths"},
    {Code::LoopTypeChanges, "TW0107", Kind::Compile,
     "type that changes from one iteration to the next"},
    {Code::LoopBodyOnly, "TW0108", Kind::Compile, "name that is defined only inside a loop"},
    {Code::WrongArguments, "TW0109", Kind::Compile, "wrong arguments of a call"},
    {Code::Recursion, "TW0110", Kind::Compile, "recursive call"},
    {Code::UnsupportedSyntax, "TW0111", Kind::Unsupported,
     "Python construct that kernels cannot use"},
    {Code::UnsupportedFunction, "TW0112", Kind::Unsupported, "function that is not implemented"},
    {Code::StaticAssert, "TW0113", Kind::Compile, "static assertion that failed"},
    {Code::NotIterable, "TW0114", Kind::Compile, "value that cannot be iterated or unpacked"},
    {Code::NotCallable, "TW0115", Kind::Compile, "call of something that is not a function"},
    {Code::StaticEvaluation, "TW0116", Kind::Compile, "compile-time expression that failed"},
    {Code::BadSubscript, "TW0117", Kind::Compile, "wrong subscript"},
    {Code::BadReturn, "TW0118", Kind::Compile, "return values that do not fit"},
    {Code::BadCondition, "TW0119", Kind::Compile, "condition that is not one truth value"},
    {Code::BadOption, "TW0120", Kind::Compile, "unknown option or option value"},
    {Code::LimitExceeded, "TW0121", Kind::Compile, "limit of the compiler"},
    {Code::ConstexprChanges, "TW0122", Kind::Compile, "constexpr that changes at run time"},
    {Code::StaticPrint, "TW0123", Kind::Compile, "output of static_print"},
    {Code::BadSignature, "TW0124", Kind::Internal,
     "arguments that do not fit the kernel's parameters"},
    {Code::EffectInCombine, "TW0125", Kind::Unsupported, "effect inside of a combining function"},
    {Code::AggregateField, "TW0135", Kind::Compile, "field of an aggregate that is not there"},
    {Code::UnknownScope, "TW0136", Kind::Unsupported, "`with` of something that is not a scope"},
    {Code::MalformedBuffer, "TW0190", Kind::Internal, "malformed kernel source buffer"},
    {Code::InvalidIr, "TW0191", Kind::Internal, "invalid Tile IR"},
};

llvm::ArrayRef<CodeRow> tw::frontendCodes() { return kCodes; }

const CodeRow &tw::rowOf(Code code) {
  return *llvm::find_if(kCodes, [&](const CodeRow &row) { return row.code == code; });
}

Diagnostic tw::makeDiagnostic(Code code, std::string message, std::string hint,
                              std::vector<SourceLabel> labels) {
  Diagnostic diagnostic;
  diagnostic.kind = rowOf(code).kind;
  diagnostic.code = rowOf(code).name.str();
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.labels = std::move(labels);
  return diagnostic;
}

std::vector<SourceLabel> tw::callStackOf(llvm::ArrayRef<std::shared_ptr<Frame>> frames) {
  std::vector<SourceLabel> stack;
  llvm::SmallPtrSet<const Node *, 8> seen; // a recursive call is told once
  for (const std::shared_ptr<Frame> &frame : llvm::reverse(frames))
    if (frame->callNode && seen.insert(frame->callNode).second)
      stack.push_back(
          {spanOf(*frame->callNode, *frame->callSource), "`" + frame->name + "` is called here"});
  return stack;
}
