// Drives the double of libOpenCL (test/unit/opencl_double) in tests of OpenCL devices.
#ifndef TEST_UNIT_BACKEND_OPENCLDOUBLE_H
#define TEST_UNIT_BACKEND_OPENCLDOUBLE_H
#include "backend/spirv/device/OpenClContext.h"
#include "backend/spirv/device/OpenClDevice.h"
#include "backend/spirv/device/OpenClProgram.h"
#include "test/unit/backend/devices/DriverDouble.h"

namespace tw::test {

inline std::string openClDoublePath() { return doublePath("libopencl_double.so"); }

/// A module of SPIR-V that has these capabilities and nothing else.
inline std::string moduleWith(const std::vector<uint32_t> &capabilities) {
  std::vector<uint32_t> words = {0x07230203, 0x00010400, 0, 1, 0};
  for (uint32_t capability : capabilities)
    words.insert(words.end(), {2 << 16 | 17, capability});
  words.insert(words.end(), {3 << 16 | 14, 2, 2}); // OpMemoryModel
  return std::string(reinterpret_cast<const char *>(words.data()), words.size() * 4);
}

/// A kernel of a pointer, an i32 and a half, of 4 subgroups of 16 lanes.
inline Artifact openClArtifact(const std::vector<uint32_t> &capabilities = {}) {
  Artifact artifact;
  artifact.symbol = "add";
  artifact.binary = moduleWith(capabilities);
  artifact.resources = {{"threads", 64}, {"num_warps", 4}, {"shared_bytes", 0}};
  artifact.parameters = {{"out", "*i32", true, false, 0},
                         {"n", "i32", false, false, 1},
                         {"s", "fp16", false, false, 2}};
  return artifact;
}

class OpenClTest : public DriverTest {
protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(openDouble(openClDoublePath(), "opencl")); }

  /// The context of a device, or null with `error`.
  std::shared_ptr<spirv::OpenClContext> openContext(const std::string &access = "", int index = 0) {
    auto driver = spirv::openOpenCl({{openClDoublePath()}, access}, error);
    return driver ? std::make_shared<spirv::OpenClContext>(driver, index, "sim:generic16")
                  : nullptr;
  }
  std::shared_ptr<Device> openDevice(const std::string &access = "") {
    auto context = openContext(access);
    return context ? spirv::makeOpenClDevice(context) : nullptr;
  }
  /// Why a kernel is not loaded on a device as the words say.
  RuntimeError refusal(const std::string &words, const Artifact &artifact) {
    configure(words);
    auto device = openDevice();
    EXPECT_TRUE(device) << error.message;
    EXPECT_FALSE(device && device->load(artifact, error));
    return error;
  }
};

} // namespace tw::test
#endif
