// Code objects (HSACO): linking one, and reading what it says of its kernel.
#include "backend/amd/codegen/CodeObject.h"
#include "backend/codegen/LlvmRegistry.h"
#include "lld/Common/Driver.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tw;

LLD_HAS_DRIVER(elf)

namespace {
/// A temporary file, gone at the end.
struct TemporaryFile {
  SmallString<128> path;
  ~TemporaryFile() {
    if (!path.empty())
      sys::fs::remove(path);
  }
  bool create(StringRef suffix, std::string &error) {
    if (std::error_code code = sys::fs::createTemporaryFile("tilewright", suffix, path)) {
      error = "a temporary file cannot be made: " + code.message();
      return false;
    }
    return true;
  }
};
} // namespace

static bool writeFile(StringRef path, StringRef bytes, std::string &error) {
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    error = (path + " cannot be written: " + code.message()).str();
  return !code;
}

/// Runs the linker, whose state is the process's: one thread at a time.
static bool runLinker(StringRef input, StringRef output, std::string &error) {
  std::lock_guard lock(llvmOptionsLock());
  std::string messages;
  raw_string_ostream stream(messages);
  std::string in = input.str(), out = output.str();
  const char *arguments[] = {"ld.lld", "-shared", "--threads=1", in.c_str(), "-o", out.c_str()};
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    error = "the linker of code objects failed: " + messages;
  return result.retCode == 0;
}

bool tw::amd::linkCodeObject(const std::string &object, std::string &linked, std::string &error) {
  TemporaryFile input, output;
  if (!input.create("o", error) || !output.create("hsaco", error) ||
      !writeFile(input.path, object, error) || !runLinker(input.path, output.path, error))
    return false;
  auto bytes = MemoryBuffer::getFile(output.path);
  if (!bytes) {
    error = "the linked code object cannot be read: " + bytes.getError().message();
    return false;
  }
  linked = (*bytes)->getBuffer().str();
  return true;
}

/// Returns the description of the note that holds the metadata; empty when there is none.
static StringRef metadataOf(const object::ELF64LEFile &file) {
  auto headers = file.program_headers();
  if (!headers) {
    consumeError(headers.takeError());
    return "";
  }
  StringRef found;
  for (const auto &header : *headers) {
    if (header.p_type != ELF::PT_NOTE)
      continue;
    Error problem = Error::success();
    for (const auto &note : file.notes(header, problem))
      if (note.getType() == ELF::NT_AMDGPU_METADATA)
        found = note.getDescAsStringRef(header.p_align);
    consumeError(std::move(problem));
  }
  return found;
}

/// The names of resources here and in the metadata.
static constexpr std::pair<const char *, const char *> kNumbers[] = {
    {"registers", ".vgpr_count"},
    {"accumulation_registers", ".agpr_count"},
    {"scalar_registers", ".sgpr_count"},
    {"spilled_registers", ".vgpr_spill_count"},
    {"spilled_scalars", ".sgpr_spill_count"},
    {"scratch_bytes", ".private_segment_fixed_size"},
    {"argument_bytes", ".kernarg_segment_size"},
    {"warp_size", ".wavefront_size"}};

static bool readKernel(msgpack::MapDocNode kernel, const std::string &symbol,
                       std::map<std::string, int64_t> &resources) {
  msgpack::DocNode &name = kernel[".symbol"];
  if (!name.isString() || name.getString() != symbol + ".kd")
    return false;
  for (auto [resource, key] : kNumbers) {
    msgpack::DocNode &number = kernel[key];
    if (number.getKind() == msgpack::Type::UInt)
      resources[resource] = int64_t(number.getUInt());
    else if (number.getKind() == msgpack::Type::Int)
      resources[resource] = number.getInt();
  }
  resources["spill_bytes"] = 4 * resources["spilled_registers"];
  return true;
}

bool tw::amd::readCodeObject(const std::string &code, const std::string &symbol,
                             std::map<std::string, int64_t> &resources, std::string &error) {
  error = "the code object does not describe its kernel " + symbol;
  auto file = object::ELF64LEFile::create(code);
  if (!file) {
    consumeError(file.takeError());
    return false;
  }
  msgpack::Document document;
  if (!document.readFromBlob(metadataOf(*file), /*Multi=*/false) || !document.getRoot().isMap())
    return false;
  msgpack::DocNode &kernels = document.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray())
    return false;
  for (msgpack::DocNode &kernel : kernels.getArray())
    if (kernel.isMap() && readKernel(kernel.getMap(), symbol, resources)) {
      error.clear();
      return true;
    }
  return false;
}
