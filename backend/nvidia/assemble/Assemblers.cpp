// The assemblers of PTX that a machine has, the best one for an architecture first.
#include "backend/nvidia/assemble/Assemblers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace tw;
using namespace tw::nvidia;

using Kind = Assembler::Kind;

static constexpr const char *kLibraryNames[] = {"libnvJitLink.so.13", "libnvJitLink.so.12",
                                                "libnvJitLink.so"};

static bool isProgram(const Assembler &assembler) { return assembler.kind == Kind::Ptxas; }

/// Moves some before the others, in their order.
static void moveToFront(std::vector<Assembler> &assemblers,
                        llvm::function_ref<bool(const Assembler &)> isFirst) {
  std::vector<Assembler> first, rest;
  for (Assembler &each : assemblers)
    (isFirst(each) ? first : rest).push_back(std::move(each));
  assemblers = std::move(first);
  llvm::append_range(assemblers, rest);
}

static Kind kindOf(llvm::StringRef path) {
  return llvm::sys::path::filename(path).contains(".so") ? Kind::JitLink : Kind::Ptxas;
}

/// Adds a file that can be used, once.
static void addFile(std::vector<Assembler> &found, const llvm::Twine &path) {
  Assembler assembler{kindOf(path.str()), path.str()};
  bool isUsable =
      isProgram(assembler) ? llvm::sys::fs::can_execute(path) : llvm::sys::fs::exists(path);
  if (isUsable && llvm::none_of(found, [&](const Assembler &other) {
        return llvm::sys::fs::equivalent(other.path, assembler.path);
      }))
    found.push_back(std::move(assembler));
}

/// Returns the directories of CUDA toolkits: the usual ones, then others of /usr/local by name.
static std::vector<std::string> findToolkits() {
  std::vector<std::string> usual = {"/usr/local/cuda", "/opt/cuda"}, others;
  std::error_code code;
  llvm::sys::fs::directory_iterator entry("/usr/local", code), end;
  for (; !code && entry != end; entry.increment(code))
    if (llvm::sys::path::filename(entry->path()).starts_with("cuda-"))
      others.push_back(entry->path());
  llvm::sort(others);
  usual.insert(usual.end(), others.begin(), others.end());
  return usual;
}

static void addMachine(std::vector<Assembler> &found) {
  if (llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName("ptxas"))
    addFile(found, *program);
  for (const std::string &toolkit : findToolkits()) {
    addFile(found, toolkit + "/bin/ptxas");
    for (const char *library : kLibraryNames)
      addFile(found, toolkit + "/lib64/" + library);
  }
  for (const char *library : kLibraryNames)
    found.push_back({Kind::JitLink, library});
}

std::vector<Assembler> nvidia::findAssemblers(const AssemblerSettings &settings) {
  std::vector<Assembler> found;
  for (const std::string &path : settings.paths)
    addFile(found, path);
  if (settings.searchesMachine)
    addMachine(found);
  moveToFront(found, isProgram);
  return found;
}

std::string nvidia::findToolsVersion(llvm::StringRef bytes) {
  constexpr llvm::StringLiteral tools = "Cuda compilation tools, release ";
  size_t place = bytes.find(tools);
  if (place == llvm::StringRef::npos)
    return "";
  llvm::StringRef line = bytes.substr(place + tools.size(), 32);
  return line.split(", V")
      .second.take_while([](char c) { return llvm::isDigit(c) || c == '.'; })
      .str();
}

/// Reads the version from the file: asking the program would start a process, and opening a library
/// takes 0.1 s.
static std::string versionOf(const Assembler &assembler) {
  auto file = llvm::MemoryBuffer::getFile(assembler.path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  return file ? findToolsVersion((*file)->getBuffer()) : "";
}

/// Returns 1304 for the version "13.4.10"; 0 for any other text.
static unsigned releaseOf(llvm::StringRef version) {
  unsigned major = 0, minor = 0;
  bool isMalformed = version.consumeInteger(10, major) || !version.consume_front(".") ||
                     version.consumeInteger(10, minor);
  return isMalformed ? 0 : major * 100 + minor;
}

std::vector<Assembler> nvidia::rankAssemblers(std::vector<Assembler> assemblers,
                                              ReleaseRange best) {
  // Libraries stay behind: they serve where there is no program.
  if (best.isBounded() && llvm::count_if(assemblers, isProgram) > 1)
    moveToFront(assemblers, [&](const Assembler &each) {
      return isProgram(each) && best.contains(releaseOf(versionOf(each)));
    });
  return assemblers;
}

std::string nvidia::identifyAssemblers(llvm::ArrayRef<Assembler> assemblers) {
  std::string text;
  for (const Assembler &each : assemblers) {
    llvm::sys::fs::file_status status;
    if (llvm::sys::fs::status(each.path, status))
      continue; // a bare name, of a file that is in no key
    text += llvm::sys::path::filename(each.path).str() + " " + std::to_string(status.getSize()) +
            " " + std::to_string(status.getLastModificationTime().time_since_epoch().count()) + ";";
  }
  return text;
}

std::string nvidia::nameOf(const Assembler &assembler) {
  std::string version = versionOf(assembler), name = isProgram(assembler) ? "ptxas" : "nvJitLink";
  return version.empty() ? name : name + " " + version;
}
