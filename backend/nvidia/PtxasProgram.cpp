// The assembler as a program, run without a shell.
#include "backend/nvidia/PtxasProgram.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw;

std::string tw::nvidia::findPtxas(const std::string &path) {
  if (!path.empty())
    return llvm::sys::fs::can_execute(path) ? path : "";
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const char *usual : {"/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas"})
    if (llvm::sys::fs::can_execute(usual))
      return usual;
  return "";
}

/// A file of this process's own that is removed at the end.
static bool makeTemporaryFile(const char *suffix, llvm::SmallString<128> &path,
                              std::string &error) {
  std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright", suffix, path);
  if (code)
    error = "no temporary file for ptxas: " + code.message();
  return !code;
}

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Writes the program's input; an early return removes it.
static bool writeFile(llvm::StringRef path, const std::string &text, std::string &error) {
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  file << text;
  file.close();
  if (!code && !file.has_error())
    return true;
  file.clear_error();
  error = "the temporary file for ptxas cannot be written";
  return false;
}

bool tw::nvidia::assembleWithProgram(const std::string &ptx, const std::string &arch,
                                     const std::string &path, AssembledPtx &result,
                                     std::string &error) {
  error.clear();
  std::string program = findPtxas(path);
  if (program.empty())
    return false;
  llvm::SmallString<128> input, output, log;
  if (!makeTemporaryFile("ptx", input, error))
    return false;
  llvm::FileRemover removeInput(input);
  if (!makeTemporaryFile("cubin", output, error))
    return false;
  llvm::FileRemover removeOutput(output);
  if (!makeTemporaryFile("log", log, error))
    return false;
  llvm::FileRemover removeLog(log);
  if (!writeFile(input, ptx, error))
    return false;
  std::string archOption = "-arch=" + arch;
  llvm::StringRef arguments[] = {program, archOption, "-v", input, "-o", output};
  std::optional<llvm::StringRef> redirects[] = {"", llvm::StringRef(log), llvm::StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/120, /*MemoryLimit=*/0, &error);
  result.log = readFile(log);
  result.cubin = status == 0 ? readFile(output) : "";
  if (!result.cubin.empty()) {
    result.assembler = "ptxas";
    return true;
  }
  error = "ptxas failed (status " + std::to_string(status) + "): " + error + result.log;
  return false;
}
