// Writes what each pass of a compilation makes of a kernel, as numbered files of one directory.
#include "backend/compile/PassDumps.h"
#include "backend/compile/Stages.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tw;

static constexpr size_t kKeyDigits = 12;

std::string tw::fileNameOf(llvm::StringRef kernel) {
  std::string name;
  for (char character : kernel)
    name += llvm::isAlnum(character) ? character : '_';
  return name;
}

/// Removes the numbered files of an earlier compilation: its passes may have had other numbers.
static void removeNumbered(const std::string &directory) {
  std::error_code error;
  std::vector<std::string> files;
  for (llvm::sys::fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(entry->path());
    size_t numDigits = name.find_first_not_of("0123456789");
    if (numDigits >= 2 && name.substr(numDigits).starts_with("-"))
      files.push_back(entry->path());
  }
  for (const std::string &file : files)
    llvm::sys::fs::remove(file);
}

PassDumps::PassDumps(const DebugSettings &debug, llvm::StringRef kernel,
                     std::vector<Diagnostic> &diagnostics, bool isNew)
    : printsLocations(debug.printsLocations), diagnostics(diagnostics) {
  if (debug.dumpDirectory.empty())
    return;
  std::string name = fileNameOf(kernel);
  if (!debug.key.empty())
    name += "-" + debug.key.substr(0, kKeyDigits);
  directory = debug.dumpDirectory + "/" + name;
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    fail(error);
  else if (isNew)
    removeNumbered(directory);
}

void PassDumps::fail(const std::error_code &error) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::Warning;
  diagnostic.kind = DiagnosticKind::Launch;
  diagnostic.code = Code::UnwrittenDumps;
  diagnostic.message = "cannot write dumps to " + directory + ": " + error.message();
  diagnostics.push_back(std::move(diagnostic));
  directory.clear();
}

void PassDumps::record(unsigned number, llvm::StringRef name, mlir::ModuleOp module) {
  if (!isActive())
    return;
  std::string text = printModule(module, printsLocations);
  if (text == last)
    return;
  write(number, (name + ".mlir").str(), text);
  last = std::move(text);
}

void PassDumps::write(unsigned number, llvm::StringRef fileName, llvm::StringRef text) {
  if (!isActive())
    return;
  std::string path = llvm::formatv("{0}/{1,0+2}-{2}", directory, number, fileName);
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error)
    file << text;
  file.close();
  if (file.has_error())
    error = file.error();
  file.clear_error();
  if (error)
    fail(error);
}
