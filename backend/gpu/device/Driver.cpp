// The library of a GPU's driver: opened when it is first needed and never linked.
#include "backend/gpu/device/Driver.h"
#include <dlfcn.h>

using namespace tw;
using namespace tw::gpu;

void *SymbolLookup::find(const std::string &symbol) {
  void *found = dlsym(library, symbol.c_str());
  if (!found && missing.empty())
    missing = symbol;
  return found;
}

static RuntimeError missingLibrary(const DriverKind &kind, const char *reason) {
  return {RuntimeError::Kind::Device, Code::NoDriver,
          std::string("the ") + kind.platform +
              " driver cannot be opened: " + (reason ? reason : "unknown reason"),
          kind.installHint};
}

static RuntimeError missingFunction(const Driver &driver, const std::string &name) {
  const DriverKind &kind = *driver.kind;
  std::string platform = std::string(" of ") + kind.platform + " ";
  std::string version = driver.version > 0 ? platform + kind.versionText(driver.version) : "";
  return {RuntimeError::Kind::Device, Code::DriverMismatch,
          "the driver" + version + " (" + driver.library + ") has no function " + name,
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
  if (lookup.missing.empty())
    return true;
  error = missingFunction(driver, lookup.missing);
  return false;
}

std::shared_ptr<const Driver> gpu::openDriver(const DriverKind &kind, const std::string &path,
                                              RuntimeError &error) {
  auto driver = std::make_shared<Driver>();
  driver->kind = &kind;
  driver->library = path.empty() ? kind.library : path;
  void *library = dlopen(driver->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = missingLibrary(kind, dlerror());
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
  error = describeFailure(*driver, failure);
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
static std::string nameOf(const Driver &driver, DriverResult result) {
  const char *name = nullptr;
  if (driver.call.errorName.function && driver.call.errorName(result, &name) == kSuccess && name)
    return name;
  return "error " + std::to_string(result);
}

/// The driver's own words, for errors that have no row.
static std::string textOf(const Driver &driver, DriverResult result) {
  const char *text = nullptr;
  if (driver.call.errorText.function && driver.call.errorText(result, &text) == kSuccess && text)
    return text;
  return driver.kind->failures.other.meaning;
}

RuntimeError gpu::describeFailure(const Driver &driver, const DriverFailure &failure) {
  const FailureTable &table = driver.kind->failures;
  const FailureRow &row = rowOf(table, failure.result);
  std::string meaning =
      &row == &table.other ? textOf(driver, failure.result) : std::string(row.meaning);
  std::string call = nameOf(driver, failure.result) + " from " + failure.function + ", " +
                     failure.action + ", driver of " + driver.kind->platform + " " +
                     driver.kind->versionText(driver.version);
  return describeFailure(table, row, failure, meaning, call);
}
