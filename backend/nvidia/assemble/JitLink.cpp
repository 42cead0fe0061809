// NVIDIA's linker library, opened when it is asked for.
#include "backend/nvidia/assemble/JitLink.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"
#include <dlfcn.h>

using namespace tw;
using namespace tw::nvidia;

namespace {
using Handle = void *;

/// The functions of nvJitLink.h that are needed; their symbols carry the library's version.
struct JitLinkFunctions {
  int (*create)(Handle *, uint32_t, const char *const *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinBytes)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorBytes)(Handle, size_t *) = nullptr;
  int (*errors)(Handle, char *) = nullptr;
  int (*infoBytes)(Handle, size_t *) = nullptr;
  int (*infos)(Handle, char *) = nullptr;
  int (*destroy)(Handle *) = nullptr;
};

// Values of nvJitLinkInputType and nvJitLinkResult.
constexpr int kInputPtx = 2, kSuccess = 0, kUnrecognizedArch = 16, kUnsupportedArch = 17;
} // namespace

template <typename Function>
static bool bindSymbol(void *library, const std::string &suffix, const char *name,
                       Function &function) {
  function = reinterpret_cast<Function>(
      dlsym(library, ("__nvJitLink" + std::string(name) + suffix).c_str()));
  return function;
}

/// Binds all functions at the newest version that the library has.
static bool bindAll(void *library, JitLinkFunctions &f) {
  for (int major : {13, 12})
    for (int minor = 19; minor >= 0; --minor) {
      std::string suffix = "_" + std::to_string(major) + "_" + std::to_string(minor);
      if (!bindSymbol(library, suffix, "Create", f.create))
        continue;
      return bindSymbol(library, suffix, "AddData", f.addData) &&
             bindSymbol(library, suffix, "Complete", f.complete) &&
             bindSymbol(library, suffix, "GetLinkedCubinSize", f.cubinBytes) &&
             bindSymbol(library, suffix, "GetLinkedCubin", f.cubin) &&
             bindSymbol(library, suffix, "GetErrorLogSize", f.errorBytes) &&
             bindSymbol(library, suffix, "GetErrorLog", f.errors) &&
             bindSymbol(library, suffix, "GetInfoLogSize", f.infoBytes) &&
             bindSymbol(library, suffix, "GetInfoLog", f.infos) &&
             bindSymbol(library, suffix, "Destroy", f.destroy);
    }
  return false;
}

/// Opens the library. It stays open until the process ends: opening it takes 0.1 s, and a second
/// time nothing.
static bool openJitLink(const std::string &path, JitLinkFunctions &functions) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library && bindAll(library, functions);
}

/// Reads one of the library's logs, which end in zeros.
static std::string readLog(Handle handle, int (*bytes)(Handle, size_t *),
                           int (*read)(Handle, char *)) {
  size_t size = 0;
  if (bytes(handle, &size) != kSuccess || size == 0)
    return "";
  std::string text(size, '\0');
  if (read(handle, text.data()) != kSuccess)
    return "";
  return llvm::StringRef(text).rtrim('\0').str();
}

bool tw::nvidia::assembleWithJitLink(const std::string &ptx, const std::string &arch,
                                     const std::string &path, AssembledPtx &result,
                                     std::string &error) {
  error.clear();
  JitLinkFunctions link;
  if (!openJitLink(path, link))
    return false;
  std::string archOption = "-arch=" + arch;
  const char *options[] = {archOption.c_str(), "-O3", "-verbose"};
  Handle handle = nullptr;
  int status = link.create(&handle, 3, options);
  if (status == kUnrecognizedArch || status == kUnsupportedArch)
    return false;
  if (status != kSuccess) {
    error = "nvJitLink rejects its options (code " + std::to_string(status) + ")";
    return false;
  }
  llvm::scope_exit destroy([&] { link.destroy(&handle); });
  status = link.addData(handle, kInputPtx, ptx.data(), ptx.size(), "kernel");
  if (status == kSuccess)
    status = link.complete(handle);
  size_t bytes = 0;
  if (status != kSuccess || link.cubinBytes(handle, &bytes) != kSuccess || bytes == 0) {
    error = readLog(handle, link.errorBytes, link.errors);
    if (error.empty())
      error = "nvJitLink failed (code " + std::to_string(status) + ")";
    return false;
  }
  result.cubin.resize(bytes);
  link.cubin(handle, result.cubin.data());
  result.log = readLog(handle, link.infoBytes, link.infos);
  return true;
}
