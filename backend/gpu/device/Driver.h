// The library of a GPU's driver: opened when it is first needed and never linked. What differs
// between makers is data.
#ifndef BACKEND_GPU_DRIVER_H
#define BACKEND_GPU_DRIVER_H
#include "backend/gpu/device/DriverFailures.h"
#include "backend/gpu/device/DriverFunctions.h"
#include "runtime/Artifact.h"
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace tw::gpu {

class GpuContext;

/// Looks functions up in a library and keeps the name of the first one that is missing.
struct SymbolLookup {
  void *library;
  std::string missing;
  DriverResult (*lastFailure)() = nullptr; // which functions that are bound next leave behind

  /// `version` follows the name in the library where it has several functions of that name.
  template <typename... Arguments>
  void bind(const char *name, DriverCall<Arguments...> &call, const char *version = "") {
    call.name = name;
    void *symbol = find(std::string(name) + version);
    call.function = reinterpret_cast<DriverResult (*)(Arguments...)>(symbol);
    call.lastFailure = lastFailure;
  }
  void bind(const char *name, DriverText &call) {
    call.function = reinterpret_cast<const char *(*)(DriverResult)>(find(name));
  }
  /// The same, of a function that may be missing: null then.
  template <typename... Arguments>
  void bindIfAny(const char *name, DriverCall<Arguments...> &call) {
    if (has(name))
      bind(name, call);
  }
  /// The same, of functions that return something else than a result.
  template <typename Function> void bindPlain(const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(find(name));
  }
  /// Returns true if the library has a function; a missing one is not an error.
  bool has(const char *name) const;

private:
  void *find(const std::string &symbol);
};

/// Numbers that the driver gives the facts that are asked for.
struct AttributeNumbers {
  int maxThreads, maxSharedBytes, numProcessors, launchesCooperatively; // of a device
  int functionMaxThreads, functionRegisters, functionSharedBytes;
};

/// A launch as drivers take it.
struct DriverLaunch {
  DriverHandle function;
  std::array<unsigned, 3> grid;
  unsigned numThreads, sharedBytes;
  DriverHandle stream;
  void **parameters;
};

/// A maker's driver.
struct DriverKind {
  const char *platform;     // in reports: "CUDA"
  const char *devicePrefix; // "cuda:"
  /// As the loader finds it where nobody says another path: the first of these that opens. One
  /// whose file's name begins with the last and that is in the process already goes before them.
  std::span<const char *const> libraries;
  const char *installHint;    // where the library cannot be opened
  const char *visibleDevices; // the environment's variable that hides devices
  int neededVersion;
  int oldestVersion; // before which numbers mean something else; refused
  std::string (*versionText)(int version);
  void (*bindVersion)(SymbolLookup &lookup, DriverFunctions &call);
  void (*bind)(SymbolLookup &lookup, DriverFunctions &call);
  FailureTable failures;
  AttributeNumbers attributes;
  /// Shared memory that every kernel may have; more has to be asked for.
  int64_t sharedBytesWithoutRequest;
  uint32_t maxLaterPrograms;      // of a grid along its second and third axis
  uint64_t maxThreadsAlongX = ~0; // of all programs together
  unsigned addressBits = 64;      // of pointers: what code takes an address to be below
  /// Loads the code of an artifact.
  std::optional<RuntimeError> (*loadModule)(GpuContext &context, const Artifact &artifact,
                                            DriverHandle &module);
  /// Writes a tensor map of a launch; null: the platform has none.
  std::optional<RuntimeError> (*encodeTensorMap)(GpuContext &context, const TensorMapRecipe &recipe,
                                                 const TensorMapNumbers &numbers,
                                                 void *bytes) = nullptr;
  /// Launches what may begin before the launches in front of it have ended; null: no kernel may.
  DriverResult (*launchEarly)(const DriverFunctions &call, const DriverLaunch &launch) = nullptr;
  /// The file by which processes reach the GPUs; null: none that is known.
  const char *deviceFile = nullptr;
  /// The reports for a driver that shows no GPU while that file is missing or may not be opened.
  const FailureRow *withoutFile = nullptr, *withoutPermission = nullptr;
  /// A pattern of the files of single GPUs beside it; null: there are none. And what is said where
  /// there are such files and this user may open none of them.
  const char *filesOfGpus = nullptr;
  const FailureRow *withoutFilesOfGpus = nullptr;
};

struct Driver {
  const DriverKind *kind = nullptr;
  DriverFunctions call = {};
  std::string library;
  int version = 0; // of the platform
  int numDevices = 0;
};

/// Opens a driver's library by its path or, where that is empty, by these names as
/// `DriverKind::libraries` says. Null with the loader's words in `reason`, and all names that it
/// was looked for by. `path` becomes its name.
void *openLibrary(std::span<const char *const> names, std::string &path, std::string &reason);

/// Opens and initializes a driver; null with a reason in `error` when there is none, it is too old
/// or it has no GPU. The library, at `path` if that is not empty, stays open until the process
/// ends.
std::shared_ptr<const Driver> openDriver(const DriverKind &kind, const std::string &path,
                                         RuntimeError &error);

/// A driver that is opened when it is first needed, and again where that failed.
class SharedDriver {
public:
  /// Null before it was opened unless `opens`, and with a reason in `error` where it cannot be.
  std::shared_ptr<const Driver> get(const DriverKind &kind, const std::string &path, bool opens,
                                    RuntimeError &error);

private:
  std::mutex mutex; // guards the one below
  std::shared_ptr<const Driver> driver;
};

/// The report of a call that failed.
RuntimeError describeFailure(const Driver &driver, const DriverFailure &failure,
                             const FailureRow &row);

} // namespace tw::gpu
#endif
