// Renders reports for people and reads spans out of MLIR locations.
#include "ir/Diagnostic.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <optional>

using namespace tw;

static std::optional<std::string> findLine(const std::vector<SourceText> &sources,
                                           const std::string &file, int line) {
  for (const SourceText &source : sources) {
    if (source.file != file || line < source.firstLine)
      continue;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(source.text).split(lines, '\n');
    if (size_t(line - source.firstLine) < lines.size())
      return lines[line - source.firstLine].str();
  }
  return std::nullopt;
}

/// The characters of a line in UTF-8: the bytes after a first one are 10xxxxxx.
static std::vector<llvm::StringRef> charactersOf(llvm::StringRef line) {
  std::vector<llvm::StringRef> characters;
  for (size_t begin = 0, end; begin < line.size(); begin = end) {
    for (end = begin + 1; end < line.size() && (line[end] & 0xC0) == 0x80;)
      ++end;
    characters.push_back(line.slice(begin, end));
  }
  return characters;
}

/// Columns of a terminal that a character takes: two for most of East Asia, none for accents.
static int widthOf(llvm::StringRef character) {
  int width = llvm::sys::unicode::columnWidthUTF8(character);
  return width < 0 ? 1 : width;
}

/// Quotes the label's first line with carets under its span.
static void renderLabel(llvm::raw_ostream &os, const SourceLabel &label, bool isPrimary,
                        unsigned margin, const std::vector<SourceText> &sources) {
  const SourceSpan &span = label.span;
  std::optional<std::string> line = findLine(sources, span.file, span.line);
  if (!line) {
    if (!label.text.empty())
      os << std::string(margin, ' ') << " = " << label.text << "\n";
    return;
  }
  std::vector<llvm::StringRef> characters = charactersOf(*line);
  size_t first = std::min<size_t>(std::max(0, span.column - 1), characters.size());
  size_t end = span.endLine == span.line ? std::max(0, span.endColumn - 1) : characters.size();
  int width = 0;
  for (size_t i = first; i < std::min(end, characters.size()); ++i)
    width += widthOf(characters[i]);
  std::string indent;
  for (llvm::StringRef character : llvm::ArrayRef(characters).take_front(first))
    indent += character == "\t" ? "\t" : std::string(widthOf(character), ' ');
  std::string number = std::to_string(span.line);
  os << std::string(margin - number.size(), ' ') << number << " | " << *line << "\n";
  os << std::string(margin, ' ') << " | " << indent
     << std::string(std::max(1, width), isPrimary ? '^' : '-');
  os << (label.text.empty() ? "" : " " + label.text) << "\n";
}

llvm::StringRef tw::nameOf(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  }
  return "error";
}

/// Writes out the control characters of a text but tabs and line ends, as \x1b: names of files and
/// texts of kernels may have some, and a terminal would obey them. Also those of Unicode, which
/// UTF-8 has as c2 80 to c2 9f, and its signs for the direction of writing (e2 80 aa to e2 80 ae,
/// e2 81 a6 to e2 81 a9), which hide what stands where.
static std::string withVisibleControls(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  while (!text.empty()) {
    unsigned char first = text[0];
    bool isControl = (first < 0x20 && first != '\t' && first != '\n') || first == 0x7f;
    size_t length = 1;
    if (text.starts_with("\xc2") && text.size() > 1 && (text[1] & 0xe0) == 0x80)
      length = 2;
    else if (text.size() > 2 &&
             ((text.starts_with("\xe2\x80") && text[2] >= '\xaa' && text[2] <= '\xae') ||
              (text.starts_with("\xe2\x81") && text[2] >= '\xa6' && text[2] <= '\xa9')))
      length = 3;
    if (!isControl && length == 1)
      os << text[0];
    else if (length == 3)
      os << llvm::formatv("\\u20{0:x-2}", (text[1] & 1) << 6 | (text[2] & 0x3f));
    else
      os << llvm::formatv("\\x{0:x-2}", length == 2 ? text[1] & 0xff : first);
    text = text.drop_front(length);
  }
  return result;
}

std::string tw::renderDiagnostic(const Diagnostic &diagnostic,
                                 const std::vector<SourceText> &sources) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << nameOf(diagnostic.severity) << "[" << codeName(diagnostic.code)
     << "]: " << diagnostic.message << "\n";
  int largestLine = 1;
  for (const auto *labels : {&diagnostic.labels, &diagnostic.callStack})
    for (const SourceLabel &label : *labels)
      largestLine = std::max(largestLine, label.span.line);
  unsigned margin = std::to_string(largestLine).size();
  bool isPrimary = true;
  for (const SourceLabel &label : diagnostic.labels) {
    if (isPrimary && label.span.isKnown())
      os << std::string(margin, ' ')
         << llvm::formatv("--> {0}:{1}:{2}\n", label.span.file, label.span.line, label.span.column);
    renderLabel(os, label, isPrimary, margin, sources);
    isPrimary = false;
  }
  for (const SourceLabel &call : diagnostic.callStack) {
    os << std::string(margin, ' ')
       << llvm::formatv("::: {0}:{1}:{2}\n", call.span.file, call.span.line, call.span.column);
    renderLabel(os, call, false, margin, sources);
  }
  if (!diagnostic.hint.empty())
    os << std::string(margin, ' ') << " = hint: " << diagnostic.hint << "\n";
  return withVisibleControls(text);
}

/// MLIR's metadata of a diagnostic: nobody else gives any.
static mlir::InFlightDiagnostic withCode(mlir::InFlightDiagnostic diagnostic, Code code) {
  mlir::Diagnostic &contents = *diagnostic.getUnderlyingDiagnostic();
  contents.getMetadata().push_back(mlir::DiagnosticArgument(static_cast<int>(code)));
  return diagnostic;
}

mlir::InFlightDiagnostic tw::emitCoded(mlir::Location location, Code code) {
  return withCode(mlir::emitError(location), code);
}

mlir::InFlightDiagnostic tw::emitCoded(mlir::Operation *op, Code code) {
  return withCode(op->emitError(), code);
}

mlir::InFlightDiagnostic tw::emitCodedRemark(mlir::Operation *op, Code code) {
  return withCode(op->emitRemark(), code);
}

std::optional<Code> tw::codeOf(mlir::Diagnostic &diagnostic) {
  for (const mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Integer)
      return static_cast<Code>(argument.getAsInteger());
  return std::nullopt;
}

static constexpr llvm::StringLiteral kLibrary = "tile.library";

mlir::Location tw::markLibrary(mlir::Location location) {
  return mlir::NameLoc::get(mlir::StringAttr::get(location.getContext(), kLibrary), location);
}

static bool isInLibrary(mlir::Location location) {
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location))
    return isInLibrary(call.getCallee());
  auto name = llvm::dyn_cast<mlir::NameLoc>(location);
  return name && name.getName() == kLibrary;
}

SourceSpan tw::spanOf(mlir::Location location) {
  return llvm::TypeSwitch<mlir::Location, SourceSpan>(location)
      .Case<mlir::FileLineColRange>([](mlir::FileLineColRange range) {
        return SourceSpan{range.getFilename().str(), int(range.getStartLine()),
                          int(range.getStartColumn()), int(range.getEndLine()),
                          int(range.getEndColumn())};
      })
      .Case<mlir::CallSiteLoc>([](mlir::CallSiteLoc call) { return spanOf(call.getCallee()); })
      .Case<mlir::NameLoc>([](mlir::NameLoc name) { return spanOf(name.getChildLoc()); })
      .Case<mlir::FusedLoc>([](mlir::FusedLoc fused) {
        for (mlir::Location part : fused.getLocations())
          if (SourceSpan span = spanOf(part); span.isKnown())
            return span;
        return SourceSpan();
      })
      .Default([](mlir::Location) { return SourceSpan(); });
}

std::vector<SourceLabel> tw::callStackOf(mlir::Location location) {
  std::vector<SourceLabel> stack;
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(location))
    return callStackOf(name.getChildLoc());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location))
    return fused.getLocations().empty() ? stack : callStackOf(fused.getLocations().front());
  auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location);
  if (!call)
    return stack;
  stack = callStackOf(call.getCallee());
  bool isLibrary = isInLibrary(call.getCaller());
  stack.push_back({spanOf(call.getCaller()), isLibrary ? kInLibrary.str() : "called from here"});
  std::vector<SourceLabel> outer = callStackOf(call.getCaller());
  llvm::append_range(stack, outer);
  return stack;
}
