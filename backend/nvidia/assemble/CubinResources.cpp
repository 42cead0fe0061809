// Reads machine code: what a kernel uses of a GPU, and what made the code.
#include "backend/nvidia/assemble/CubinResources.h"
#include "backend/nvidia/assemble/Assemblers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Regex.h"

using namespace tw;

/// Attributes of functions in the section .nv.info: pairs of 32-bit words, a symbol's number and
/// the value. Names and numbers as `cuobjdump --dump-elf` prints them.
static constexpr uint8_t kFormatPair = 0x04, kRegisterCount = 0x2f, kFrameBytes = 0x11;

/// Calls `visit(attribute, symbol, value)` for the attributes of functions.
static void forEachFunctionAttribute(llvm::StringRef bytes,
                                     llvm::function_ref<void(uint8_t, uint32_t, uint32_t)> visit) {
  while (bytes.size() >= 4) {
    uint8_t format = bytes[0], attribute = bytes[1];
    uint16_t size = llvm::support::endian::read16le(bytes.data() + 2);
    bytes = bytes.drop_front(4);
    if (format != kFormatPair)
      continue; // the value is in the two bytes that others use for the size
    if (size > bytes.size())
      return;
    if (size == 8)
      visit(attribute, llvm::support::endian::read32le(bytes.data()),
            llvm::support::endian::read32le(bytes.data() + 4));
    bytes = bytes.drop_front(size);
  }
}

/// The number of the symbol in the file's table; 0 is not a symbol.
static uint32_t findSymbol(const llvm::object::ELF64LEObjectFile &file, llvm::StringRef name) {
  for (const llvm::object::ELFSymbolRef &symbol : file.symbols()) {
    llvm::Expected<llvm::StringRef> found = symbol.getName();
    if (!found)
      llvm::consumeError(found.takeError());
    else if (*found == name)
      return symbol.getRawDataRefImpl().d.b;
  }
  return 0;
}

/// Bytes that registers took in memory, both ways, from "8 bytes spill stores, 12 bytes spill
/// loads".
static void readSpills(llvm::StringRef log, std::map<std::string, int64_t> &resources) {
  resources.erase("spill_bytes"); // of the text that an override replaced
  llvm::Regex pattern("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  llvm::SmallVector<llvm::StringRef> parts;
  while (pattern.match(log, &parts)) {
    int64_t stores = 0, loads = 0;
    parts[1].getAsInteger(10, stores);
    parts[2].getAsInteger(10, loads);
    resources["spill_bytes"] += stores + loads;
    log = log.drop_front(parts[0].end() - log.begin());
  }
}

/// Reads what the attributes of the kernel's symbol say.
static void readAttributes(llvm::StringRef attributes, uint32_t symbol,
                           std::map<std::string, int64_t> &resources) {
  forEachFunctionAttribute(attributes, [&](uint8_t attribute, uint32_t of, uint32_t value) {
    if (of == symbol && attribute == kRegisterCount)
      resources["registers"] = value;
    else if (of == symbol && attribute == kFrameBytes)
      resources["stack_bytes"] = value;
  });
}

/// Calls `visit(name, contents, bytes)` for the sections of machine code that can be read. Sections
/// of bytes that are not in the file have no contents.
static void
forEachSection(const llvm::object::ELF64LEObjectFile &file,
               llvm::function_ref<void(llvm::StringRef, llvm::StringRef, uint64_t)> visit) {
  for (const llvm::object::ELFSectionRef section : file.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (name && contents) {
      visit(*name, *contents, section.getSize());
      continue;
    }
    llvm::consumeError(name.takeError());
    llvm::consumeError(contents.takeError());
  }
}

void nvidia::readCubin(const std::string &log, Artifact &artifact) {
  artifact.codeBytes = 0;
  readSpills(log, artifact.resources);
  auto file =
      llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(artifact.assembled, "kernel"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  uint32_t symbol = findSymbol(*file, artifact.symbol);
  forEachSection(*file, [&](llvm::StringRef name, llvm::StringRef contents, uint64_t bytes) {
    if (name == ".text." + artifact.symbol)
      artifact.codeBytes = bytes;
    else if (name == ".nv.shared." + artifact.symbol)
      artifact.resources["static_shared_bytes"] = int64_t(bytes);
    else if (name == ".nv.info")
      readAttributes(contents, symbol, artifact.resources);
  });
}

std::string nvidia::readAssembler(const std::string &cubin) {
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(cubin, "kernel"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return "";
  }
  std::string result;
  forEachSection(*file, [&](llvm::StringRef name, llvm::StringRef note, uint64_t) {
    // Strings "ptxas" and "Cuda compilation tools, release 13.0, V13.0.88"; the library's own come
    // before those of the ptxas in it.
    std::string version = name == ".note.nv.tkinfo" ? findToolsVersion(note) : "";
    if (!version.empty())
      result = (note.contains("nvJIT API") ? "nvJitLink " : "ptxas ") + version;
  });
  return result;
}

std::vector<std::string> nvidia::findRoutines(const std::string &cubin) {
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(cubin, "kernel"));
  std::vector<std::string> names;
  if (file)
    forEachSection(*file, [&](llvm::StringRef name, llvm::StringRef, uint64_t) {
      if (name.consume_front(".text.") && name.starts_with("__cuda_sm"))
        names.push_back(name.str());
    });
  else
    llvm::consumeError(file.takeError());
  return names;
}

bool nvidia::holdsMachineCode(const std::string &cubin) {
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(cubin, "kernel"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  bool hasCode = false;
  for (const llvm::object::SectionRef &section : file->sections()) {
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (!contents) {
      llvm::consumeError(contents.takeError());
      return false;
    }
    hasCode |= section.isText() && !contents->empty();
  }
  return hasCode && file->getELFFile().getHeader().e_machine == llvm::ELF::EM_CUDA;
}
