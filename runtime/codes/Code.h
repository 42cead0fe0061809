// The codes of reports, which every layer shares: each has a number that never changes and a page.
#ifndef RUNTIME_CODES_CODE_H
#define RUNTIME_CODES_CODE_H
#include <span>
#include <string>

namespace tw {

/// `Code::UnknownName` is shown as TW0101. Files that name one include Codes.h: so a new code
/// builds those again and not everything that hands codes on.
enum class Code : int;
inline constexpr Code kUncoded{900}; // Code::Uncoded

/// Which exception a report becomes.
enum class DiagnosticKind { Compile, Unsupported, Launch, Device, Internal };

/// A row of Codes.def.
struct CodeRow {
  Code code;
  const char *name;
  DiagnosticKind kind;
  const char *title, *meaning, *example, *fix;
};

/// All codes, by their numbers.
std::span<const CodeRow> codeRows();
const CodeRow &rowOfCode(Code code);
/// The row of "TW0101"; null for a text that is not a code's.
const CodeRow *rowNamed(const std::string &name);

/// "compile", "unsupported", "launch", "device", "internal".
inline const char *kindName(DiagnosticKind kind) {
  constexpr const char *names[] = {"compile", "unsupported", "launch", "device", "internal"};
  return names[static_cast<int>(kind)];
}

/// "TW0101".
inline std::string codeName(Code code) {
  std::string digits = std::to_string(static_cast<int>(code));
  return "TW" + std::string(4 - digits.size(), '0') + digits;
}

} // namespace tw
#endif
