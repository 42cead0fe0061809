// A test double of libOpenCL: devices that have what they are told to have, calls that fail where
// they are told to, and a record of all of them. Kernels run nothing.
#include "runtime/aot/OpenClNeeds.h"
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct Settings {
  int numDevices = 1, stored = 0; // `stored` goes to where the last pointer of a launch leads
  uint64_t svm = 15, usm = 0, atomics = 7, localBytes = 65536, maxThreads = 1024;
  uint32_t ipVersion = 0, baseBits = 64, addressBits = 64;
  bool isGpu = false;
  std::string spirv = "SPIR-V_1.0 SPIR-V_1.4", extensions = "cl_khr_fp64", log, version = "1.0";
  std::vector<size_t> subgroups = {8, 16, 32};
  std::map<std::string, int> failures; // "clBuildProgram" or "clBuildProgram@2"
};

struct State {
  std::mutex mutex; // guards everything below
  Settings settings;
  std::string record;
  std::map<std::string, int> numCalls;
  int numLive = 0;
  std::map<unsigned, void *> pointers;             // that the kernel has
  std::map<void *, std::shared_ptr<char>> buffers; // and parts of them: where their memory begins
  std::map<void *, std::array<void *, 2>> queues;  // the context and the device of each
};

/// Never destroyed: kernels are released while the process exits.
State &state() {
  static State *state = new State;
  return *state;
}

/// A call: holds the state, writes itself down and decides its fate.
class Call {
public:
  explicit Call(const std::string &name, const std::string &details = "") : lock(state().mutex) {
    State &now = state();
    now.record += name + details + "\n";
    int number = ++now.numCalls[name];
    for (const std::string &key : {name, name + "@" + std::to_string(number)})
      if (auto found = now.settings.failures.find(key); found != now.settings.failures.end())
        result = found->second;
  }
  int result = 0;

private:
  std::lock_guard<std::mutex> lock;
};

Settings read(const std::string &words) {
  Settings settings;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    for (char &character : value)
      character = character == ',' ? ' ' : character;
    std::istringstream values(value);
    const uint64_t number = strtoull(value.c_str(), nullptr, 0);
    if (name == "devices")
      settings.numDevices = int(number);
    else if (name == "stored")
      settings.stored = int(number);
    else if (name == "svm")
      settings.svm = number;
    else if (name == "usm")
      settings.usm = number;
    else if (name == "base")
      settings.baseBits = uint32_t(number);
    else if (name == "address")
      settings.addressBits = uint32_t(number);
    else if (name == "atomics")
      settings.atomics = number;
    else if (name == "local")
      settings.localBytes = number;
    else if (name == "max_threads")
      settings.maxThreads = number;
    else if (name == "ip")
      settings.ipVersion = uint32_t(number);
    else if (name == "gpu")
      settings.isGpu = number != 0;
    else if (name == "spirv")
      settings.spirv = value == "none" ? "" : value;
    else if (name == "extensions")
      settings.extensions = value;
    else if (name == "log")
      settings.log = value;
    else if (name == "version")
      settings.version = value;
    else if (name == "subgroups") {
      settings.subgroups.clear();
      for (size_t size; values >> size;)
        settings.subgroups.push_back(size);
    } else if (name == "fail")
      settings.failures[value.substr(0, value.find(':'))] =
          atoi(value.substr(value.find(':') + 1).c_str());
    else
      abort(); // a misspelled word would let a test pass for nothing
  }
  return settings;
}

int give(const void *value, size_t size, size_t bytes, void *to, size_t *needed) {
  constexpr int invalidValue = -30;
  if (needed)
    *needed = size;
  if (to && bytes < size)
    return invalidValue;
  if (to)
    memcpy(to, value, size);
  return 0;
}

template <typename Number> int giveNumber(Number value, size_t bytes, void *to, size_t *needed) {
  return give(&value, sizeof(value), bytes, to, needed);
}

int giveText(const std::string &text, size_t bytes, void *to, size_t *needed) {
  return give(text.c_str(), text.size() + 1, bytes, to, needed);
}

/// Makes an object; null where the call fails.
void *make(const char *name, int *result, const std::string &details = "") {
  Call call(name, details);
  *result = call.result;
  if (call.result)
    return nullptr;
  ++state().numLive;
  return malloc(1);
}

int release(const char *name, void *object) {
  Call call(name);
  --state().numLive;
  free(object);
  return call.result;
}

int platformNumber; // whose address is the platform
} // namespace

extern "C" {
void openclDoubleConfigure(const char *words) {
  std::lock_guard lock(state().mutex);
  state().settings = read(words);
  state().record.clear();
  state().numCalls.clear();
  state().pointers.clear();
}
const char *openclDoubleRecord() {
  static thread_local std::string copy;
  std::lock_guard lock(state().mutex);
  copy = state().record;
  return copy.c_str();
}
int openclDoubleLiveObjects() {
  std::lock_guard lock(state().mutex);
  return state().numLive;
}

int clGetPlatformIDs(unsigned, void **platforms, unsigned *count) {
  Call call("clGetPlatformIDs");
  if (platforms)
    platforms[0] = &platformNumber;
  if (count)
    *count = 1;
  return call.result;
}
int clGetPlatformInfo(void *, unsigned, size_t bytes, void *to, size_t *needed) {
  Call call("clGetPlatformInfo");
  return call.result ? call.result : giveText("Double", bytes, to, needed);
}
int clGetDeviceIDs(void *, uint64_t, unsigned, void **ids, unsigned *count) {
  Call call("clGetDeviceIDs");
  int numDevices = state().settings.numDevices;
  for (int i = 0; ids && i < numDevices; ++i)
    ids[i] = reinterpret_cast<void *>(uintptr_t(i) + 1);
  if (count)
    *count = unsigned(numDevices);
  return call.result;
}
int clGetDeviceInfo(void *device, unsigned fact, size_t bytes, void *to, size_t *needed) {
  Call call("clGetDeviceInfo");
  const Settings &now = state().settings;
  constexpr uint64_t gpu = 4, processor = 2;
  if (call.result)
    return call.result;
  switch (fact) {
  case 0x1000:
    return giveNumber<uint64_t>(now.isGpu ? gpu : processor, bytes, to, needed);
  case 0x1004:
    return giveNumber<size_t>(now.maxThreads, bytes, to, needed);
  case 0x100D:
    return giveNumber<uint32_t>(now.addressBits, bytes, to, needed);
  case 0x1019:
    return giveNumber<uint32_t>(now.baseBits, bytes, to, needed);
  case 0x1023:
    return giveNumber<uint64_t>(now.localBytes, bytes, to, needed);
  case 0x102B:
    return giveText("Device " + std::to_string(uintptr_t(device)), bytes, to, needed);
  case 0x102D:
    return giveText(now.version, bytes, to, needed);
  case 0x1030:
    return giveText(now.extensions, bytes, to, needed);
  case 0x1031:
    return giveNumber<void *>(&platformNumber, bytes, to, needed);
  case 0x1053:
    return giveNumber<uint64_t>(now.svm, bytes, to, needed);
  case 0x105B:
    return giveText(now.spirv, bytes, to, needed);
  case 0x4108:
    return give(now.subgroups.data(), now.subgroups.size() * sizeof(size_t), bytes, to, needed);
  case 0x4191:
    return giveNumber<uint64_t>(now.usm & 1, bytes, to, needed);
  case 0x4194:
    return giveNumber<uint64_t>(now.usm >> 1 & 1, bytes, to, needed);
  case 0x4231:
  case 0x4232:
  case 0x4233:
    return giveNumber<uint64_t>(now.atomics, bytes, to, needed);
  case 0x4250:
    return giveNumber<uint32_t>(now.ipVersion, bytes, to, needed);
  default:
    return -30; // CL_INVALID_VALUE
  }
}

void *clCreateContext(const intptr_t *, unsigned, void *const *, void *, void *, int *result) {
  return make("clCreateContext", result);
}
void *clCreateCommandQueueWithProperties(void *context, void *device, const uint64_t *,
                                         int *result) {
  void *queue = make("clCreateCommandQueueWithProperties", result);
  std::lock_guard lock(state().mutex);
  state().queues[queue] = {context, device};
  return queue;
}
int clGetCommandQueueInfo(void *queue, unsigned fact, size_t bytes, void *to, size_t *needed) {
  constexpr unsigned first = 0x1090; // that is the context; the device is the next
  Call call("clGetCommandQueueInfo");
  return call.result ? call.result
                     : giveNumber(state().queues.at(queue)[fact - first], bytes, to, needed);
}
int clReleaseCommandQueue(void *queue) { return release("clReleaseCommandQueue", queue); }
int clReleaseContext(void *context) { return release("clReleaseContext", context); }

void *clCreateProgramWithIL(void *, const void *code, size_t bytes, int *result) {
  constexpr uint32_t blockIo = 6228; // capability of SPV_INTEL_2d_block_io
  return make("clCreateProgramWithIL", result,
              " " + std::to_string(bytes) + (tw_cl_uses(code, bytes, blockIo) ? " blocks" : ""));
}
void *clCreateProgramWithBinary(void *, unsigned, void *const *, const size_t *bytes,
                                const unsigned char **, int *, int *result) {
  return make("clCreateProgramWithBinary", result, " " + std::to_string(bytes[0]));
}
int clBuildProgram(void *, unsigned, void *const *, const char *options, void *, void *) {
  return Call("clBuildProgram", std::string(" ") + options).result;
}
int clGetProgramInfo(void *, unsigned fact, size_t bytes, void *to, size_t *needed) {
  constexpr unsigned sizes = 0x1165;
  constexpr size_t binaryBytes = 3;
  Call call("clGetProgramInfo");
  if (call.result)
    return call.result;
  if (fact == sizes)
    return giveNumber(binaryBytes, bytes, to, needed);
  memcpy(*static_cast<char **>(to), "bin", binaryBytes);
  return 0;
}
int clGetProgramBuildInfo(void *, void *, unsigned, size_t bytes, void *to, size_t *needed) {
  Call call("clGetProgramBuildInfo");
  return call.result ? call.result : giveText(state().settings.log, bytes, to, needed);
}
int clReleaseProgram(void *program) { return release("clReleaseProgram", program); }

void *clCreateKernel(void *, const char *name, int *result) {
  return make("clCreateKernel", result, std::string(" ") + name);
}
int clGetKernelWorkGroupInfo(void *, void *, unsigned, size_t bytes, void *to, size_t *needed) {
  Call call("clGetKernelWorkGroupInfo");
  return call.result ? call.result
                     : giveNumber<size_t>(state().settings.maxThreads, bytes, to, needed);
}
int clSetKernelArg(void *, unsigned index, size_t bytes, const void *value) {
  std::string details = " " + std::to_string(index) + " ";
  for (size_t i = 0; i < bytes; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", static_cast<const unsigned char *>(value)[i]);
    details += digits;
  }
  Call call("clSetKernelArg", details);
  void *handle = nullptr;
  if (bytes == sizeof(handle))
    memcpy(&handle, value, bytes);
  if (auto buffer = state().buffers.find(handle); buffer != state().buffers.end())
    state().pointers[index] = buffer->second.get();
  return call.result;
}
int clSetKernelArgSVMPointer(void *, unsigned index, const void *pointer) {
  Call call("clSetKernelArgSVMPointer", " " + std::to_string(index));
  state().pointers[index] = const_cast<void *>(pointer);
  return call.result;
}
int clReleaseKernel(void *kernel) { return release("clReleaseKernel", kernel); }

int clEnqueueNDRangeKernel(void *, void *, unsigned, const size_t *, const size_t *global,
                           const size_t *local, unsigned, void *const *, void **event) {
  std::ostringstream details;
  details << " " << global[0] << "," << global[1] << "," << global[2] << " of " << local[0] << ","
          << local[1] << "," << local[2];
  Call call("clEnqueueNDRangeKernel", details.str());
  if (call.result)
    return call.result;
  if (auto last = state().pointers.rbegin(); state().settings.stored && last->second)
    memcpy(last->second, &state().settings.stored, sizeof(int));
  if (event) {
    ++state().numLive;
    *event = malloc(1);
  }
  return 0;
}
int clWaitForEvents(unsigned, void *const *) { return Call("clWaitForEvents").result; }
int clGetEventInfo(void *, unsigned, size_t bytes, void *to, size_t *needed) {
  Call call("clGetEventInfo"); // `fail` says what became of the launch
  return giveNumber<int32_t>(call.result, bytes, to, needed);
}
int clGetEventProfilingInfo(void *, unsigned name, size_t bytes, void *to, size_t *needed) {
  Call call("clGetEventProfilingInfo");
  constexpr unsigned end = 0x1283;
  if (call.result != 0)
    return call.result;
  return giveNumber<uint64_t>(name == end ? 7'500 : 5'000, bytes, to, needed);
}
int clReleaseEvent(void *event) { return release("clReleaseEvent", event); }

void *clSVMAlloc(void *, uint64_t, size_t bytes, unsigned) {
  int result = 0;
  void *object = make("clSVMAlloc", &result, " " + std::to_string(bytes));
  free(object);
  return object ? calloc(1, bytes) : nullptr;
}
void clSVMFree(void *, void *memory) { release("clSVMFree", memory); }
int clEnqueueSVMMemcpy(void *, unsigned, void *to, const void *from, size_t bytes, unsigned,
                       void *const *, void **) {
  Call call("clEnqueueSVMMemcpy", " " + std::to_string(bytes));
  if (!call.result)
    memcpy(to, from, bytes);
  return call.result;
}

void *clCreateBuffer(void *, uint64_t, size_t bytes, void *, int *result) {
  void *handle = make("clCreateBuffer", result, " " + std::to_string(bytes));
  std::lock_guard lock(state().mutex);
  if (handle)
    state().buffers[handle] = {static_cast<char *>(calloc(1, bytes)), free};
  return handle;
}
void *clCreateSubBuffer(void *buffer, uint64_t, unsigned, const void *region, int *result) {
  const size_t *part = static_cast<const size_t *>(region);
  void *handle = make("clCreateSubBuffer", result,
                      " " + std::to_string(part[0]) + " " + std::to_string(part[1]));
  std::lock_guard lock(state().mutex);
  if (handle) {
    const std::shared_ptr<char> &whole = state().buffers[buffer]; // lives as long as its parts
    state().buffers[handle] = {whole, whole.get() + part[0]};
  }
  return handle;
}
int clReleaseMemObject(void *buffer) {
  {
    std::lock_guard lock(state().mutex);
    state().buffers.erase(buffer);
  }
  return release("clReleaseMemObject", buffer);
}
int clEnqueueReadBuffer(void *, void *buffer, unsigned, size_t offset, size_t bytes, void *to,
                        unsigned, void *const *, void **) {
  Call call("clEnqueueReadBuffer", " " + std::to_string(bytes));
  if (!call.result)
    memcpy(to, state().buffers.at(buffer).get() + offset, bytes);
  return call.result;
}
int clEnqueueWriteBuffer(void *, void *buffer, unsigned, size_t offset, size_t bytes,
                         const void *from, unsigned, void *const *, void **) {
  Call call("clEnqueueWriteBuffer", " " + std::to_string(bytes));
  if (!call.result)
    memcpy(state().buffers.at(buffer).get() + offset, from, bytes);
  return call.result;
}

static void *allocateUsm(void *, void *, const uint64_t *, size_t bytes, unsigned, int *result) {
  void *object = make("clDeviceMemAllocINTEL", result, " " + std::to_string(bytes));
  free(object);
  return object ? calloc(1, bytes) : nullptr;
}
static int freeUsm(void *, void *memory) { return release("clMemFreeINTEL", memory); }
static int copyUsm(void *, unsigned, void *to, const void *from, size_t bytes, unsigned,
                   void *const *, void **) {
  Call call("clEnqueueMemcpyINTEL", " " + std::to_string(bytes));
  if (!call.result)
    memcpy(to, from, bytes);
  return call.result;
}
static int setUsmPointer(void *, unsigned index, const void *pointer) {
  Call call("clSetKernelArgMemPointerINTEL", " " + std::to_string(index));
  state().pointers[index] = const_cast<void *>(pointer);
  return call.result;
}
void *clGetExtensionFunctionAddressForPlatform(void *, const char *name) {
  const std::map<std::string, void *> functions = {
      {"clDeviceMemAllocINTEL", reinterpret_cast<void *>(allocateUsm)},
      {"clMemFreeINTEL", reinterpret_cast<void *>(freeUsm)},
      {"clEnqueueMemcpyINTEL", reinterpret_cast<void *>(copyUsm)},
      {"clSetKernelArgMemPointerINTEL", reinterpret_cast<void *>(setUsmPointer)}};
  auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}
}
