// OpenCL's libraries on this machine, opened at the first use and never linked, and the devices
// that take SPIR-V.
#include "backend/spirv/device/OpenClDriver.h"
#include "backend/gpu/device/Driver.h"
#include "backend/spirv/device/OpenClErrors.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using namespace tw::spirv;

/// The loader of drivers, as distributions have it.
static constexpr const char *kLoaders[] = {"libOpenCL.so.1", "libOpenCL.so"};

static void bindObjects(gpu::SymbolLookup &lookup, OpenClFunctions &call) {
  lookup.bind("clGetPlatformIDs", call.platforms);
  lookup.bind("clGetPlatformInfo", call.platformFact);
  lookup.bind("clGetDeviceIDs", call.devices);
  lookup.bind("clGetDeviceInfo", call.deviceFact);
  lookup.bindPlain("clGetExtensionFunctionAddressForPlatform", call.findExtension);
  lookup.bindPlain("clCreateContext", call.createContext);
  lookup.bindPlain("clCreateCommandQueueWithProperties", call.createQueue);
  lookup.bind("clReleaseCommandQueue", call.releaseQueue);
  lookup.bind("clReleaseContext", call.releaseContext);
  lookup.bindPlain("clSVMAlloc", call.allocateSvm);
  lookup.bindPlain("clSVMFree", call.freeSvm);
  lookup.bind("clEnqueueSVMMemcpy", call.copySvm);
  lookup.bindPlain("clCreateBuffer", call.createBuffer);
  lookup.bindPlain("clCreateSubBuffer", call.createPart);
  lookup.bind("clReleaseMemObject", call.releaseBuffer);
  lookup.bind("clEnqueueReadBuffer", call.readBuffer);
  lookup.bind("clEnqueueWriteBuffer", call.writeBuffer);
}

static void bindKernels(gpu::SymbolLookup &lookup, OpenClFunctions &call) {
  lookup.bindPlain("clCreateProgramWithIL", call.createProgram);
  lookup.bindPlain("clCreateProgramWithBinary", call.createProgramOfBinary);
  lookup.bind("clBuildProgram", call.build);
  lookup.bind("clGetProgramInfo", call.programFact);
  lookup.bind("clGetProgramBuildInfo", call.buildFact);
  lookup.bind("clReleaseProgram", call.releaseProgram);
  lookup.bindPlain("clCreateKernel", call.createKernel);
  lookup.bind("clGetKernelWorkGroupInfo", call.kernelFact);
  lookup.bind("clSetKernelArg", call.setArgument);
  lookup.bind("clSetKernelArgSVMPointer", call.setSvmPointer);
  lookup.bind("clReleaseKernel", call.releaseKernel);
  lookup.bind("clEnqueueNDRangeKernel", call.launch);
  lookup.bind("clWaitForEvents", call.waitForEvents);
  lookup.bind("clGetEventInfo", call.eventFact);
  lookup.bind("clGetEventProfilingInfo", call.eventTime);
  lookup.bind("clReleaseEvent", call.releaseEvent);
}

/// The value of a fact that is a number or a list of them; empty where the object does not say.
template <typename Number>
static std::vector<Number> numbersOf(const ClFact &call, ClHandle object, uint32_t fact) {
  size_t bytes = 0;
  if (call(object, fact, 0, nullptr, &bytes) != gpu::kSuccess)
    return {};
  std::vector<Number> values(bytes / sizeof(Number));
  if (call(object, fact, values.size() * sizeof(Number), values.data(), nullptr) != gpu::kSuccess)
    return {};
  return values;
}

template <typename Number>
static Number numberOf(const ClFact &call, ClHandle object, uint32_t fact) {
  std::vector<Number> values = numbersOf<Number>(call, object, fact);
  return values.empty() ? 0 : values.front();
}

static std::string textOf(const ClFact &call, ClHandle object, uint32_t fact) {
  std::vector<char> text = numbersOf<char>(call, object, fact);
  return text.empty() ? "" : text.data();
}

bool OpenClEntry::has(const std::string &extension) const {
  return llvm::is_contained(llvm::split(extensions, ' '), extension);
}

template <typename... Arguments>
static void bindExtension(const OpenClEntry &entry, const char *name,
                          gpu::DriverCall<Arguments...> &call) {
  call.name = name;
  call.function = reinterpret_cast<gpu::DriverResult (*)(Arguments...)>(
      entry.call->findExtension(entry.platform, name));
}

static void bindUsm(OpenClEntry &entry) {
  if (!entry.has("cl_intel_unified_shared_memory"))
    return;
  entry.usm.allocate = reinterpret_cast<decltype(entry.usm.allocate)>(
      entry.call->findExtension(entry.platform, "clDeviceMemAllocINTEL"));
  bindExtension(entry, "clMemFreeINTEL", entry.usm.release);
  bindExtension(entry, "clEnqueueMemcpyINTEL", entry.usm.copy);
  bindExtension(entry, "clSetKernelArgMemPointerINTEL", entry.usm.setPointer);
}

/// The best way to a launch's arrays that the device has, of those that are asked for.
static ArrayAccess chooseAccess(const OpenClEntry &entry, const std::string &asked) {
  const ClFact &fact = entry.call->deviceFact;
  uint64_t svm = numberOf<uint64_t>(fact, entry.id, fact::kSvm);
  bool hasUsm = entry.usm.allocate && entry.usm.release.function && entry.usm.copy.function &&
                entry.usm.setPointer.function;
  if (asked.empty() && svm & kSvmSystem)
    return ArrayAccess::Direct;
  if (asked.empty() && hasUsm && numberOf<uint64_t>(fact, entry.id, fact::kSystemUsm))
    return ArrayAccess::DirectUsm;
  if (asked == "buffers")
    return ArrayAccess::CopyBuffers;
  if (asked != "svm" && hasUsm && numberOf<uint64_t>(fact, entry.id, fact::kDeviceUsm))
    return ArrayAccess::CopyUsm;
  return svm & kSvmCoarse ? ArrayAccess::CopySvm : ArrayAccess::CopyBuffers;
}

static OpenClEntry describeDevice(const OpenClFunctions &call, ClHandle platform, ClHandle id,
                                  const OpenClSettings &settings) {
  OpenClEntry entry;
  const ClFact &fact = call.deviceFact;
  entry.call = &call;
  entry.platform = platform;
  entry.id = id;
  entry.name = llvm::StringRef(textOf(fact, id, fact::kDeviceName)).trim().str();
  entry.platformName = textOf(call.platformFact, platform, fact::kPlatformName);
  entry.driverVersion = textOf(fact, id, fact::kDriverVersion);
  entry.spirvVersions = textOf(fact, id, fact::kSpirvVersions);
  entry.extensions = textOf(fact, id, fact::kExtensions);
  entry.subgroupSizes = numbersOf<size_t>(fact, id, fact::kSubgroupSizes);
  entry.maxThreads = numberOf<size_t>(fact, id, fact::kMaxThreads);
  entry.localBytes = numberOf<uint64_t>(fact, id, fact::kLocalBytes);
  entry.addressBits = numberOf<uint32_t>(fact, id, fact::kAddressBits);
  entry.bufferAlignment = std::max(8u, numberOf<uint32_t>(fact, id, fact::kBaseBits)) / 8;
  entry.atomics = {numberOf<uint64_t>(fact, id, fact::kHalfAtomics),
                   numberOf<uint64_t>(fact, id, fact::kSingleAtomics),
                   numberOf<uint64_t>(fact, id, fact::kDoubleAtomics)};
  entry.isGpu = numberOf<uint64_t>(fact, id, fact::kDeviceType) & kGpuType;
  if (entry.has("cl_intel_device_attribute_query"))
    entry.ipVersion = numberOf<uint32_t>(fact, id, fact::kIpVersion);
  bindUsm(entry);
  entry.access = chooseAccess(entry, settings.access);
  return entry;
}

/// Adds the devices of a library: those that take SPIR-V, and to `others` what the rest lack. The
/// same device behind another library is the one that is there already.
static void addDevices(const OpenClFunctions &call, const OpenClSettings &settings,
                       OpenClDriver &driver, std::vector<std::string> &others) {
  uint32_t numPlatforms = 0;
  if (call.platforms(0, nullptr, &numPlatforms) != gpu::kSuccess)
    return;
  std::vector<ClHandle> platforms(numPlatforms);
  if (call.platforms(numPlatforms, platforms.data(), nullptr) != gpu::kSuccess)
    return;
  for (ClHandle platform : platforms) {
    uint32_t count = 0;
    if (call.devices(platform, kAllDeviceTypes, 0, nullptr, &count) != gpu::kSuccess)
      continue;
    std::vector<ClHandle> ids(count);
    if (call.devices(platform, kAllDeviceTypes, count, ids.data(), nullptr) != gpu::kSuccess)
      continue;
    for (ClHandle id : ids) {
      OpenClEntry entry = describeDevice(call, platform, id, settings);
      bool isKnown = llvm::any_of(driver.devices, [&](const OpenClEntry &other) {
        return other.call != &call && other.describe() == entry.describe();
      });
      if (isKnown)
        continue;
      if (entry.spirvVersions.empty())
        others.push_back(entry.describe() + " takes no SPIR-V");
      else
        driver.devices.push_back(std::move(entry));
    }
  }
}

/// Opens a library and binds its functions; null with what is wrong in `problems`.
static std::unique_ptr<OpenClFunctions> openLibrary(std::string path,
                                                    std::vector<std::string> &problems) {
  std::string reason;
  void *library = gpu::openLibrary(kLoaders, path, reason);
  if (!library) {
    problems.push_back(reason);
    return nullptr;
  }
  auto call = std::make_unique<OpenClFunctions>();
  gpu::SymbolLookup lookup{library, ""};
  bindObjects(lookup, *call);
  bindKernels(lookup, *call);
  if (lookup.missing.empty())
    return call;
  problems.push_back(path + " has no function " + lookup.missing + ", as OpenCL 2.1 and newer do");
  return nullptr;
}

std::shared_ptr<const OpenClDriver> spirv::openOpenCl(const OpenClSettings &settings,
                                                      RuntimeError &error) {
  auto driver = std::make_shared<OpenClDriver>();
  std::vector<std::string> problems, others;
  std::vector<std::string> paths = settings.libraries;
  if (paths.empty())
    paths.push_back("");
  for (const std::string &path : paths)
    if (std::unique_ptr<OpenClFunctions> call = openLibrary(path, problems)) {
      driver->libraries.push_back(std::move(call));
      addDevices(*driver->libraries.back(), settings, *driver, others);
    }
  std::vector<OpenClEntry> sorted;
  for (bool isGpu : {true, false})
    llvm::copy_if(driver->devices, std::back_inserter(sorted),
                  [&](const OpenClEntry &entry) { return entry.isGpu == isGpu; });
  driver->devices = std::move(sorted);
  if (!driver->devices.empty())
    return driver;
  const auto kind = RuntimeError::Kind::Device;
  if (driver->libraries.empty())
    error = {kind, Code::NoDriver, "no OpenCL driver can be opened: " + llvm::join(problems, "; "),
             kInstallDriver};
  else if (others.empty())
    error = {kind, Code::NoDriver, "there is no OpenCL driver on this machine", kInstallDriver};
  else
    error = {kind, Code::NoGpu, "no OpenCL device runs kernels: " + llvm::join(others, "; "),
             "update the driver, or install another: SPIR-V comes with OpenCL 2.1 and newer"};
  return nullptr;
}
