// The assembler as a program, run without a shell.
#include "backend/nvidia/assemble/PtxasProgram.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <thread>

using namespace tw;

namespace {
/// A directory that only this user may look into, removed with what is in it: kernels may be
/// secret, and another user must not be able to put a file in the output's place.
struct PrivateDirectory {
  PrivateDirectory() {
    llvm::SmallString<128> name;
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, name);
    llvm::sys::path::append(name, "tilewright-XXXXXX");
    path = name.str().str();
    if (!::mkdtemp(path.data()))
      path.clear();
  }
  ~PrivateDirectory() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  PrivateDirectory(const PrivateDirectory &) = delete;
  std::string file(const char *name) const { return path + "/" + name; }

  std::string path; // empty where none could be made
};
} // namespace

static std::string readFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Writes the program's input.
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

static constexpr std::chrono::seconds kLongestRun(120);

/// Runs a program to its end, unless it takes too long or nobody waits for it any longer. LLVM's
/// own wait with a limit would take the process's alarm clock.
static int runProgram(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
                      llvm::ArrayRef<std::optional<llvm::StringRef>> redirects,
                      std::string &error) {
  auto deadline = std::chrono::steady_clock::now() + kLongestRun;
  bool hasFailed = false;
  llvm::sys::ProcessInfo child = llvm::sys::ExecuteNoWait(
      program, arguments, std::nullopt, redirects, /*MemoryLimit=*/0, &error, &hasFailed);
  if (hasFailed)
    return -1;
  auto pause = std::chrono::microseconds(200);
  while (true) {
    llvm::sys::ProcessInfo ended = llvm::sys::Wait(child, /*SecondsToWait=*/0, &error);
    if (ended.Pid != 0)
      return ended.ReturnCode;
    bool isLate = std::chrono::steady_clock::now() > deadline;
    if (isLate || givesUp()) {
      (void)::kill(child.Pid, SIGKILL);
      (void)llvm::sys::Wait(child, std::nullopt, &error);
      error = isLate ? "it ran for more than two minutes; " : "interrupted; ";
      return -2;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
}

bool nvidia::assembleWithPtxas(const std::string &ptx, const std::string &arch,
                               const std::string &path, AssembledPtx &result, std::string &error) {
  error.clear();
  PrivateDirectory directory;
  if (directory.path.empty()) {
    error = "no temporary directory for ptxas: " + std::string(strerror(errno));
    return false;
  }
  const std::string input = directory.file("kernel.ptx"), output = directory.file("kernel.cubin"),
                    log = directory.file("log");
  if (!writeFile(input, ptx, error))
    return false;
  std::string archOption = "-arch=" + arch;
  llvm::StringRef arguments[] = {path, archOption, "-v", input, "-o", output};
  std::optional<llvm::StringRef> redirects[] = {"", llvm::StringRef(log), llvm::StringRef(log)};
  int status = runProgram(path, arguments, redirects, error);
  result.log = readFile(log);
  result.cubin = status == 0 ? readFile(output) : "";
  if (holdsMachineCode(result.cubin)) {
    return true;
  }
  result.cubin.clear();
  if (status == 0)
    error = "its output is not machine code. ";
  error = path + " failed (status " + std::to_string(status) + "): " + error + result.log;
  return false;
}
