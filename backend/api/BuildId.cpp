// The identity of this build of the compiler, a part of every cache key.
#include "backend/api/BuildId.h"
#include "backend/api/CacheKey.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <dlfcn.h>
#include <link.h>

using namespace tw;

namespace {
struct NoteSearch {
  ElfW(Addr) address; // inside the file that is looked for
  std::string buildId;
};
} // namespace

static bool contains(const dl_phdr_info &file, ElfW(Addr) address) {
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = file.dlpi_phdr[i];
    ElfW(Addr) begin = file.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz)
      return true;
  }
  return false;
}

/// Reads the build id out of a segment of notes.
static void readNotes(const char *notes, size_t bytes, std::string &buildId) {
  auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes);
    size_t total = sizeof(*note) + padded(note->n_namesz) + padded(note->n_descsz);
    if (total > bytes)
      return;
    const char *name = notes + sizeof(*note);
    if (note->n_type == NT_GNU_BUILD_ID &&
        llvm::StringRef(name, note->n_namesz) == llvm::StringRef("GNU", 4)) {
      llvm::StringRef id(name + padded(note->n_namesz), note->n_descsz);
      buildId = llvm::toHex(id, /*LowerCase=*/true);
      return;
    }
    notes += total;
    bytes -= total;
  }
}

static int visitFile(dl_phdr_info *file, size_t, void *context) {
  auto &search = *static_cast<NoteSearch *>(context);
  if (!contains(*file, search.address))
    return 0;
  for (int i = 0; i < file->dlpi_phnum && search.buildId.empty(); ++i) {
    const ElfW(Phdr) &segment = file->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      readNotes(reinterpret_cast<const char *>(file->dlpi_addr + segment.p_vaddr), segment.p_memsz,
                search.buildId);
  }
  return 1;
}

/// For a build whose linker wrote no build id: the hash of the file itself.
static std::string hashOwnFile(const void *address) {
  Dl_info place;
  if (!dladdr(address, &place) || !place.dli_fname)
    return {};
  auto file = llvm::MemoryBuffer::getFile(place.dli_fname, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return {};
  return api::hexOf(api::hashBytes({(*file)->getBufferStart(), (*file)->getBufferSize()}));
}

static std::string findBuildId() {
  const void *here = reinterpret_cast<const void *>(&findBuildId);
  NoteSearch search{reinterpret_cast<ElfW(Addr)>(here), {}};
  dl_iterate_phdr(visitFile, &search);
  return search.buildId.empty() ? hashOwnFile(here) : search.buildId;
}

const std::string &api::identifyBuild() {
  static const std::string id = findBuildId();
  return id;
}
