// What the doubles of drivers' libraries share: their settings, their record and their state.
#ifndef TEST_UNIT_DRIVER_DOUBLE_DOUBLE_H
#define TEST_UNIT_DRIVER_DOUBLE_DOUBLE_H
#include "runtime/Device.h"
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tw::driver_double {

/// Results that CUDA and HIP number alike.
enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kAssert = 710,
  kTooLargeTogether = 720,
  kForbiddenInCapture = 900,
};

struct Settings {
  int numDevices = 1, capability = 80, driverVersion = 0;
  int maxThreads = 1024, sharedLimit = 0, staticShared = 0;
  int kernelResult = 0;
  int numProcessors = 4; // with room for 2048 threads each; 0: no cooperative launches
  bool refusesMachineCode = false;
  bool isCapturing = false; // a stream is captured into a graph, by another thread than asks
  bool isQuiet = false; // calls are not recorded
  std::string log = "", simulator = "", arch = "";
  std::map<std::string, int> failures = {}; // "cuInit" or "cuInit@2"
};

/// A parameter of a kernel, as its code declares it.
struct Parameter {
  int bytes = 0;
  bool isPointer = false;
};

struct Function {
  std::string name, code; // what the simulator takes
  std::vector<Parameter> parameters;
  int maxDynamicSharedBytes = 48 * 1024;
  int numRegisters = 0; // of a thread; 0: as many as the settings' threads leave
};

struct Module {
  std::vector<std::unique_ptr<Function>> functions;
  bool isMachineCode = false; // its functions are found under any name
};

struct State {
  std::mutex mutex; // guards everything below; each call of the driver holds it
  Settings settings;
  std::string record;
  std::map<std::string, int> numCalls;
  int stickyResult = 0;
  std::multiset<int> retained; // GPUs with a context; the context's handle is the number plus one
  std::map<void *, std::unique_ptr<Module>> modules;
  std::map<uint64_t, std::unique_ptr<char[]>> memory;
  std::map<uint64_t, size_t> memoryBytes;
  std::set<void *> events;
};

/// Never destroyed: kernels are unloaded while the process exits.
State &state();

/// What each double says of itself.
struct Platform {
  const char *environment; // the variable with the settings' words
  Settings settings;       // where the words say nothing
  /// Whether the calling thread may use the driver's objects.
  bool (*hasContext)();
  /// The device that executes launches, and the lanes of its warps.
  std::shared_ptr<Device> (*makeSimulator)(const std::string &arch);
  unsigned (*warpSize)(const std::string &arch);
  uint64_t maxThreadsAlongX;
};
const Platform &platform();

/// A call of the driver: holds the state, writes the call down and decides its fate.
class Call {
public:
  explicit Call(const char *name, const std::string &details = "");
  ~Call();
  /// What the call has to return at once; 0 when it is to do its work.
  int failure = 0;

private:
  std::lock_guard<std::mutex> lock;
};

/// A call that needs a current context, and that returns the failure of an earlier kernel.
class ContextCall : public Call {
public:
  explicit ContextCall(const char *name, const std::string &details = "");
};

/// The calling thread's last failure since this was asked; 0 for none.
int takeLastFailure();
/// Sets the words, and forgets the record and failures.
void configure(const char *words);
/// The record so far; the text is valid until the next call in the same thread.
const char *readRecord();
/// Modules, allocations and events that are alive: a leak shows as a number that grows.
int countObjects();

//===-- Functions that drivers have alike, under their names.

/// Takes a module into the state, and gives it its handle.
void keepModule(std::unique_ptr<Module> made, void **module);
int unloadModule(const char *name, void *module);
int findFunction(const char *name, void **function, void *module, const char *symbol);
int readFunctionAttribute(const char *name, int *value, int attribute, const void *function);
struct LaunchShape {
  unsigned grid[3], threads[3], sharedBytes;
  void *stream;
  bool isCooperative = false;
  bool isEarly = false; // may begin before earlier launches end
};
/// The programs of so many threads that a processor has room for.
int countPerProcessor(const char *name, int *count, int numThreads);
int launchKernel(const char *name, const Function &function, const LaunchShape &shape,
                 void **parameters);
int allocate(const char *name, uint64_t *address, size_t bytes);
int release(const char *name, uint64_t address);
int copyToDevice(const char *name, uint64_t target, const void *source, size_t bytes);
int copyToHost(const char *name, void *target, uint64_t source, size_t bytes);
int createEvent(const char *name, void **event);
int recordEvent(const char *name, void *event);
int elapsedTime(const char *name, float *milliseconds);
int destroyEvent(const char *name, void *event);

/// Executes a launch on the simulator that the settings name, on the memory that was allocated
/// here; the result that the kernel leaves behind. What the simulator finds goes to the record.
int simulateLaunch(const Function &function, const LaunchShape &shape, void **parameters);

} // namespace tw::driver_double
#endif
