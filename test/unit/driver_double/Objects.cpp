// Modules, launches, memory and events of a driver's double.
#include "test/unit/driver_double/Double.h"
#include <cstdio>
#include <cstring>

using namespace tw;
using namespace tw::driver_double;

void driver_double::keepModule(std::unique_ptr<Module> made, void **module) {
  *module = made.get();
  state().modules[*module] = std::move(made);
}

int driver_double::unloadModule(const char *name, void *module) {
  ContextCall call(name);
  if (call.failure)
    return call.failure;
  return state().modules.erase(module) ? kSuccess : kInvalidHandle;
}

int driver_double::findFunction(const char *name, void **function, void *module,
                                const char *symbol) {
  ContextCall call(name, std::string(" ") + symbol);
  if (call.failure)
    return call.failure;
  auto found = state().modules.find(module);
  if (found == state().modules.end())
    return kInvalidHandle;
  if (found->second->isMachineCode) {
    found->second->functions.push_back(std::make_unique<Function>());
    found->second->functions.back()->name = symbol;
  }
  for (const std::unique_ptr<Function> &candidate : found->second->functions)
    if (candidate->name == symbol) {
      *function = candidate.get();
      return kSuccess;
    }
  return kNotFound;
}

int driver_double::readFunctionAttribute(const char *name, int *value, int attribute,
                                         const void *function) {
  ContextCall call(name);
  constexpr int maxThreads = 0, staticShared = 1, registers = 4;
  int numRegisters = static_cast<const Function *>(function)->numRegisters;
  *value = attribute == maxThreads     ? state().settings.maxThreads
           : attribute == staticShared ? state().settings.staticShared
           : attribute != registers    ? 0
           : numRegisters              ? numRegisters
                                       : 65536 / state().settings.maxThreads;
  return call.failure;
}

/// The bytes of a parameter in memory order, as hexadecimal digits.
static std::string hexOf(const void *bytes, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", static_cast<const unsigned char *>(bytes)[i]);
    text += digits;
  }
  return text;
}

static std::string describeLaunch(const Function &function, const LaunchShape &shape,
                                  void **parameters) {
  const auto &[grid, threads, sharedBytes, stream, isCooperative, isEarly] = shape;
  char text[256];
  snprintf(text, sizeof(text), " %s grid=%u,%u,%u threads=%u,%u,%u shared=%u stream=0x%llx",
           function.name.c_str(), grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
           sharedBytes, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(stream)));
  std::string list, separator = " parameters=";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    list += separator + hexOf(parameters[i], function.parameters[i].bytes);
    separator = ",";
  }
  return text + list + (isEarly ? " early" : "");
}

static constexpr int kThreadsOfProcessor = 2048;

int driver_double::countPerProcessor(const char *name, int *count, int numThreads) {
  ContextCall call(name);
  *count = kThreadsOfProcessor / numThreads;
  return call.failure;
}

/// Whether all programs of a launch have room at the same time.
static bool fitsTogether(const LaunchShape &shape) {
  unsigned numThreads = shape.threads[0] * shape.threads[1] * shape.threads[2];
  uint64_t most = uint64_t(state().settings.numProcessors) * (kThreadsOfProcessor / numThreads);
  return uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2] <= most;
}

int driver_double::launchKernel(const char *name, const Function &function,
                                const LaunchShape &shape, void **parameters) {
  bool isQuiet = state().settings.isQuiet;
  ContextCall call(name, isQuiet ? "" : describeLaunch(function, shape, parameters));
  if (call.failure)
    return call.failure;
  const auto &[gridX, gridY, gridZ] = shape.grid;
  const auto &[threadsX, threadsY, threadsZ] = shape.threads;
  if (gridX == 0 || gridY == 0 || gridZ == 0 || gridX > 0x7FFFFFFF || gridY > 65535 ||
      gridZ > 65535 || uint64_t(gridX) * threadsX > platform().maxThreadsAlongX ||
      int(shape.sharedBytes) > function.maxDynamicSharedBytes)
    return kInvalidValue;
  if (shape.isCooperative && !fitsTogether(shape))
    return kTooLargeTogether;
  if (int(threadsX * threadsY * threadsZ) > state().settings.maxThreads)
    return kOutOfResources;
  state().stickyResult = state().settings.kernelResult;
  if (!state().settings.simulator.empty())
    state().stickyResult = simulateLaunch(function, shape, parameters);
  return kSuccess;
}

int driver_double::allocate(const char *name, uint64_t *address, size_t bytes) {
  ContextCall call(name, " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (bytes == 0)
    return kInvalidValue;
  if (bytes > (size_t(1) << 40))
    return kOutOfMemory;
  auto memory = std::make_unique<char[]>(bytes);
  *address = reinterpret_cast<uint64_t>(memory.get());
  state().memoryBytes[*address] = bytes;
  state().memory[*address] = std::move(memory);
  return kSuccess;
}

int driver_double::release(const char *name, uint64_t address) {
  ContextCall call(name);
  if (call.failure)
    return call.failure;
  state().memoryBytes.erase(address);
  return state().memory.erase(address) ? kSuccess : kInvalidValue;
}

/// Whether [address, address + bytes) lies in one allocation.
static bool isAllocated(uint64_t address, size_t bytes) {
  const std::map<uint64_t, size_t> &sizes = state().memoryBytes;
  auto after = sizes.upper_bound(address);
  if (after == sizes.begin())
    return false;
  auto [base, size] = *--after;
  return address + bytes <= base + size;
}

int driver_double::copyToDevice(const char *name, uint64_t target, const void *source,
                                size_t bytes) {
  ContextCall call(name, " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (!isAllocated(target, bytes))
    return kInvalidValue;
  memcpy(reinterpret_cast<void *>(target), source, bytes);
  return kSuccess;
}

int driver_double::copyToHost(const char *name, void *target, uint64_t source, size_t bytes) {
  ContextCall call(name, " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (!isAllocated(source, bytes))
    return kInvalidValue;
  memcpy(target, reinterpret_cast<const void *>(source), bytes);
  return kSuccess;
}

int driver_double::createEvent(const char *name, void **event) {
  ContextCall call(name);
  if (call.failure)
    return call.failure;
  *event = new char;
  state().events.insert(*event);
  return kSuccess;
}

int driver_double::recordEvent(const char *name, void *event) {
  ContextCall call(name);
  return call.failure ? call.failure : state().events.count(event) ? kSuccess : kInvalidHandle;
}

int driver_double::elapsedTime(const char *name, float *milliseconds) {
  ContextCall call(name);
  *milliseconds = 0.25f;
  return call.failure;
}

int driver_double::destroyEvent(const char *name, void *event) {
  ContextCall call(name);
  if (!state().events.erase(event))
    return kInvalidHandle;
  delete static_cast<char *>(event);
  return call.failure;
}
