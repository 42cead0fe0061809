// The HIP device on a double of the runtime: what it loads, and what it passes to launches.
#include "backend/gpu/device/GpuMemory.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/devices/HipDouble.h"

using namespace tw;
using namespace tw::test;

TEST_F(HipTest, LaunchesPassWhatTheCodeObjectDeclares) {
  for (auto [arch, threads] : {std::pair("gfx942", "256"), std::pair("gfx1100", "128")}) {
    configure(std::string("arch=") + arch);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr) << error.message;
    EXPECT_EQ(device->name(), "hip:0");
    std::optional<RuntimeError> failure = runOnce(*device, hipArtifact(arch), {{4, 2, 3}, 0x77});
    EXPECT_FALSE(failure) << failure->message;
    EXPECT_TRUE(
        hasCalled("hipModuleLaunchKernel number grid=4,2,3 threads=" + std::string(threads) +
                  ",1,1 shared=0 stream=0x77 "
                  "parameters=8877665544330000,07000000,003c\n"))
        << record();
    EXPECT_FALSE(hasCalled("hipDeviceSynchronize")) << "launches do not wait";
    EXPECT_FALSE(device->synchronize());
  }
}

TEST_F(HipTest, EachGpuIsCompiledForByItsOwnName) {
  configure("arch=gfx1201");
  std::optional<HipGpu> gpu = openGpu();
  ASSERT_TRUE(gpu) << error.message;
  EXPECT_EQ(gpu->arch->name, "gfx1201");
}

TEST_F(HipTest, TheCallersDeviceIsCurrentAgainAfterwards) {
  configure("devices=2");
  std::shared_ptr<Device> second = openDevice(1);
  ASSERT_NE(second, nullptr) << error.message;
  for (int before : {0, 1}) {
    ASSERT_EQ(chooseDevice(before), 0);
    EXPECT_FALSE(runOnce(*second, hipArtifact()));
    EXPECT_FALSE(second->synchronize());
    EXPECT_TRUE(hasCalled("hipDeviceSynchronize 1\n")) << record();
    int after = -1;
    ASSERT_EQ(currentDevice(&after), 0);
    EXPECT_EQ(after, before);
  }
  ASSERT_EQ(chooseDevice(0), 0);
}

TEST_F(HipTest, NothingWaitsForAGpuThatWasNotUsed) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  EXPECT_FALSE(device->synchronize());
  EXPECT_FALSE(hasCalled("hipSetDevice")) << record();
  EXPECT_FALSE(hasCalled("hipDeviceSynchronize")) << record();
}

TEST_F(HipTest, LaunchesExecuteTheIrThatTheCodeObjectCarries) {
  for (const char *arch : {"gfx942", "gfx1100"}) {
    configure(std::string("arch=") + arch + " execute=" + arch);
    std::optional<HipGpu> gpu = openGpu();
    ASSERT_TRUE(gpu) << error.message;
    std::shared_ptr<Device> device = gpu::makeGpuDevice(gpu->context);
    Artifact artifact = hipArtifact(arch, /*numWarps=*/1, AmdCode::HsacoWithIr);
    std::shared_ptr<LoadedKernel> kernel = device->load(artifact, error);
    ASSERT_NE(kernel, nullptr) << error.message;
    std::vector<int32_t> numbers(gpu->arch->warpSize, -1);
    auto memory = gpu::GpuMemory::allocate(gpu->context, 4 * numbers.size(), error);
    ASSERT_NE(memory, nullptr) << error.message;
    EXPECT_FALSE(memory->copyFrom(numbers.data()));
    std::optional<RuntimeError> failure =
        device->launch(*kernel, {{1, 1, 1}}, threeArguments(memory->address()));
    EXPECT_FALSE(failure) << failure->message;
    failure = memory->copyTo(numbers.data());
    EXPECT_FALSE(failure) << failure->message << record();
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i], int32_t(i) + 7);
    EXPECT_EQ(device->load(hipArtifact(arch), error), nullptr) << "it carries no IR";
    EXPECT_EQ(error.code, Code::DriverRefusesCode);
  }
}

TEST_F(HipTest, TheIrChangesNothingThatIsLoaded) {
  Artifact plain = hipArtifact(), withIr = hipArtifact("gfx942", 4, AmdCode::HsacoWithIr);
  EXPECT_EQ(plain.resources, withIr.resources);
  EXPECT_EQ(plain.codeBytes, withIr.codeBytes);
  EXPECT_EQ(plain.assembled.find("target triple"), std::string::npos);
  EXPECT_NE(withIr.assembled.find("target triple"), std::string::npos);
  EXPECT_NE(makeAmdTarget("gfx942")->describe(),
            makeAmdTarget("gfx942", AmdCode::HsacoWithIr)->describe());
}

TEST_F(HipTest, ModulesAreUnloadedWhenNothingRunsThemAnyMore) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  Artifact artifact = hipArtifact();
  ASSERT_NE(device->load(artifact, error), nullptr);
  EXPECT_EQ(numLive(), 0) << "it was never launched";
  for (int i = 0; i < 100; ++i)
    ASSERT_FALSE(runOnce(*device, artifact));
  EXPECT_GE(numLive(), 1) << "its kernel may still run";
  EXPECT_LE(numLive(), 40) << "some are unloaded without a synchronize";
  EXPECT_FALSE(device->synchronize());
  EXPECT_EQ(numLive(), 0);
}

/// What lies above an address would be the stride of a buffer.
TEST_F(HipTest, AddressesAreCheckedForWhatLiesAboveThem) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  std::shared_ptr<LoadedKernel> kernel = device->load(hipArtifact(), error);
  ASSERT_NE(kernel, nullptr) << error.message;
  constexpr uint64_t end = uint64_t(1) << 48;
  for (uint64_t address : {uint64_t(0), end - 16}) // an empty array has no address
    EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments(address)));
  for (uint64_t address : {end, ~uint64_t(15)}) {
    std::optional<RuntimeError> failure =
        device->launch(*kernel, {{1, 1, 1}}, threeArguments(address));
    ASSERT_TRUE(failure) << address;
    EXPECT_EQ(failure->code, Code::UnpassableArgument);
    EXPECT_NE(failure->message.find("48 bits"), std::string::npos) << failure->message;
  }
}

TEST_F(HipTest, GridsAreCheckedByProgramsAndByThreads) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  Artifact artifact = hipArtifact("gfx942", /*numWarps=*/4);
  constexpr int32_t most = 0xFFFFFFFF / 256;
  EXPECT_FALSE(runOnce(*device, artifact, {{most, 1, 1}}));
  for (LaunchGrid grid : {LaunchGrid{{most + 1, 1, 1}}, LaunchGrid{{1, 65536, 1}}}) {
    std::optional<RuntimeError> failure = runOnce(*device, artifact, grid);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Code::BadGrid);
    EXPECT_NE((failure->message + failure->hint).find(std::to_string(most)), std::string::npos)
        << failure->message;
  }
}
