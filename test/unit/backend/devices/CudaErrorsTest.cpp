// Every failure of the CUDA driver becomes a report with a code and something to do.
#include "runtime/codes/Codes.h"
#include "test/unit/backend/devices/CudaDouble.h"
#include "llvm/ADT/StringRef.h"

using namespace tw;
using namespace tw::test;
using Kind = RuntimeError::Kind;

TEST_F(CudaTest, WithoutALibraryTheReportSaysWhatToInstall) {
  EXPECT_EQ(gpu::openDriver(nvidia::cudaDriver(), "/nowhere/libcuda.so.1", error), nullptr);
  EXPECT_EQ(error.code, Code::NoDriver);
  EXPECT_EQ(error.kind, Kind::Device);
  EXPECT_TRUE(contains(error.message, "/nowhere/libcuda.so.1")) << error.message;
  EXPECT_TRUE(contains(error.hint, "driver")) << error.hint;
}

TEST_F(CudaTest, AnOldDriverIsNamedWithTheVersionThatIsNeeded) {
  EXPECT_EQ(gpu::openDriver(nvidia::cudaDriver(), doublePath("libcuda_double_old.so"), error),
            nullptr);
  EXPECT_EQ(error.code, Code::DriverMismatch);
  EXPECT_TRUE(contains(error.message, "CUDA 10.2")) << error.message;
  EXPECT_TRUE(contains(error.message, "cuGetErrorName")) << error.message;
  EXPECT_TRUE(contains(error.hint, "CUDA 12.0")) << error.hint;
}

TEST_F(CudaTest, OpeningTheDriverReportsItsFailures) {
  configure("fail=cuInit:100");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::NoGpu);
  EXPECT_TRUE(contains(error.message, "CUDA_ERROR_NO_DEVICE from cuInit")) << error.message;
  configure("devices=0");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::NoGpu);
  configure("fail=cuInit:34");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::NoDriver);
  configure("fail=cuInit:803");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::DriverMismatch);
  configure("");
  EXPECT_NE(openGpu(), std::nullopt) << "a later try may succeed";
}

TEST_F(CudaTest, NumbersOutOfRangeNameTheGpusThatAreThere) {
  configure("devices=2");
  EXPECT_EQ(openGpu(2), std::nullopt);
  EXPECT_EQ(error.code, Code::NoSuchGpu);
  EXPECT_EQ(error.kind, Kind::Launch);
  EXPECT_TRUE(contains(error.hint, "cuda:0 to cuda:1")) << error.hint;
  EXPECT_EQ(openGpu(-1), std::nullopt);
  EXPECT_EQ(error.code, Code::NoSuchGpu);
}

TEST_F(CudaTest, OldGpusAreRefused) {
  configure("capability=75");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::GpuTooOld);
  EXPECT_TRUE(contains(error.message, "cuda:0 (Double 0) has compute capability 7.5"))
      << error.message;
}

static constexpr FailureCase kLoadFailures[] = {
    {"fail=cuDevicePrimaryCtxRetain:2", Code::GpuMemoryFull, "no memory left"},
    {"fail=cuDevicePrimaryCtxRetain:46", Code::GpuNotAvailable, "in use"},
    {"fail=cuDevicePrimaryCtxRetain:802", Code::GpuNotAvailable, "not ready"},
    {"fail=cuDevicePrimaryCtxRetain:3", Code::DriverNotInitialized, "not initialized"},
    {"fail=cuDevicePrimaryCtxRetain:807", Code::SharedGpuFailed, "shares the GPU"},
    {"fail=cuCtxPushCurrent:709", Code::GpuContextLost, "context was destroyed"},
    {"fail=cuModuleLoadDataEx:2", Code::GpuMemoryFull, "loading kernel scale"},
    {"fail=cuModuleLoadDataEx:200", Code::DriverRefusesCode, "refuses the code", Kind::Internal},
    {"fail=cuModuleLoadDataEx:218 log=line-7-is-bad", Code::DriverRefusesCode, "line-7-is-bad",
     Kind::Internal},
    {"fail=cuModuleLoadDataEx:221", Code::DriverCannotAssemble, "not installed"},
    {"fail=cuModuleLoadDataEx:222 driver=11040", Code::DriverCannotAssemble, "PTX 8.0"},
    {"fail=cuModuleLoadDataEx:223", Code::DriverCannotAssemble, "may not assemble"},
    {"fail=cuModuleLoadDataEx:900", Code::CapturedStream, "captured"},
    {"fail=cuModuleGetFunction:500", Code::DriverRefusesCode, "no kernel of that name",
     Kind::Internal},
    {"fail=cuFuncGetAttribute:214", Code::GpuHardwareError, "memory error"},
    {"fail=cuFuncGetAttribute:4", Code::DriverNotInitialized, "shutting down"},
};

static constexpr FailureCase kLaunchFailures[] = {
    {"fail=cuLaunchKernel:701", Code::TooManyThreads, "too few registers", Kind::Launch},
    {"fail=cuLaunchKernel:2", Code::GpuMemoryFull, "launching kernel scale"},
    {"fail=cuLaunchKernel:214", Code::GpuHardwareError,
     "CUDA_ERROR_ECC_UNCORRECTABLE from cuLaunchKernel"},
    {"fail=cuLaunchKernel:220", Code::GpuHardwareError, "link"},
    {"fail=cuLaunchKernel:810", Code::SharedGpuFailed, "another process"},
    {"fail=cuLaunchKernel:901", Code::CapturedStream, "capture"},
    {"fail=cuLaunchKernel:999", Code::DriverFailure, "error 999 from cuLaunchKernel"},
    {"fail=cuLaunchKernel:1", Code::DriverFailure, "the driver's own words"},
    {"fail=cuCtxPushCurrent@2:709", Code::GpuContextLost, "launching kernel scale"},
};

TEST_F(CudaTest, LoadingReportsEachFailureOfTheDriver) {
  for (const FailureCase &expected : kLoadFailures) {
    configure(expected.words);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr) << expected.words;
    error = {};
    EXPECT_EQ(device->load(cudaArtifact(), error), nullptr) << expected.words;
    EXPECT_EQ(error.code, expected.code) << expected.words;
    EXPECT_EQ(error.kind, expected.kind) << expected.words;
    EXPECT_TRUE(contains(error.message, expected.part)) << error.message;
    EXPECT_NE(error.hint, "") << expected.words;
    EXPECT_EQ(numLive(), 0) << expected.words;
  }
}

TEST_F(CudaTest, LaunchingReportsEachFailureOfTheDriver) {
  for (const FailureCase &expected : kLaunchFailures) {
    configure(expected.words);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr) << expected.words;
    std::optional<RuntimeError> failure = runOnce(*device);
    ASSERT_TRUE(failure) << expected.words;
    EXPECT_EQ(failure->code, expected.code) << expected.words;
    EXPECT_EQ(failure->kind, expected.kind) << expected.words;
    EXPECT_TRUE(contains(failure->message, expected.part)) << failure->message;
    EXPECT_NE(failure->hint, "") << expected.words;
    configure("");
    EXPECT_FALSE(device->synchronize());
    EXPECT_EQ(numLive(), 0) << expected.words;
  }
}

static constexpr FailureCase kKernelFailures[] = {
    {"kernel=700", Code::GpuOutOfBounds, "may not access"},
    {"kernel=702", Code::GpuTimeout, "longer"},
    {"kernel=710", Code::DeviceAssert, "assertion"},
    {"kernel=714", Code::GpuKernelFailed, "call stack"},
    {"kernel=715", Code::GpuKernelFailed, "illegal instruction"},
    {"kernel=716", Code::GpuMisalignedAccess, "misaligned"},
    {"kernel=717", Code::GpuOutOfBounds, "wrong kind"},
    {"kernel=718", Code::GpuKernelFailed, "invalid address"},
    {"kernel=719", Code::GpuKernelFailed, "does not say why"},
};

TEST_F(CudaTest, AFailedKernelIsReportedByTheNextCallAndByEveryOneAfterIt) {
  for (const FailureCase &expected : kKernelFailures) {
    configure(std::string("capability=90 ") + expected.words);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr);
    std::shared_ptr<LoadedKernel> kernel = device->load(cudaArtifact(), error);
    ASSERT_NE(kernel, nullptr) << error.message;
    EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments()))
        << "launches return at once";
    std::optional<RuntimeError> next = device->launch(*kernel, {{1, 1, 1}}, threeArguments());
    std::optional<RuntimeError> waited = device->synchronize();
    Artifact other = cudaArtifact();
    EXPECT_EQ(device->load(other, error), nullptr);
    ASSERT_TRUE(next && waited) << expected.words;
    for (const RuntimeError *failure :
         std::initializer_list<const RuntimeError *>{&*next, &*waited, &error}) {
      EXPECT_EQ(failure->code, expected.code) << failure->message;
      EXPECT_EQ(failure->kind, Kind::Device);
      EXPECT_TRUE(contains(failure->message, expected.part)) << failure->message;
      EXPECT_TRUE(contains(failure->message, "the last ones launched were scale"))
          << failure->message;
    }
    bool isAssertion = expected.code == Code::DeviceAssert;
    EXPECT_TRUE(contains(next->hint, isAssertion ? "standard output" : "sim:sm_90a")) << next->hint;
    configure("");
    kernel.reset();
    EXPECT_FALSE(device->synchronize());
    EXPECT_EQ(numLive(), 0);
  }
}
