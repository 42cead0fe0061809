// Diagnostics of the frontend, made of codes and places.
#include "frontend/emit/SourceDiagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace tw;

Diagnostic tw::makeDiagnostic(Code code, std::string message, std::string hint,
                              std::vector<SourceLabel> labels) {
  Diagnostic diagnostic;
  diagnostic.kind = rowOfCode(code).kind;
  diagnostic.code = code;
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
