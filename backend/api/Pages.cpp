// The pages of report codes, for `tilewright explain`.
#include "backend/api/Pages.h"
#include "runtime/codes/Code.h"

using namespace tw;
using namespace tw::api;

std::vector<ReportPage> api::reportPages() {
  std::vector<ReportPage> pages;
  for (const CodeRow &row : codeRows())
    pages.push_back({codeName(row.code), row.title, row.meaning, row.example, row.fix});
  return pages;
}
