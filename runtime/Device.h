// A thing that runs compiled kernels: the CPU, the reference interpreter, a GPU.
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H
#include "runtime/Artifact.h"
#include "runtime/codes/Code.h"
#include <array>
#include <memory>
#include <optional>
#include <span>

namespace tw {

/// A failure at run time; `code` is stable and `message` is for people.
struct RuntimeError {
  using Kind = DiagnosticKind;
  Kind kind = Kind::Launch;
  Code code = kUncoded;
  std::string message, hint;
};

/// One argument of a launch. A scalar's bits are in the low bytes of `bits`; a pointer's address is
/// `bits`. `bytes` and `isReadOnly` describe the memory behind a pointer, 0 when unknown.
struct LaunchArgument {
  uint64_t bits = 0;
  uint64_t allocationBase = 0; // address of the first byte of the tensor's memory
  uint64_t bytes = 0;          // size of that memory from `allocationBase`
  bool isReadOnly = false;
  uint8_t skippedBytes = 0; // modulo 256, of the allocation before `allocationBase`
};

/// "element 12 of argument 'x', which holds elements -4 to 7", counted from its pointer; `address`
/// is that of an element of `bytes` bytes.
std::string describeElement(const LaunchArgument &argument, const std::string &name,
                            uint64_t address, int64_t bytes);

struct SimulationOptions;

/// A launch: its programs, and the options that its kernel's code knows nothing of.
struct LaunchGrid {
  std::array<int32_t, 3> programs = {1, 1, 1};
  uint64_t stream = 0; // of GPUs: the driver's handle of the stream to launch on; 0: its default
  /// All programs run at the same time, so that they may wait for each other; refused where the
  /// device does not hold so many.
  bool isCooperative = false;
  /// How the launch runs on simulated devices and `reference`; null: as is usual
  /// (runtime/Simulation.h).
  const SimulationOptions *simulation = nullptr;
  uint64_t numPrograms() const {
    return uint64_t(programs[0]) * uint64_t(programs[1]) * uint64_t(programs[2]);
  }
};

/// The flags among those options, in the order of Python's
/// (`Chosen` of python/tilewright/launch/options.py).
inline constexpr bool LaunchGrid::*kLaunchFlags[] = {&LaunchGrid::isCooperative};

/// The refusal of a cooperative grid of which `most` programs run at the same time, as `reason`
/// says.
RuntimeError tooManyTogether(const LaunchGrid &grid, const std::string &kernel, uint64_t most,
                             const std::string &reason);
/// Programs of a cluster along each axis, as a kernel is compiled for.
using ClusterExtents = std::array<int64_t, 3>;
/// Reads the clusters of a kernel; {1, 1, 1}: it has none.
ClusterExtents clustersOf(const Artifact &artifact);
/// Refuses a grid that is not divided into a kernel's clusters, or is cooperative besides.
std::optional<RuntimeError> checkClusters(const LaunchGrid &grid, const ClusterExtents &clusters,
                                          const std::string &kernel);
/// The refusal of a cooperative grid for whose programs the system has too few threads.
RuntimeError tooFewThreads(const LaunchGrid &grid, const std::string &kernel);

/// A function of a loaded kernel, where the processor of this process runs it.
struct CodeRange {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

/// A kernel that a device has loaded; destroying it unloads the code.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  /// The functions in this process's memory; none of kernels that something else runs.
  virtual std::span<const CodeRange> codeRanges() const { return {}; }
  /// Returns true if launches have to say what memory is behind their pointers.
  virtual bool needsMemory() const { return false; }
};

class DeviceMemory;
class SimulatedDevice;

class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) = 0;
  /// Runs the whole grid and returns when it has finished (CPU devices) or is enqueued (GPUs).
  virtual std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                             std::span<const LaunchArgument> arguments) = 0;
  /// Waits until everything that was launched has finished; says what failed in the meantime.
  virtual std::optional<RuntimeError> synchronize() { return std::nullopt; }
  /// Memory of the device's own; null with a reason in `error`.
  virtual std::shared_ptr<DeviceMemory> allocate(uint64_t bytes, RuntimeError &error);
  /// The threads that run programs, 0 where they do not concern the host. Setting them (0: one
  /// for each core) waits for a running grid; false, and nothing changes, when that is a grid of
  /// this very thread, the wait is interrupted, or there are none to set.
  virtual int numThreads() { return 0; }
  virtual bool setNumThreads(int count) { return false; }
  /// Returns the nanoseconds that launches have run in this process by the device's clock; 0 where
  /// it has none of its own.
  virtual uint64_t kernelNanoseconds() const { return 0; }
  /// This device where it simulates another machine (runtime/Simulation.h), else null.
  virtual SimulatedDevice *asSimulated() { return nullptr; }
};

} // namespace tw
#endif
