// Turns the compiler's diagnostics into the reports that users and tools get.
#ifndef BACKEND_API_REPORTS_H
#define BACKEND_API_REPORTS_H
#include "backend/api/Compile.h"
#include "ir/Diagnostic.h"

namespace tw::api {

Report makeReport(const Diagnostic &diagnostic, const std::vector<SourceText> &sources);
/// A launch or load failure as a diagnostic without a place in the source.
Diagnostic diagnosticOf(const RuntimeError &error);
/// A warning without a place in the source.
Diagnostic warningOf(Code code, std::string message);

} // namespace tw::api
#endif
