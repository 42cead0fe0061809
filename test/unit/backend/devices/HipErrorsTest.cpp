// Every failure of the HIP runtime becomes a report with a code and something to do.
#include "runtime/codes/Codes.h"
#include "test/unit/backend/devices/HipDouble.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tw;
using namespace tw::test;
using Kind = RuntimeError::Kind;

TEST_F(HipTest, WithoutALibraryTheReportSaysWhatToInstall) {
  EXPECT_EQ(gpu::openDriver(amd::hipDriver(), "/nowhere/libamdhip64.so", error), nullptr);
  EXPECT_EQ(error.code, Code::NoDriver);
  EXPECT_TRUE(contains(error.message, "/nowhere/libamdhip64.so")) << error.message;
  EXPECT_TRUE(contains(error.hint, "ROCm")) << error.hint;
}

TEST_F(HipTest, TheLoaderIsAskedForEachRelease) {
  std::string second = hipDoublePath();
  const char *names[] = {"libnowhere-7.so", second.c_str(), "libnowhere.so"};
  gpu::DriverKind kind = amd::hipDriver();
  kind.libraries = names;
  auto driver = gpu::openDriver(kind, "", error);
  ASSERT_NE(driver, nullptr) << error.message;
  EXPECT_EQ(driver->library, second);
  names[1] = "libnowhere-6.so";
  EXPECT_EQ(gpu::openDriver(kind, "", error), nullptr);
  EXPECT_TRUE(contains(error.message, "libnowhere-7.so")) << error.message;
}

TEST_F(HipTest, ALibraryThatTheProcessHasAlreadyIsTaken) {
  static constexpr const char *kNames[] = {"libnowhere-7.so", "libamdhip64_double.so"};
  gpu::DriverKind kind = amd::hipDriver();
  kind.libraries = kNames; // which the loader does not find by these names
  auto driver = gpu::openDriver(kind, "", error);
  ASSERT_NE(driver, nullptr) << error.message;
  EXPECT_EQ(driver->library, hipDoublePath());
}

TEST_F(HipTest, AnOldRuntimeIsNamedWithTheVersionThatIsNeeded) {
  EXPECT_EQ(gpu::openDriver(amd::hipDriver(), doublePath("libamdhip64_double_old.so"), error),
            nullptr);
  EXPECT_EQ(error.code, Code::DriverMismatch);
  EXPECT_TRUE(contains(error.message, "HIP 4.5")) << error.message;
  EXPECT_TRUE(contains(error.message, "hipInit")) << error.message;
  EXPECT_TRUE(contains(error.hint, "HIP 5.0")) << error.hint;
}

TEST_F(HipTest, AnOldRuntimeWithEveryFunctionIsRefused) {
  configure("driver=40521086");
  EXPECT_EQ(gpu::openDriver(amd::hipDriver(), hipDoublePath(), error), nullptr);
  EXPECT_EQ(error.code, Code::DriverMismatch);
  EXPECT_TRUE(contains(error.message, "is too old")) << error.message;
}

/// What opening says where the runtime shows no GPU and the file of the device is at a path.
static RuntimeError openWithFile(const char *path) {
  gpu::DriverKind kind = amd::hipDriver();
  kind.deviceFile = path;
  RuntimeError error;
  EXPECT_EQ(gpu::openDriver(kind, hipDoublePath(), error), nullptr);
  return error;
}

TEST_F(HipTest, WithoutAGpuTheDeviceFileTellsWhy) {
  std::string path = testing::TempDir() + "kfd-" + std::to_string(getpid());
  close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  for (const char *words : {"devices=0", "fail=hipInit:101", "fail=hipInit:100"}) {
    configure(words);
    RuntimeError openable = openWithFile(path.c_str()), missing = openWithFile("/nowhere/kfd");
    EXPECT_EQ(openable.code, Code::NoGpu);
    EXPECT_TRUE(contains(openable.message, "no GPU that the runtime can use")) << openable.message;
    EXPECT_TRUE(contains(openable.hint, "rocminfo")) << openable.hint;
    EXPECT_EQ(missing.code, Code::NoGpu);
    EXPECT_TRUE(contains(missing.message, "there is no /dev/kfd")) << missing.message;
    EXPECT_TRUE(contains(missing.hint, "--device=/dev/kfd")) << missing.hint;
  }
  unlink(path.c_str());
}

/// Ends the process with 0 where the report is that of a missing permission.
static void judgeWithoutPermission(const char *path) {
  if (geteuid() == 0 && setuid(65534) != 0)
    _exit(2);
  _exit(openWithFile(path).code == Code::GpuPermission ? 0 : 1);
}

TEST_F(HipTest, AMissingPermissionHasItsOwnWords) {
  std::string path = testing::TempDir() + "kfd-closed-" + std::to_string(getpid());
  close(open(path.c_str(), O_CREAT | O_WRONLY, 0000));
  configure("devices=0");
  EXPECT_EXIT(judgeWithoutPermission(path.c_str()), testing::ExitedWithCode(0), "");
  unlink(path.c_str());
}

/// Ends the process with 0 where the report is that of GPUs whose own files are refused, and not so
/// where one of them opens or there are none.
static void judgeWithoutFilesOfGpus(const std::string &folder) {
  if (geteuid() == 0 && setuid(65534) != 0)
    _exit(2);
  auto codeOf = [](const std::string &device, const std::string &pattern) {
    gpu::DriverKind kind = amd::hipDriver();
    kind.deviceFile = device.c_str();
    kind.filesOfGpus = pattern.c_str();
    RuntimeError error;
    EXPECT_EQ(gpu::openDriver(kind, hipDoublePath(), error), nullptr);
    bool isOfFiles = contains(error.message, "/dev/dri/renderD*");
    return error.code == Code::GpuPermission && isOfFiles ? 1 : error.code == Code::NoGpu ? 0 : 2;
  };
  std::string device = folder + "/kfd";
  bool isRight = codeOf(device, folder + "/renderD*") == 1 && codeOf(device, folder + "/*") == 0 &&
                 codeOf(device, folder + "/none*") == 0;
  _exit(isRight ? 0 : 1);
}

TEST_F(HipTest, GpusWhoseFilesAreRefusedHaveTheirOwnWords) {
  std::string folder = testing::TempDir() + "dri-" + std::to_string(getpid());
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  for (auto [name, mode] :
       {std::pair("/kfd", 0666), {"/renderD128", 0000}, {"/renderD129", 0000}}) {
    int file = open((folder + name).c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_EQ(fchmod(file, mode_t(mode)), 0);
    close(file);
  }
  configure("devices=0");
  EXPECT_EXIT(judgeWithoutFilesOfGpus(folder), testing::ExitedWithCode(0), "");
  for (const char *name : {"/kfd", "/renderD128", "/renderD129"})
    unlink((folder + name).c_str());
  rmdir(folder.c_str());
}

TEST_F(HipTest, GpusThatNoCodeIsMadeForAreRefused) {
  configure("arch=gfx803");
  EXPECT_EQ(openGpu(), std::nullopt);
  EXPECT_EQ(error.code, Code::GpuTooOld);
  EXPECT_TRUE(contains(error.message, "hip:0 (Double 0) is gfx803")) << error.message;
  EXPECT_TRUE(contains(error.hint, "gfx942")) << error.hint;
}

TEST_F(HipTest, CodeOfAnotherArchitectureIsNamed) {
  std::shared_ptr<Device> device = openDevice();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->load(hipArtifact("gfx1100"), error), nullptr);
  EXPECT_EQ(error.code, Code::CodeOfAnotherGpu);
  EXPECT_TRUE(contains(error.message, "the code is for gfx1100, and hip:0 is gfx942"))
      << error.message;
}

TEST_F(HipTest, NumbersOutOfRangeNameTheGpusThatAreThere) {
  configure("devices=2");
  EXPECT_EQ(openGpu(2), std::nullopt);
  EXPECT_EQ(error.code, Code::NoSuchGpu);
  EXPECT_TRUE(contains(error.hint, "hip:0 to hip:1")) << error.hint;
}

static constexpr FailureCase kFailures[] = {
    {"fail=hipModuleLoadDataEx:2", Code::GpuMemoryFull, "loading kernel number"},
    {"fail=hipModuleLoadDataEx:200", Code::DriverRefusesCode, "refuses the code", Kind::Internal},
    {"fail=hipModuleLoadDataEx:900", Code::CapturedStream, "captured"},
    {"fail=hipModuleGetFunction:500", Code::DriverRefusesCode, "no kernel of that name",
     Kind::Internal},
    {"fail=hipFuncGetAttribute:214", Code::GpuHardwareError, "memory error"},
    {"fail=hipGetDevice:3", Code::DriverNotInitialized, "hipSetDevice"},
    {"max_threads=64", Code::TooManyThreads, "256 threads of", Kind::Launch},
    {"fail=hipModuleLaunchKernel:701", Code::TooManyThreads, "too few registers", Kind::Launch},
    {"fail=hipModuleLaunchKernel:901", Code::CapturedStream, "capture"},
    {"fail=hipModuleLaunchKernel:719", Code::GpuKernelFailed, "hipErrorLaunchFailure from"},
    {"fail=hipModuleLaunchKernel:333", Code::DriverFailure, "the runtime's own words"},
};

TEST_F(HipTest, EachFailureOfTheRuntimeIsReported) {
  Artifact artifact = hipArtifact();
  for (const FailureCase &expected : kFailures) {
    configure(expected.words);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr) << expected.words;
    std::optional<RuntimeError> failure = runOnce(*device, artifact);
    ASSERT_TRUE(failure) << expected.words;
    EXPECT_EQ(failure->code, expected.code) << expected.words << failure->message;
    EXPECT_EQ(failure->kind, expected.kind) << expected.words;
    EXPECT_TRUE(contains(failure->message, expected.part)) << failure->message;
    EXPECT_NE(failure->hint, "") << expected.words;
    // What is reported here is nobody else's to find.
    EXPECT_EQ(takeLastFailure(), 0) << expected.words;
    configure("");
    EXPECT_FALSE(device->synchronize());
    EXPECT_EQ(numLive(), 0) << expected.words;
  }
}

TEST_F(HipTest, AFailedKernelIsReportedByTheNextCallAndByEveryOneAfterIt) {
  Artifact artifact = hipArtifact();
  for (const FailureCase &expected :
       {FailureCase{"kernel=700", Code::GpuOutOfBounds, "may not access"},
        FailureCase{"kernel=710", Code::DeviceAssert, "assertion"},
        FailureCase{"kernel=719", Code::GpuKernelFailed, "does not say why"}}) {
    configure(expected.words);
    std::shared_ptr<Device> device = openDevice();
    ASSERT_NE(device, nullptr);
    EXPECT_FALSE(runOnce(*device, artifact)) << "launches return at once";
    std::optional<RuntimeError> next = runOnce(*device, artifact), waited = device->synchronize();
    ASSERT_TRUE(next && waited) << expected.words;
    for (const RuntimeError *failure : {&*next, &*waited}) {
      EXPECT_EQ(failure->code, expected.code) << failure->message;
      EXPECT_TRUE(contains(failure->message, expected.part)) << failure->message;
      EXPECT_TRUE(contains(failure->message, "the last ones launched were number"))
          << failure->message;
      EXPECT_TRUE(contains(failure->hint, "sim:gfx942")) << failure->hint;
    }
    configure("");
    EXPECT_FALSE(device->synchronize());
    EXPECT_EQ(numLive(), 0);
  }
}
