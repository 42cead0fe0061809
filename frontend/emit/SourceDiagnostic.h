// Diagnostics of the frontend, made of codes and places.
#ifndef FRONTEND_SOURCEDIAGNOSTIC_H
#define FRONTEND_SOURCEDIAGNOSTIC_H
#include "frontend/emit/Scopes.h"
#include "ir/Diagnostic.h"
#include "llvm/ADT/ArrayRef.h"

namespace tw {

Diagnostic makeDiagnostic(Code code, std::string message, std::string hint,
                          std::vector<SourceLabel> labels);
/// The calls that led to the innermost frame, innermost first.
std::vector<SourceLabel> callStackOf(llvm::ArrayRef<std::shared_ptr<Frame>> frames);

} // namespace tw
#endif
