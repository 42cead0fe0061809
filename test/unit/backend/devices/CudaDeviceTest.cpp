// The CUDA device on a double of the driver: what it loads, and what it passes to launches.
#include "backend/gpu/device/GpuMemory.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/devices/CudaDouble.h"
#include "llvm/ADT/StringRef.h"
#include <thread>

using namespace tw;
using namespace tw::test;

TEST(CudaArchs, AreTheGpusOwnOrThePtxOfAnOlderOne) {
  struct Case {
    int capability;
    const char *arch;
    bool isExact;
  };
  for (auto [capability, arch, isExact] :
       {Case{80, "sm_80", true}, Case{86, "sm_86", true}, Case{87, "sm_86", false},
        Case{89, "sm_89", true}, Case{90, "sm_90a", true}, Case{100, "sm_100a", true},
        // Code for sm_100a runs on nothing else.
        Case{103, "sm_89", false}, Case{120, "sm_120", true}, Case{121, "sm_120", false}}) {
    CudaArchChoice choice = chooseCudaArch(capability);
    ASSERT_NE(choice.arch, nullptr) << capability;
    EXPECT_EQ(choice.arch->name, arch) << capability;
    EXPECT_EQ(choice.isExact, isExact) << capability;
  }
  EXPECT_EQ(chooseCudaArch(75).arch, nullptr);
}

TEST_F(CudaTest, LaunchesPassWhatThePtxDeclares) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr) << error.message;
  EXPECT_EQ(device->name(), "cuda:0");
  std::optional<RuntimeError> failure = runOnce(*device, {{4, 2, 3}, 0x77});
  EXPECT_FALSE(failure) << failure->message;
  EXPECT_TRUE(hasCalled("cuLaunchKernel scale grid=4,2,3 threads=128,1,1 shared=0 stream=0x77 "
                        "parameters=8877665544330000,07000000,003c\n"))
      << record();
  EXPECT_FALSE(hasCalled("cuCtxSynchronize")) << "launches do not wait";
  EXPECT_FALSE(hasCalled("cuFuncSetAttribute")) << "nothing is to be asked for";
}

TEST_F(CudaTest, KernelsThatWaitForEarlierLaunchesMayBeginBeforeThoseEnd) {
  configure("capability=90");
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr) << error.message;
  Artifact early = cudaArtifact();
  early.resources["early_launch"] = 1;
  LaunchGrid grid{{4, 2, 3}, 0x77};
  std::optional<RuntimeError> failure = launchOnce(*device, early, grid);
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_TRUE(hasCalled("cuLaunchKernelEx scale grid=4,2,3 threads=128,1,1 shared=0 stream=0x77 "
                        "parameters=8877665544330000,07000000,003c early\n"))
      << record();
  // All programs together are launched as ever: the waits are over at once.
  configure("capability=90");
  grid.isCooperative = true;
  grid.programs = {2, 1, 1};
  ASSERT_FALSE(launchOnce(*device, early, grid));
  EXPECT_FALSE(hasCalled("cuLaunchKernelEx")) << record();
  configure("capability=90 fail=cuLaunchKernelEx:701");
  failure = launchOnce(*device, early, {{4, 2, 3}, 0x77});
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->message.find("cuLaunchKernelEx"), std::string::npos) << failure->message;
}

TEST_F(CudaTest, GridsAreDividedIntoClusters) {
  configure("capability=90");
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr) << error.message;
  Artifact clustered = cudaArtifact();
  clustered.resources["cluster_x"] = 2;
  // The code says by itself how large its clusters are.
  ASSERT_FALSE(launchOnce(*device, clustered, {{4, 2, 3}, 0x77}));
  EXPECT_TRUE(hasCalled("cuLaunchKernel scale grid=4,2,3")) << record();
  std::optional<RuntimeError> failure = launchOnce(*device, clustered, {{3, 2, 3}, 0x77});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::BadGrid);
  EXPECT_NE(failure->message.find("clusters of (2, 1, 1)"), std::string::npos) << failure->message;
  LaunchGrid together{{4, 1, 1}, 0x77};
  together.isCooperative = true;
  failure = launchOnce(*device, clustered, together);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::DeviceLacksOption);
}

TEST_F(CudaTest, NothingIsOpenedBeforeItIsNeeded) {
  std::optional<CudaGpu> gpu = openGpu();
  ASSERT_TRUE(gpu);
  std::shared_ptr<Device> device = gpu::makeGpuDevice(gpu->context);
  EXPECT_FALSE(device->synchronize());
  EXPECT_FALSE(hasCalled("cuDevicePrimaryCtxRetain")) << record();
  ASSERT_NE(device->load(cudaArtifact(), error), nullptr) << error.message;
  EXPECT_TRUE(hasCalled("cuDevicePrimaryCtxRetain")) << record();
  gpu.reset();
  device.reset();
  EXPECT_TRUE(hasCalled("cuDevicePrimaryCtxRelease")) << record();
}

TEST_F(CudaTest, TheCallersContextIsCurrentAgainAfterwards) {
  configure("devices=2");
  std::shared_ptr<Device> first = openDevice(0), second = openDevice(1);
  ASSERT_TRUE(first && second) << error.message;
  ASSERT_FALSE(runOnce(*first));
  void *contextOfFirst = reinterpret_cast<void *>(1), *popped = nullptr;
  ASSERT_EQ(pushContext(contextOfFirst), 0);
  EXPECT_FALSE(runOnce(*second));
  EXPECT_FALSE(second->synchronize());
  ASSERT_EQ(popContext(&popped), 0);
  EXPECT_EQ(popped, contextOfFirst);
  EXPECT_NE(popContext(&popped), 0) << "nothing else was left on the stack";
}

TEST_F(CudaTest, LaunchesFromThreadsWithoutAContextWork) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  std::shared_ptr<LoadedKernel> kernel = device->load(cudaArtifact(), error);
  ASSERT_NE(kernel, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> numFailures = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j)
        numFailures += device->launch(*kernel, {{1, 1, 1}}, threeArguments()).has_value();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numFailures, 0);
  EXPECT_EQ(llvm::StringRef(record()).count("cuLaunchKernel scale"), 200u);
}

TEST_F(CudaTest, MuchSharedMemoryIsAskedFor) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  std::shared_ptr<LoadedKernel> kernel = device->load(cudaArtifact(8, 100000), error);
  ASSERT_NE(kernel, nullptr) << error.message;
  EXPECT_TRUE(hasCalled("cuFuncSetAttribute 8=100000\n")) << record();
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments()));
  EXPECT_TRUE(hasCalled("threads=256,1,1 shared=100000")) << record();
}

TEST_F(CudaTest, WhatTheDriverReservesTakesNoSharedMemoryAway) {
  configure("capability=90 static_shared=1024");
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  for (auto [bytes, launched] :
       {std::pair(32, "shared=32 "), std::pair(100000, "shared=100000 ")}) {
    std::shared_ptr<LoadedKernel> kernel = device->load(cudaArtifact(4, bytes), error);
    ASSERT_NE(kernel, nullptr) << error.message;
    EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments()));
    EXPECT_TRUE(hasCalled(launched)) << record();
  }
  EXPECT_TRUE(hasCalled("cuFuncSetAttribute 8=100000\n")) << record();
}

TEST_F(CudaTest, TooMuchSharedMemoryNamesTheBuffers) {
  configure("shared_limit=101376");
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  Artifact artifact = cudaArtifact(4, 120000);
  artifact.sharedBuffers = {{"transpose at line 7", 0, 90000}, {"sum at line 9", 90000, 30000}};
  EXPECT_EQ(device->load(artifact, error), nullptr);
  EXPECT_EQ(error.code, Code::SharedMemoryExceeded);
  EXPECT_EQ(error.kind, RuntimeError::Kind::Launch);
  EXPECT_NE(error.message.find("120000 bytes of shared memory (transpose at line 7 90000, "
                               "sum at line 9 30000), and a program on cuda:0 may have 101376"),
            std::string::npos)
      << error.message;
  EXPECT_EQ(numLive(), 0);
}

TEST_F(CudaTest, TooManyThreadsForTheRegistersAreRefusedAtLoad) {
  configure("max_threads=256");
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->load(cudaArtifact(16), error), nullptr);
  EXPECT_EQ(error.code, Code::TooManyThreads);
  EXPECT_NE(error.message.find("512 threads of 256 registers"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("at most 256"), std::string::npos) << error.message;
  EXPECT_NE(device->load(cudaArtifact(8), error), nullptr);
}

TEST_F(CudaTest, GridsAreChecked) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  for (LaunchGrid grid : {LaunchGrid{{-1, 1, 1}}, LaunchGrid{{1, 65536, 1}}, {{1, 1, 65536}}}) {
    std::optional<RuntimeError> failure = runOnce(*device, grid);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Code::BadGrid);
  }
  for (LaunchGrid grid : {LaunchGrid{{0, 1, 1}}, LaunchGrid{{1, 0, 1}}, LaunchGrid{{1, 1, 0}}})
    EXPECT_FALSE(runOnce(*device, grid));
  EXPECT_FALSE(hasCalled("cuLaunchKernel"));
  EXPECT_FALSE(runOnce(*device, {{0x7FFFFFFF, 65535, 65535}}));
  EXPECT_TRUE(hasCalled("grid=2147483647,65535,65535")) << record();
}

TEST_F(CudaTest, ArgumentsAreChecked) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  std::shared_ptr<LoadedKernel> kernel = device->load(cudaArtifact(), error);
  ASSERT_NE(kernel, nullptr);
  std::vector<LaunchArgument> arguments = threeArguments();
  arguments[0].isReadOnly = true;
  std::optional<RuntimeError> failure = device->launch(*kernel, {{1, 1, 1}}, arguments);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::ReadOnlyArgument);
  arguments.pop_back();
  failure = device->launch(*kernel, {{1, 1, 1}}, arguments);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::LaunchArguments);
  EXPECT_FALSE(hasCalled("cuLaunchKernel"));
}

TEST_F(CudaTest, MachineCodeIsPreferredAndPtxReplacesWhatTheDriverRefuses) {
  Artifact artifact = cudaArtifact();
  artifact.assembled = "\177ELF machine code";
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  EXPECT_NE(device->load(artifact, error), nullptr) << error.message;
  EXPECT_TRUE(hasCalled("cuModuleLoadDataEx machine code")) << record();
  EXPECT_FALSE(hasCalled("cuModuleLoadDataEx PTX")) << record();
  configure("machine_code=refused");
  EXPECT_NE(device->load(artifact, error), nullptr) << error.message;
  EXPECT_TRUE(hasCalled("cuModuleLoadDataEx PTX")) << record();
  configure("fail=cuModuleLoadDataEx:2");
  EXPECT_EQ(device->load(artifact, error), nullptr)
      << "a lack of memory is not a reason to try PTX";
  EXPECT_FALSE(hasCalled("cuModuleLoadDataEx PTX")) << record();
}

TEST_F(CudaTest, ModulesAreUnloadedWhenNothingRunsThemAnyMore) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  ASSERT_NE(device->load(cudaArtifact(), error), nullptr);
  EXPECT_EQ(numLive(), 0) << "it was never launched";
  ASSERT_FALSE(runOnce(*device));
  EXPECT_EQ(numLive(), 1) << "its kernel may still run";
  EXPECT_FALSE(device->synchronize());
  EXPECT_EQ(numLive(), 0);
  for (int i = 0; i < 100; ++i)
    ASSERT_FALSE(runOnce(*device));
  EXPECT_LE(numLive(), 40) << "some are unloaded without a synchronize";
  EXPECT_FALSE(device->synchronize());
  EXPECT_EQ(numLive(), 0);
}

TEST_F(CudaTest, ModulesAreKeptWhileWaitingFails) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  ASSERT_FALSE(runOnce(*device));
  configure("fail=cuCtxSynchronize:900");
  std::optional<RuntimeError> failure = device->synchronize();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::CapturedStream);
  EXPECT_EQ(numLive(), 1);
  configure("");
  EXPECT_FALSE(device->synchronize());
  EXPECT_EQ(numLive(), 0);
}

TEST_F(CudaTest, MemoryHoldsWhatIsCopied) {
  std::optional<CudaGpu> gpu = openGpu();
  ASSERT_TRUE(gpu);
  {
    auto memory = gpu::GpuMemory::allocate(gpu->context, 12, error);
    ASSERT_NE(memory, nullptr) << error.message;
    int sent[] = {1, -2, 3}, received[] = {0, 0, 0};
    EXPECT_FALSE(memory->copyFrom(sent));
    EXPECT_FALSE(memory->copyTo(received));
    EXPECT_TRUE(std::ranges::equal(sent, received));
    EXPECT_NE(gpu::GpuMemory::allocate(gpu->context, 0, error), nullptr) << error.message;
    EXPECT_EQ(numLive(), 1);
  }
  EXPECT_EQ(numLive(), 0);
  EXPECT_EQ(gpu::GpuMemory::allocate(gpu->context, size_t(1) << 50, error), nullptr);
  EXPECT_EQ(error.code, Code::GpuMemoryFull);
}

TEST_F(CudaTest, TimersMeasureBetweenTwoEvents) {
  std::optional<CudaGpu> gpu = openGpu();
  ASSERT_TRUE(gpu);
  float milliseconds = 0;
  {
    auto timer = gpu::GpuTimer::create(gpu->context, error);
    ASSERT_NE(timer, nullptr) << error.message;
    EXPECT_FALSE(timer->start(0x77));
    EXPECT_FALSE(timer->stop(0x77, milliseconds));
    EXPECT_EQ(milliseconds, 0.25f);
  }
  EXPECT_EQ(numLive(), 0);
  configure("fail=cuEventCreate@2:2");
  EXPECT_EQ(gpu::GpuTimer::create(gpu->context, error), nullptr);
  EXPECT_EQ(error.code, Code::GpuMemoryFull);
  configure("");
  EXPECT_EQ(numLive(), 0);
}
