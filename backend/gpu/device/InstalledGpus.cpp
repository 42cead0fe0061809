// The GPUs of this machine as targets whose variants are numbers: what the makers share of them.
#include "backend/gpu/device/InstalledGpus.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using namespace tw::gpu;

std::string gpu::firstSetting(const TargetSettings &settings, const char *name) {
  auto found = settings.find(name);
  return found == settings.end() || found->second.empty() ? "" : found->second.front();
}

/// One spelling for each GPU: "cuda:00" would be another device with the same memory.
static std::optional<int> readNumber(const std::string &number) {
  int index = 0;
  if (!llvm::to_integer(number, index, 10) || number != std::to_string(index))
    return std::nullopt;
  return index;
}

static std::optional<TargetEntry> openGpu(SharedDriver &shared, const InstalledGpus &gpus,
                                          const std::string &number, const TargetSettings &settings,
                                          RuntimeError &error) {
  std::optional<int> index = readNumber(number);
  if (!index) {
    std::string prefix = gpus.driver->devicePrefix;
    error = {RuntimeError::Kind::Launch, Code::UnknownDevice,
             "there is no device `" + prefix + number + "`",
             "GPUs are called " + prefix + "0, " + prefix + "1, ..."};
    return std::nullopt;
  }
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
