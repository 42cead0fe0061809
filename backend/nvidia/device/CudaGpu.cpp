// The GPUs that the CUDA driver shows, and what to compile for on each.
#include "backend/nvidia/device/CudaGpu.h"
#include "backend/gpu/device/InstalledGpus.h"
#include "backend/nvidia/device/CudaDriver.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using gpu::GpuContext;

CudaArchChoice tw::chooseCudaArch(int capability) {
  CudaArchChoice choice;
  for (const NvidiaArch &arch : nvidiaArchTable()) {
    if (int(arch.number) == capability)
      return {&arch, /*isExact=*/true};
    bool isPortable = !arch.name.ends_with("a");
    if (int(arch.number) < capability && isPortable)
      choice.arch = &arch;
  }
  return choice;
}

std::optional<CudaGpu> tw::findCudaGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                       RuntimeError &error) {
  if (std::optional<RuntimeError> problem = gpu::checkIndex(*driver, index)) {
    error = std::move(*problem);
    return std::nullopt;
  }
  GpuContext unnamed(driver, index, "");
  int capability = 10 * unnamed.attribute(nvidia::kCapabilityMajor) +
                   unnamed.attribute(nvidia::kCapabilityMinor);
  CudaGpu found;
  found.choice = chooseCudaArch(capability);
  if (!found.choice.arch) {
    error = {RuntimeError::Kind::Device, Code::GpuTooOld,
             llvm::formatv("{0} ({1}) has compute capability {2}.{3}, which is older than {4}",
                           unnamed.name(), unnamed.productName(), capability / 10, capability % 10,
                           nvidiaArchTable().front().name)
                 .str(),
             "run on the cpu, or on a GPU of compute capability 8.0 or newer"};
    return std::nullopt;
  }
  found.context =
      std::make_shared<GpuContext>(driver, index, "sim:" + found.choice.arch->name.str());
  return found;
}
