// The library of a GPU's driver: opened when it is first needed and never linked.
#include "backend/gpu/device/Driver.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

using namespace tw;
using namespace tw::gpu;

void *SymbolLookup::find(const std::string &symbol) {
  void *found = dlsym(library, symbol.c_str());
  if (!found && missing.empty())
    missing = symbol;
  return found;
}

bool SymbolLookup::has(const char *name) const { return dlsym(library, name) != nullptr; }

static RuntimeError missingLibrary(const DriverKind &kind, const std::string &reason) {
  return {RuntimeError::Kind::Device, Code::NoDriver,
          std::string("the ") + kind.platform +
              " driver cannot be opened: " + (reason.empty() ? "unknown reason" : reason),
          kind.installHint};
}

/// The path of a library that the process has loaded, by the beginning of its file's name; "" if
/// it has none. Frameworks bring a driver of their own, and two in one process do not know each
/// other's memory.
static std::string findLoaded(std::string_view name) {
  std::pair<std::string_view, std::string> search(name, "");
  auto visit = [](dl_phdr_info *object, size_t, void *data) {
    auto &[name, found] = *static_cast<std::pair<std::string_view, std::string> *>(data);
    std::string_view path = object->dlpi_name;
    if (path.substr(path.rfind('/') + 1).starts_with(name))
      found = path;
    return int(!found.empty());
  };
  dl_iterate_phdr(visit, &search);
  return search.second;
}

void *gpu::openLibrary(std::span<const char *const> known, std::string &path, std::string &reason) {
  if (path.empty())
    path = findLoaded(known.back());
  std::vector<std::string> names;
  if (path.empty())
    names.assign(known.begin(), known.end());
  else
    names.push_back(path);
  for (const std::string &name : names) {
    path = name;
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    // A library that is there and cannot be loaded says more than one that is missing.
    const char *words = dlerror();
    if (words && (reason.empty() || !std::string_view(words).starts_with(name + ": cannot open")))
      reason = words;
  }
  if (names.size() > 1)
    reason += " (tried " + llvm::join(names, ", ") + ")";
  return nullptr;
}

/// A driver that is too old, or has no function `name`.
static RuntimeError unsuitable(const Driver &driver, const std::string &name) {
  const DriverKind &kind = *driver.kind;
  std::string platform = std::string(" of ") + kind.platform + " ";
  std::string version = driver.version > 0 ? platform + kind.versionText(driver.version) : "";
  return {RuntimeError::Kind::Device, Code::DriverMismatch,
          "the driver" + version + " (" + driver.library + ") " +
              (name.empty() ? "is too old" : "has no function " + name),
          "install a driver" + platform + kind.versionText(kind.neededVersion) + " or newer"};
}

/// Binds every function; false with `error` when one is missing.
static bool bindAll(void *library, Driver &driver, RuntimeError &error) {
  SymbolLookup lookup{library, ""};
  // First of all the version, which the report of anything missing names.
  driver.kind->bindVersion(lookup, driver.call);
  if (driver.call.driverVersion.function && driver.call.driverVersion(&driver.version) != kSuccess)
    driver.version = 0;
  driver.kind->bind(lookup, driver.call);
  bool isOld = driver.version > 0 && driver.version < driver.kind->oldestVersion;
  if (lookup.missing.empty() && !isOld)
    return true;
  error = unsuitable(driver, lookup.missing);
  return false;
}

/// Why a file does not open for reading and writing; 0 where it does.
static int failureToOpen(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return errno;
  close(file);
  return 0;
}

static bool isRefused(int failure) { return failure == EACCES || failure == EPERM; }

/// Returns true if there are files of single GPUs, and all of them are refused to this user.
static bool areFilesOfGpusRefused(const DriverKind &kind) {
  glob_t found = {};
  if (!kind.filesOfGpus || glob(kind.filesOfGpus, GLOB_NOSORT, nullptr, &found) != 0) {
    globfree(&found);
    return false;
  }
  bool areRefused = found.gl_pathc != 0;
  for (size_t index = 0; index < found.gl_pathc; ++index)
    areRefused &= isRefused(failureToOpen(found.gl_pathv[index]));
  globfree(&found);
  return areRefused;
}

/// The row of a failure at opening: where there is no GPU, the file of the device may tell why.
static const FailureRow &rowOfOpening(const DriverKind &kind, DriverResult result) {
  const FailureRow &row = rowOf(kind.failures, result);
  if (row.code != Code::NoGpu || !kind.deviceFile)
    return row;
  int failure = failureToOpen(kind.deviceFile);
  if (isRefused(failure))
    return *kind.withoutPermission;
  if (failure == ENOENT)
    return *kind.withoutFile;
  return failure == 0 && areFilesOfGpusRefused(kind) ? *kind.withoutFilesOfGpus : row;
}

std::shared_ptr<const Driver> gpu::openDriver(const DriverKind &kind, const std::string &path,
                                              RuntimeError &error) {
  auto driver = std::make_shared<Driver>();
  driver->kind = &kind;
  driver->library = path;
  std::string reason;
  void *library = openLibrary(kind.libraries, driver->library, reason);
  if (!library) {
    error = missingLibrary(kind, reason);
    return nullptr;
  }
  if (!bindAll(library, *driver, error))
    return nullptr;
  DriverFailure failure;
  failure.device = std::string("the ") + kind.platform + " driver";
  failure.action = "opening " + driver->library;
  failure.function = driver->call.init.name;
  failure.result = driver->call.init(0);
  if (failure.result == kSuccess) {
    failure.function = driver->call.deviceCount.name;
    failure.result = driver->call.deviceCount(&driver->numDevices);
  }
  if (failure.result == kSuccess && driver->numDevices == 0)
    failure.result = kNoDevice;
  if (failure.result == kSuccess)
    return driver;
  error = describeFailure(*driver, failure, rowOfOpening(kind, failure.result));
  return nullptr;
}

std::shared_ptr<const Driver> SharedDriver::get(const DriverKind &kind, const std::string &path,
                                                bool opens, RuntimeError &error) {
  std::lock_guard lock(mutex);
  if (!driver && opens)
    driver = openDriver(kind, path, error);
  return driver;
}

/// "CUDA_ERROR_ILLEGAL_ADDRESS", or the number where the driver has no name for it.
static std::string nameOfResult(const Driver &driver, DriverResult result) {
  const char *name = nullptr;
  if (driver.call.nameOfError.function)
    name = driver.call.nameOfError.function(result);
  else if (!driver.call.errorName.function || driver.call.errorName(result, &name) != kSuccess)
    name = nullptr;
  if (name)
    return name;
  return "error " + std::to_string(result);
}

/// The driver's own words, for errors that have no row.
static std::string textOf(const Driver &driver, DriverResult result) {
  const char *text = nullptr;
  if (driver.call.textOfError.function)
    text = driver.call.textOfError.function(result);
  else if (!driver.call.errorText.function || driver.call.errorText(result, &text) != kSuccess)
    text = nullptr;
  if (text)
    return text;
  return driver.kind->failures.other.meaning;
}

RuntimeError gpu::describeFailure(const Driver &driver, const DriverFailure &failure,
                                  const FailureRow &row) {
  const FailureTable &table = driver.kind->failures;
  std::string meaning =
      &row == &table.other ? textOf(driver, failure.result) : std::string(row.meaning);
  std::string call = nameOfResult(driver, failure.result) + " from " + failure.function + ", " +
                     failure.action + ", driver of " + driver.kind->platform + " " +
                     driver.kind->versionText(driver.version);
  return describeFailure(table, row, failure, meaning, call);
}
