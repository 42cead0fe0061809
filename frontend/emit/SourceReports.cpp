// How the emitter reports: spans, labels and the inlined calls around the place.
#include "frontend/emit/Emitter.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using mlir::failure;
using mlir::LogicalResult;

static bool isSameSpan(const SourceSpan &a, const SourceSpan &b) {
  return a.line == b.line && a.column == b.column && a.endLine == b.endLine &&
         a.endColumn == b.endColumn && a.file == b.file;
}

SourceLabel Emitter::label(const Node &node, std::string text) const {
  return {spanOf(node, *frames.back()->source), std::move(text)};
}

bool Emitter::hasFailed() const {
  return llvm::any_of(diagnostics, [](const Diagnostic &diagnostic) {
    return diagnostic.severity == Severity::Error;
  });
}

/// Returns the label for the place of an error in the library.
static SourceLabel labelInLibrary(const Diagnostic &diagnostic) {
  SourceLabel inside = diagnostic.labels.front();
  for (const SourceLabel &label : diagnostic.labels)
    if (inside.text.empty())
      inside.text = label.text;
  if (inside.text.empty())
    inside.text = kInLibrary;
  return inside;
}

/// An error inside of the language's library is the mistake of the call that leads there: the call
/// becomes the place of the error, and the place in the library a part of the call stack.
static void blameCaller(Diagnostic &diagnostic, llvm::ArrayRef<std::shared_ptr<Frame>> frames) {
  size_t numLibrary = 0;
  for (const std::shared_ptr<Frame> &frame : llvm::reverse(frames)) {
    if (!frame->source->isLibrary || !frame->callNode)
      break;
    ++numLibrary;
  }
  if (numLibrary == 0 || diagnostic.callStack.size() < numLibrary)
    return;
  SourceLabel inside = labelInLibrary(diagnostic), call = diagnostic.callStack[numLibrary - 1];
  call.text.clear();
  diagnostic.labels.assign(1, std::move(call));
  diagnostic.callStack.erase(diagnostic.callStack.begin(),
                             diagnostic.callStack.begin() + numLibrary);
  diagnostic.callStack.insert(diagnostic.callStack.begin(), std::move(inside));
}

LogicalResult Emitter::error(Code code, const Node &site, const llvm::Twine &message,
                             const llvm::Twine &hint, std::vector<SourceLabel> labels) {
  if (hasFailed()) // the first error wins; what follows may be its consequence
    return failure();
  // A label on the place of the error itself becomes its text.
  SourceLabel primary = label(site, "");
  auto same = llvm::find_if(
      labels, [&](const SourceLabel &other) { return isSameSpan(other.span, primary.span); });
  if (same != labels.end()) {
    primary.text = same->text;
    labels.erase(same);
  }
  labels.insert(labels.begin(), std::move(primary));
  diagnostics.push_back(makeDiagnostic(code, message.str(), hint.str(), std::move(labels)));
  diagnostics.back().callStack = callStackOf(frames);
  blameCaller(diagnostics.back(), frames);
  return failure();
}

LogicalResult Emitter::error(const Reason &reason, const Node &site,
                             llvm::ArrayRef<const Node *> operands) {
  if (hasFailed() || reason.isReported())
    return failure();
  Diagnostic diagnostic;
  diagnostic.code = *reason.code;
  diagnostic.message = reason.message;
  diagnostic.hint = reason.hint;
  diagnostic.labels.push_back(label(site, ""));
  for (const auto &[index, text] : reason.labels)
    if (index >= 0 && size_t(index) < operands.size() && operands[index])
      diagnostic.labels.push_back(label(*operands[index], text));
  diagnostic.callStack = callStackOf(frames);
  blameCaller(diagnostic, frames);
  diagnostics.push_back(std::move(diagnostic));
  return failure();
}

LogicalResult Emitter::unsupported(const Node &site, const llvm::Twine &what,
                                   const llvm::Twine &hint) {
  return error(Code::UnsupportedSyntax, site, what + " cannot be used in a kernel", hint);
}

LogicalResult Emitter::refuseInCombine(const Node &site, const llvm::Twine &what) {
  if (combineDepth == 0)
    return mlir::success();
  return error(
      Code::EffectInCombine, site,
      what + " cannot stand in the function of a reduction, a scan or map_elementwise",
      "such functions are computed in any order and any number of times: check, print and store "
      "before or after");
}

LogicalResult Emitter::reportAbsent(const Absent &absent, llvm::StringRef name, const Node &site) {
  bool isResult = isHidden(name);
  std::string what = isResult ? "the result of this call" : "`" + name.str() + "`";
  std::vector<SourceLabel> labels;
  if (absent.first.isKnown())
    labels.push_back(
        {absent.first, absent.firstType.empty() ? "defined here" : "this is " + absent.firstType});
  if (absent.second.isKnown())
    labels.push_back({absent.second, "this is " + absent.secondType});
  switch (absent.reason) {
  case Absent::Reason::PartialReturn:
    return error(Code::BadReturn, site, "the called function returns a value on one path only",
                 "return a value on every path", labels);
  case Absent::Reason::OnePath:
    return error(Code::OnePathOnly, site, what + " is defined on one path of a branch only",
                 "give it a value on the other path, or before the branch", labels);
  case Absent::Reason::TwoTypes:
    return error(isResult ? Code::BadReturn : Code::TwoTypes, site,
                 what + " has different types on the two paths of a branch: " + absent.firstType +
                     " and " + absent.secondType,
                 "convert both to one type with .to(...), or use two names", labels);
  case Absent::Reason::TwoConstexprs:
    return error(Code::ConstexprChanges, site,
                 what + " is a constexpr, but the two paths of a run-time branch give it different "
                        "values",
                 "leave out the constexpr annotation, or branch on a compile-time condition",
                 labels);
  case Absent::Reason::LoopBody:
    return error(Code::LoopBodyOnly, site,
                 what + " is defined only inside a loop, which may not run at all",
                 "give it a value before the loop", labels);
  default:
    return error(Code::UnknownName, site, what + " has no value here", "assign it before this line",
                 labels);
  }
}

LogicalResult Emitter::rejectAbsent(const PyValue &value, const Node &node) {
  return reportAbsent(*value.as<Absent>(), kResult, node);
}

void Emitter::remark(const Node &site, std::string text, Code code) {
  Diagnostic diagnostic = makeDiagnostic(code, std::move(text), "", {label(site, "")});
  diagnostic.severity = Severity::Remark;
  diagnostics.push_back(std::move(diagnostic));
}

static mlir::Location rangeOf(mlir::OpBuilder &builder, const Node &node,
                              const FunctionSource &source) {
  return mlir::FileLineColRange::get(builder.getStringAttr(source.file), node.line, node.column,
                                     node.endLine, node.endColumn);
}

/// Sets the location of the operations that follow. Reports of passes about operations of the
/// language's library concern the call that leads there: the call is the innermost place, and the
/// place in the library, marked as such, its first caller.
void Emitter::locate(const Node &node) {
  Frame &current = frame();
  mlir::Location range = rangeOf(builder, node, *current.source);
  if (!current.source->isLibrary || !current.callNode) {
    if (current.callSite)
      range = mlir::CallSiteLoc::get(range, mlir::Location(current.callSite));
    tiles.setLocation(range);
    return;
  }
  range = markLibrary(range);
  size_t outermost = frames.size() - 1; // of the library's frames
  while (outermost > 0 && frames[outermost - 1]->source->isLibrary)
    --outermost;
  const Frame &entered = *frames[outermost];
  mlir::LocationAttr around = outermost > 0 ? frames[outermost - 1]->callSite : nullptr;
  if (around)
    range = mlir::CallSiteLoc::get(range, mlir::Location(around));
  tiles.setLocation(
      mlir::CallSiteLoc::get(rangeOf(builder, *entered.callNode, *entered.callSource), range));
}
