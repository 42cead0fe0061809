// What the functions of the libcuda double share: its settings, its record and its state.
#ifndef TEST_UNIT_CUDA_DOUBLE_DOUBLE_H
#define TEST_UNIT_CUDA_DOUBLE_DOUBLE_H
#include "runtime/Device.h"
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tw::cuda_double {

struct Settings {
  int numDevices = 1, capability = 80, driverVersion = 13000;
  int maxThreads = 1024, sharedLimit = 166912, staticShared = 0;
  int kernelResult = 0;
  bool refusesMachineCode = false;
  std::string log, simulator;
  std::map<std::string, int> failures; // "cuInit" or "cuInit@2"
};

/// A parameter of a kernel, as its PTX declares it.
struct Parameter {
  int bytes = 0;
  bool isPointer = false;
};

struct Function {
  std::string name, ptx;
  std::vector<Parameter> parameters;
  int maxDynamicSharedBytes = 48 * 1024;
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

/// A call of the driver: holds the state, writes the call down and decides its fate.
class Call {
public:
  explicit Call(const char *name, const std::string &details = "");
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

/// The contexts that are current in this thread, the innermost last.
std::vector<void *> &contextStack();

/// Executes a launch on the simulator that the settings name, on the memory that was allocated
/// here; the result that the kernel leaves behind. What the simulator finds goes to the record.
int simulateLaunch(const Function &function, const LaunchGrid &grid, unsigned numThreads,
                   unsigned sharedBytes, void **parameters);

/// The entries of PTX with their parameters; empty where the text is not PTX.
std::vector<std::unique_ptr<Function>> readPtx(const std::string &text);

} // namespace tw::cuda_double
#endif
