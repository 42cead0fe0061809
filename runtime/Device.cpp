// Words for what launches report, and what devices have that say nothing of it.
#include "runtime/DeviceMemory.h"
#include "runtime/codes/Codes.h"

using namespace tw;

std::string tw::describeElement(const LaunchArgument &argument, const std::string &name,
                                uint64_t address, int64_t bytes) {
  int64_t distance = int64_t(address - argument.bits);
  int64_t index = distance / bytes - (distance % bytes < 0);
  std::string text = "element " + std::to_string(index) + " of argument '" + name + "'";
  if (argument.bits == 0 || argument.allocationBase == 0)
    return text; // null, or of memory that is not known
  int64_t first = int64_t(argument.allocationBase - argument.bits) / bytes;
  int64_t end = int64_t(argument.allocationBase + argument.bytes - argument.bits) / bytes;
  if (first >= end)
    return text + ", which holds no element";
  return text + ", which holds elements " + std::to_string(first) + " to " +
         std::to_string(end - 1);
}

RuntimeError tw::tooManyTogether(const LaunchGrid &grid, const std::string &kernel, uint64_t most,
                                 const std::string &reason) {
  return {RuntimeError::Kind::Launch, Code::CooperativeGrid,
          "the cooperative grid of kernel " + kernel + " has " +
              std::to_string(grid.numPrograms()) + " programs, and at most " +
              std::to_string(most) + " run at the same time: " + reason,
          "launch at most " + std::to_string(most) +
              ", each of which loops over its share of the tiles"};
}

RuntimeError tw::tooFewThreads(const LaunchGrid &grid, const std::string &kernel) {
  return {RuntimeError::Kind::Launch, Code::CooperativeGrid,
          "the cooperative grid of kernel " + kernel + " needs " +
              std::to_string(grid.numPrograms()) + " threads, and the system gave fewer",
          "launch fewer programs, each of which loops over its share of the tiles"};
}

std::shared_ptr<DeviceMemory> Device::allocate(uint64_t bytes, RuntimeError &error) {
  error = {RuntimeError::Kind::Launch, Code::UnknownDevice,
           "`" + name() + "` has no memory of its own", "kernels there take arrays of the host"};
  return nullptr;
}
