// The GPUs of this machine as targets whose variants are numbers: what the makers share of them.
#include "backend/gpu/device/InstalledGpus.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using namespace tw::gpu;

std::string gpu::firstSetting(const TargetSettings &settings, const char *name) {
  auto found = settings.find(name);
  return found == settings.end() || found->second.empty() ? "" : found->second.front();
}

std::optional<int> gpu::readNumber(const std::string &prefix, const std::string &number,
                                   RuntimeError &error) {
  int index = 0;
  // One spelling for each GPU: "cuda:00" would be another device with the same memory.
  if (llvm::to_integer(number, index, 10) && number == std::to_string(index))
    return index;
  error = {RuntimeError::Kind::Launch, Code::UnknownDevice,
           "there is no device `" + prefix + number + "`",
           "GPUs are called " + prefix + "0, " + prefix + "1, ..."};
  return std::nullopt;
}

std::optional<RuntimeError> gpu::checkNumber(const std::string &prefix, int number, int numDevices,
                                             const std::string &visibleDevices) {
  if (number >= 0 && number < numDevices)
    return std::nullopt;
  std::string shown =
      numDevices == 1
          ? llvm::formatv("one GPU, {0}0", prefix).str()
          : llvm::formatv("{1} GPUs, {0}0 to {0}{2}", prefix, numDevices, numDevices - 1).str();
  return RuntimeError{RuntimeError::Kind::Launch, Code::NoSuchGpu,
                      "there is no GPU " + prefix + std::to_string(number),
                      "the driver shows " + shown + " (see " + visibleDevices + ")"};
}

std::optional<RuntimeError> gpu::checkIndex(const Driver &driver, int index) {
  return checkNumber(driver.kind->devicePrefix, index, driver.numDevices,
                     driver.kind->visibleDevices);
}

static std::optional<TargetEntry> openGpu(SharedDriver &shared, const InstalledGpus &gpus,
                                          const std::string &number, const TargetSettings &settings,
                                          RuntimeError &error) {
  std::optional<int> index = readNumber(gpus.driver->devicePrefix, number, error);
  if (!index)
    return std::nullopt;
  auto driver = shared.get(*gpus.driver, firstSetting(settings, gpus.librarySetting),
                           /*opens=*/true, error);
  if (!driver)
    return std::nullopt;
  return gpus.open(std::move(driver), *index, settings, error);
}

void gpu::addInstalledGpus(TargetKind &kind, InstalledGpus gpus) {
  auto shared = std::make_shared<SharedDriver>();
  kind.make = [shared, gpus](const std::string &number, const TargetSettings &settings,
                             RuntimeError &error) {
    return openGpu(*shared, gpus, number, settings, error);
  };
  kind.countDevices = [shared, gpus](const TargetSettings &settings, bool opens) {
    RuntimeError unused;
    auto driver =
        shared->get(*gpus.driver, firstSetting(settings, gpus.librarySetting), opens, unused);
    return driver ? driver->numDevices : 0;
  };
}
