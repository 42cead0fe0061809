// What tests on a double of a GPU's driver (test/unit/driver_double) have in common: its own
// functions, and launches of a kernel of a pointer, an i32 and a half.
#ifndef TEST_UNIT_BACKEND_DRIVERDOUBLE_H
#define TEST_UNIT_BACKEND_DRIVERDOUBLE_H
#include "backend/Target.h"
#include "runtime/Device.h"
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace tw::test {

/// The build puts the doubles beside the test program.
inline std::string doublePath(const std::string &name) {
  // Found once: a test that becomes another user may no longer look into the folder.
  static const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  return (folder / name).string();
}

/// The arguments that the doubles write down as the address's bytes, 07000000 and 003c.
inline std::vector<LaunchArgument> threeArguments(uint64_t address = 0x0000334455667788) {
  std::vector<LaunchArgument> arguments(3);
  arguments[0].bits = address;
  arguments[1].bits = 0xFFFFFFFF00000007; // the high half is not the parameter's
  arguments[2].bits = 0x3C00;
  return arguments;
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A call of the driver that fails, and the report it becomes.
struct FailureCase {
  const char *words;
  Code code;
  const char *part;
  RuntimeError::Kind kind = RuntimeError::Kind::Device;
};

class DriverTest : public testing::Test {
protected:
  /// Opens the double, whose own functions begin with `prefix`, and forgets what it was told.
  void openDouble(const std::string &path, const std::string &prefix) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    configureDouble = find<void(const char *)>(prefix + "DoubleConfigure");
    readRecord = find<const char *()>(prefix + "DoubleRecord");
    countLive = find<int()>(prefix + "DoubleLiveObjects");
    ASSERT_TRUE(configureDouble && readRecord && countLive);
    configure("");
    numLiveBefore = countLive();
  }
  /// A function of the double; null where it has none.
  template <typename Signature> Signature *find(const std::string &name) {
    return reinterpret_cast<Signature *>(dlsym(library, name.c_str()));
  }

  void configure(const std::string &words) { configureDouble(words.c_str()); }
  std::string record() { return readRecord(); }
  bool hasCalled(const std::string &text) { return record().find(text) != std::string::npos; }
  /// Objects of the driver that were made since the test began and are still there.
  int numLive() { return countLive() - numLiveBefore; }

  /// Loads and launches a kernel; the failure of either.
  std::optional<RuntimeError> launchOnce(Device &device, const Artifact &artifact,
                                         const LaunchGrid &grid) {
    std::shared_ptr<LoadedKernel> kernel = device.load(artifact, error);
    return kernel ? device.launch(*kernel, grid, threeArguments()) : error;
  }

  RuntimeError error;

private:
  void *library = nullptr;
  void (*configureDouble)(const char *) = nullptr;
  const char *(*readRecord)() = nullptr;
  int (*countLive)() = nullptr;
  int numLiveBefore = 0;
};

} // namespace tw::test
#endif
