// The GPUs that the HIP runtime shows, and what to compile for on each.
#include "backend/amd/device/HipGpu.h"
#include "backend/amd/device/HipDriver.h"
#include "backend/gpu/device/InstalledGpus.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using gpu::GpuContext;

std::optional<HipGpu> tw::findHipGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                     RuntimeError &error) {
  if (std::optional<RuntimeError> problem = gpu::checkIndex(*driver, index)) {
    error = std::move(*problem);
    return std::nullopt;
  }
  // What follows the colon are settings of the GPU that code runs under either way.
  std::string fullName = amd::archNameOf(driver->call, index);
  llvm::StringRef name = llvm::StringRef(fullName).split(':').first;
  const AmdArch *arch = findAmdArch(name);
  if (!arch) {
    GpuContext unnamed(driver, index, "");
    error = {RuntimeError::Kind::Device, Code::GpuTooOld,
             llvm::formatv("{0} ({1}) is {2}, for which no code is made", unnamed.name(),
                           unnamed.productName(), fullName.empty() ? "of unknown kind" : fullName)
                 .str(),
             "there is code for " + llvm::join(amdArchs(), ", ") +
                 "; run on such a GPU, or on the cpu"};
    return std::nullopt;
  }
  return HipGpu{arch, std::make_shared<GpuContext>(driver, index, "sim:" + arch->name.str())};
}
