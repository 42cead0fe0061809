// How the double of libamdhip64 reads code objects (LLVM, "User Guide for AMDGPU Backend").
#include "test/unit/hip_double/CodeObjects.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace tw::hip_double;
using tw::driver_double::Function;

/// The bytes of an image, whose end is that of its section headers: linkers write those last.
static StringRef bytesOf(const void *image) {
  const auto *header = static_cast<const ELF::Elf64_Ehdr *>(image);
  if (!StringRef(static_cast<const char *>(image)).starts_with("\177ELF") ||
      header->e_machine != ELF::EM_AMDGPU)
    return "";
  return StringRef(static_cast<const char *>(image),
                   header->e_shoff + size_t(header->e_shnum) * header->e_shentsize);
}

static int64_t numberOf(msgpack::DocNode &node) {
  return node.getKind() == msgpack::Type::UInt  ? int64_t(node.getUInt())
         : node.getKind() == msgpack::Type::Int ? node.getInt()
                                                : 0;
}

static std::unique_ptr<Function> readKernel(msgpack::MapDocNode kernel) {
  auto function = std::make_unique<Function>();
  function->name = kernel[".name"].getString().str();
  function->numRegisters = int(numberOf(kernel[".vgpr_count"]));
  function->maxDynamicSharedBytes = tw::driver_double::state().settings.sharedLimit;
  for (msgpack::DocNode &node : kernel[".args"].getArray(/*Convert=*/true)) {
    msgpack::MapDocNode argument = node.getMap();
    StringRef kind = argument[".value_kind"].getString();
    if (!kind.starts_with("hidden_"))
      function->parameters.push_back({int(numberOf(argument[".size"])), kind == "global_buffer"});
  }
  return function;
}

static void readMetadata(StringRef blob, CodeObject &object) {
  msgpack::Document document;
  if (!document.readFromBlob(blob, /*Multi=*/false) || !document.getRoot().isMap())
    return;
  for (msgpack::DocNode &kernel :
       document.getRoot().getMap()["amdhsa.kernels"].getArray(/*Convert=*/true))
    object.kernels.push_back(readKernel(kernel.getMap()));
}

static void readNotes(const object::ELF64LEFile &file, CodeObject &object) {
  for (const auto &header : cantFail(file.program_headers())) {
    if (header.p_type != ELF::PT_NOTE)
      continue;
    Error problem = Error::success();
    for (const auto &note : file.notes(header, problem))
      if (note.getType() == ELF::NT_AMDGPU_METADATA)
        readMetadata(note.getDescAsStringRef(header.p_align), object);
    cantFail(std::move(problem));
  }
}

CodeObject tw::hip_double::readCodeObject(const void *image) {
  CodeObject object;
  auto file = object::ELF64LEObjectFile::create(MemoryBufferRef(bytesOf(image), ""));
  if (!file) {
    consumeError(file.takeError());
    return object;
  }
  object.arch = file->tryGetCPUName().value_or("").str();
  readNotes(file->getELFFile(), object);
  for (const object::SectionRef &section : file->sections())
    if (cantFail(section.getName()) == ".tilewright.ir")
      object.ir = cantFail(section.getContents()).str();
  for (std::unique_ptr<Function> &kernel : object.kernels)
    kernel->code = object.ir;
  return object;
}
