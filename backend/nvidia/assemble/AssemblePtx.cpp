// From PTX to machine code, by whichever assembler this machine has.
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "backend/compile/ContainCrash.h"
#include "backend/nvidia/assemble/JitLink.h"
#include "backend/nvidia/assemble/PtxasProgram.h"
#include "llvm/Support/FileSystem.h"

using namespace tw;

/// "name <bytes> <nanoseconds>" of a file that is there.
static std::string identifyFile(const char *name, const std::string &path) {
  llvm::sys::fs::file_status status;
  if (path.empty() || llvm::sys::fs::status(path, status))
    return "";
  return std::string(name) + " " + std::to_string(status.getSize()) + " " +
         std::to_string(status.getLastModificationTime().time_since_epoch().count()) + ";";
}

/// The program that is asked for, or all that could be chosen.
static std::string identifyPrograms(const std::string &path) {
  if (!path.empty())
    return identifyFile("ptxas", nvidia::findPtxas(path));
  std::string text;
  for (const std::string &program : nvidia::findEveryPtxas())
    text += identifyFile("ptxas", program);
  return text;
}

std::string tw::identifyAssemblers(const AssemblerSettings &settings) {
  return identifyFile("nvJitLink", nvidia::findJitLink(settings.libraryDirectories)) +
         identifyPrograms(settings.ptxas);
}

bool tw::nvidia::isTooOld(const std::string &log) {
  llvm::StringRef text(log);
  return text.contains("Unsupported .version") || text.contains("unsupported .version") ||
         text.contains("is not defined for option") || text.contains("Unsupported .target");
}

/// The program comes first for its code: the library makes relocatable code, in which shuffles and
/// square roots may call functions, and those calls cost registers (a layer norm: 48, not 32).
bool tw::assemblePtx(const std::string &ptx, const std::string &arch,
                     const AssemblerSettings &settings, AssembledPtx &result, std::string &error) {
  if (nvidia::assembleWithProgram(ptx, arch, settings.ptxas, result, error))
    return true;
  if (wasInterrupted())
    return false;
  std::string programError = nvidia::isTooOld(error) ? "" : error;
  if (nvidia::assembleWithJitLink(ptx, arch, settings.libraryDirectories, result, error))
    return true;
  if (error.empty())
    error = programError;
  return error.empty();
}
