// Runs a compiled kernel from the command line: launches, timing, checksums of the arrays.
#include "backend/tools/RunKernel.h"
#include "backend/tools/SyntheticArguments.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>

using namespace tw;

static bool fail(const RuntimeError &error) {
  llvm::errs() << "error[" << tw::codeName(error.code) << "]: " << error.message << "\n";
  if (!error.hint.empty())
    llvm::errs() << " = hint: " << error.hint << "\n";
  return false;
}

static bool parseGrid(llvm::StringRef text, LaunchGrid &grid) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  if (parts.size() > 3)
    return false;
  for (auto [part, extent] : llvm::zip(parts, grid.programs))
    if (part.trim().getAsInteger(10, extent))
      return false;
  return true;
}

static bool parseArguments(const RunRequest &request, std::vector<SyntheticArgument> &arguments) {
  for (const std::string &text : request.arguments) {
    std::string error;
    SyntheticArgument argument;
    if (!parseArgument(text, arguments.size() + 1, argument, error)) {
      llvm::errs() << "error: " << error << "\n";
      return false;
    }
    arguments.push_back(std::move(argument));
  }
  return true;
}

/// The sum and the position-weighted sum of an array: a changed or moved element shows.
static void printArray(size_t position, const SyntheticArgument &array, unsigned numShown) {
  double sum = 0, weighted = 0;
  for (uint64_t i = 0; i < array.numElements; ++i) {
    double value = array.element(i);
    sum += value;
    weighted += value * double(i % 1021 + 1);
  }
  llvm::outs() << llvm::formatv("arg {0} {1}[{2}] sum {3:F6} weighted {4:F6}\n", position,
                                array.type, array.numElements, sum, weighted);
  uint64_t shown = std::min<uint64_t>(numShown, array.numElements);
  for (uint64_t i = 0; i < shown; ++i)
    llvm::outs() << llvm::format("%.7g", array.element(i)) << (i + 1 == shown ? "\n" : " ");
}

bool tw::runKernel(const Artifact &artifact, Device &device, const RunRequest &request) {
  LaunchGrid grid;
  if (!parseGrid(request.grid, grid)) {
    llvm::errs() << "error: grid `" << request.grid << "` is not like 4 or 4,2,1\n";
    return false;
  }
  std::vector<SyntheticArgument> arguments;
  if (!parseArguments(request, arguments))
    return false;
  std::vector<LaunchArgument> launchArguments;
  for (const SyntheticArgument &argument : arguments)
    launchArguments.push_back(argument.launchArgument());

  RuntimeError error;
  std::shared_ptr<LoadedKernel> kernel = device.load(artifact, error);
  if (!kernel)
    return fail(error);
  if (auto failure = device.launch(*kernel, grid, launchArguments))
    return fail(*failure);
  // Before the timed launches: a kernel that updates its arguments changes them every time.
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isArray)
      printArray(i, arguments[i], request.numShown);

  std::vector<double> microseconds;
  for (unsigned i = 0; i < request.numTimed; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (auto failure = device.launch(*kernel, grid, launchArguments))
      return fail(*failure);
    std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    microseconds.push_back(elapsed.count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  if (!microseconds.empty())
    llvm::outs() << llvm::formatv("launch median {0:F1} us, least {1:F1} us of {2}\n",
                                  microseconds[microseconds.size() / 2], microseconds.front(),
                                  microseconds.size());
  return true;
}
