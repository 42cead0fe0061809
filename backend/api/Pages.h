// The pages of report codes, for `tilewright explain`.
#ifndef BACKEND_API_PAGES_H
#define BACKEND_API_PAGES_H
#include <string>
#include <vector>

namespace tw::api {
// Seen from outside: the portable build keeps the bindings and the compiler in files of their own.
#pragma GCC visibility push(default)

/// The meaning of a code and the way to fix its cause: a row of runtime/codes/Codes.def.
struct ReportPage {
  std::string code, title, meaning, example, fix;
};
/// The pages of all codes, by their numbers.
std::vector<ReportPage> reportPages();

#pragma GCC visibility pop
} // namespace tw::api
#endif
