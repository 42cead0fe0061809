// Runs a compiled kernel from the command line: launches, timing, checksums of the arrays.
#ifndef BACKEND_TOOLS_RUNKERNEL_H
#define BACKEND_TOOLS_RUNKERNEL_H
#include "runtime/Device.h"
#include <string>
#include <vector>

namespace tw {

struct RunRequest {
  std::vector<std::string> arguments; // as SyntheticArguments.h reads them
  std::string grid = "1";             // "4" or "4,2,1"
  unsigned numTimed = 0;              // launches to time after the first one
  unsigned numShown = 0;              // elements of every array to print
};

/// Prints what the run left in its arrays, and its times, to stdout. False after an error on
/// stderr.
bool runKernel(const Artifact &artifact, Device &device, const RunRequest &request);

} // namespace tw
#endif
