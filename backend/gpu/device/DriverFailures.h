// What the error numbers of a GPU's driver mean to users, and what they can do.
#ifndef BACKEND_GPU_DRIVERFAILURES_H
#define BACKEND_GPU_DRIVERFAILURES_H
#include "runtime/Device.h"

namespace tw::gpu {

/// Who is to blame, which decides the form of the message.
enum class Blame {
  Call,   // what was being done: "cuda:0: <meaning>"
  Kernel, // a kernel launched before: "a kernel on cuda:0 <meaning>"
};

struct FailureRow {
  int result;
  Code code;
  RuntimeError::Kind kind;
  Blame blame;
  const char *meaning;
  const char *hint; // $sim: the simulated device of the same architecture
};

/// The errors of one driver.
struct FailureTable {
  std::span<const FailureRow> rows;
  FailureRow other;      // for numbers that have no row
  const char *simulator; // what hints name where the device has none
};

/// A call of the driver that failed.
struct DriverFailure {
  int result = 0;
  std::string function;  // "cuLaunchKernel"
  std::string device;    // "cuda:0"
  std::string action;    // what it was done for: "launching kernel add"
  std::string simulator; // "sim:sm_80": the device that can find a kernel's fault
  std::string suspects;  // kernels launched before, the last one first: "add, softmax"
};

const FailureRow &rowOf(const FailureTable &table, int result);

/// The report of a failure; `call` says of which call. Failures of kernels that ran earlier say so:
/// drivers return them from whatever call comes next, and from every call after that.
RuntimeError describeFailure(const FailureTable &table, const FailureRow &row,
                             const DriverFailure &failure, const std::string &meaning,
                             const std::string &call);

} // namespace tw::gpu
#endif
