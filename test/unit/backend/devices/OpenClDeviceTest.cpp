// The OpenCL device on a double of the library: what it passes to launches, how it reaches arrays,
// and what becomes of each failure.
#include "runtime/codes/Codes.h"
#include "test/unit/backend/devices/OpenClDouble.h"

using namespace tw;
using namespace tw::test;

/// The arguments, and an array of it that the launch describes.
static std::vector<LaunchArgument> argumentsOf(std::vector<int32_t> &array) {
  std::vector<LaunchArgument> arguments = threeArguments(uint64_t(array.data()));
  arguments[0].allocationBase = uint64_t(array.data());
  arguments[0].bytes = array.size() * sizeof(int32_t);
  return arguments;
}

/// The same and a second pointer, into the array from an element on; each reaches so many bytes.
static std::vector<LaunchArgument> argumentsOfViews(std::vector<int32_t> &array, size_t element,
                                                    uint64_t bytes, uint64_t bytesOfSecond) {
  std::vector<LaunchArgument> arguments = argumentsOf(array);
  arguments[0].bytes = bytes;
  arguments[1] = arguments[0];
  arguments[1].bits = arguments[1].allocationBase = uint64_t(&array[element]);
  arguments[1].bytes = bytesOfSecond;
  return arguments;
}

TEST_F(OpenClTest, LaunchesPassWhatTheKernelTakesAndWaitForItsEnd) {
  auto device = openDevice();
  ASSERT_TRUE(device) << error.message;
  EXPECT_EQ(device->name(), "opencl:0");
  auto failure = launchOnce(*device, openClArtifact(), {{4, 2, 3}});
  EXPECT_FALSE(failure) << failure->message;
  EXPECT_TRUE(contains(record(), "clSetKernelArgSVMPointer 0\nclSetKernelArg 1 07000000\n"
                                 "clSetKernelArg 2 003c\n"
                                 "clEnqueueNDRangeKernel 256,2,3 of 64,1,1\nclWaitForEvents\n"))
      << record();
}

TEST_F(OpenClTest, AWarmLaunchSetsOnlyTheArgumentsThatChanged) {
  auto device = openDevice();
  auto kernel = device->load(openClArtifact(), error);
  ASSERT_TRUE(kernel) << error.message;
  std::vector<LaunchArgument> arguments = threeArguments();
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, arguments));
  configure("");
  arguments[1].bits = 8;
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, arguments));
  EXPECT_EQ(record(), "clSetKernelArg 1 08000000\nclEnqueueNDRangeKernel 64,1,1 of 64,1,1\n"
                      "clWaitForEvents\nclGetEventProfilingInfo\nclGetEventProfilingInfo\n"
                      "clReleaseEvent\n");
}

TEST_F(OpenClTest, LaunchesAreTimedByTheDevice) {
  auto device = openDevice();
  auto kernel = device->load(openClArtifact(), error);
  ASSERT_TRUE(kernel) << error.message;
  EXPECT_EQ(device->kernelNanoseconds(), 0u);
  for (uint64_t launches : {1, 2, 3}) {
    EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments()));
    EXPECT_EQ(device->kernelNanoseconds(), launches * 2'500);
  }
  configure("fail=clGetEventProfilingInfo:-7"); // not available
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, threeArguments()));
  EXPECT_EQ(device->kernelNanoseconds(), 3u * 2'500);
}

TEST_F(OpenClTest, NothingIsLeftBehind) {
  {
    auto device = openDevice();
    EXPECT_FALSE(launchOnce(*device, openClArtifact(), {{1, 1, 1}}));
    EXPECT_GT(numLive(), 0);
  }
  EXPECT_EQ(numLive(), 0);
}

TEST_F(OpenClTest, CodeThatThisDriverMadeBeforeIsReadAndOtherIsBuiltAnew) {
  auto context = openContext();
  auto program = spirv::OpenClProgram::build(context, openClArtifact(), error);
  ASSERT_TRUE(program) << error.message;
  EXPECT_EQ(program->readBinary(), "bin");
  Artifact artifact = openClArtifact();
  artifact.assembled = "bin";
  artifact.assembler = context->entry().describe();
  auto device = spirv::makeOpenClDevice(context);
  EXPECT_TRUE(device->load(artifact, error));
  EXPECT_TRUE(contains(record(), "clCreateProgramWithBinary 3")) << record();
  configure("version=1.1"); // of a driver that is newer than the code
  auto newer = openDevice();
  EXPECT_TRUE(newer->load(artifact, error));
  EXPECT_FALSE(contains(record(), "clCreateProgramWithBinary")) << record();
  configure("fail=clCreateProgramWithBinary:-42"); // it does not read its own code
  EXPECT_TRUE(error.message.empty()) << error.message;
  EXPECT_TRUE(device->load(artifact, error)) << error.message;
  EXPECT_TRUE(contains(record(), "clCreateProgramWithIL")) << record();
  EXPECT_TRUE(error.code == Code::DamagedCacheFile && contains(error.message, "CL_INVALID_BINARY"))
      << error.message;
}

TEST_F(OpenClTest, CodeIsBuiltWithItsOptionsFromEitherForm) {
  for (const char *options : {"", "-cl-one -cl-two"}) {
    const std::string build = std::string("clBuildProgram ") + options + "\n";
    Artifact artifact = openClArtifact();
    artifact.buildOptions = options;
    configure("");
    auto context = openContext();
    auto device = spirv::makeOpenClDevice(context);
    EXPECT_TRUE(device->load(artifact, error)) << error.message;
    EXPECT_TRUE(contains(record(), build)) << record();
    configure("");
    artifact.assembled = "bin";
    artifact.assembler = context->entry().describe();
    EXPECT_TRUE(device->load(artifact, error)) << error.message;
    EXPECT_TRUE(contains(record(), "clCreateProgramWithBinary")) << record();
    EXPECT_TRUE(contains(record(), build)) << record();
  }
}

TEST_F(OpenClTest, DevicesThatDoNotReachTheHostGetCopies) {
  for (const char *words :
       {"svm=1", "svm=1 usm=1 extensions=cl_intel_unified_shared_memory", "svm=0"}) {
    configure(std::string(words) + " stored=5");
    auto device = openDevice();
    auto kernel = device->load(openClArtifact(), error);
    ASSERT_TRUE(kernel) << error.message;
    EXPECT_TRUE(kernel->needsMemory());
    std::vector<int32_t> array = {1, 2, 3};
    int before = numLive();
    auto failure = device->launch(*kernel, {{1, 1, 1}}, argumentsOf(array));
    EXPECT_FALSE(failure) << failure->message;
    EXPECT_EQ(array, (std::vector<int32_t>{5, 2, 3})) << words;
    EXPECT_EQ(numLive(), before) << record();
    failure = device->launch(*kernel, {{1, 1, 1}}, threeArguments());
    ASSERT_TRUE(failure) << "an address alone cannot be copied";
    EXPECT_EQ(failure->code, Code::UnpassableArgument);
  }
}

TEST_F(OpenClTest, ArraysThatOverlapHaveOneCopyTogether) {
  configure("svm=1 stored=5");
  auto device = openDevice();
  Artifact artifact = openClArtifact();
  artifact.parameters[1] = {"x", "*i32", false, true, 1};
  auto kernel = device->load(artifact, error);
  std::vector<int32_t> array = {1, 2, 3, 4};
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, argumentsOfViews(array, 1, 8, 8)));
  EXPECT_EQ(array, (std::vector<int32_t>{1, 5, 3, 4})) << "the last pointer is that of `x`";
  EXPECT_TRUE(contains(record(), "clEnqueueSVMMemcpy 12\n")) << record();
}

TEST_F(OpenClTest, PartsOfBuffersBeginWhereTheDeviceAlignsThem) {
  configure("svm=0 stored=5 base=64");
  auto device = openDevice();
  Artifact artifact = openClArtifact();
  artifact.parameters[1] = {"x", "*i32", false, true, 1};
  auto kernel = device->load(artifact, error);
  std::vector<int32_t> array = {1, 2, 3, 4};
  std::vector<LaunchArgument> arguments = argumentsOfViews(array, 2, 16, 8);
  int before = numLive();
  auto failure = device->launch(*kernel, {{1, 1, 1}}, arguments);
  EXPECT_FALSE(failure) << failure->message;
  EXPECT_EQ(array, (std::vector<int32_t>{1, 2, 5, 4})) << record();
  EXPECT_TRUE(contains(record(), "clCreateSubBuffer 8 8\n")) << record();
  EXPECT_EQ(numLive(), before) << record();
  arguments[1].bits = arguments[1].allocationBase = uint64_t(&array[1]);
  failure = device->launch(*kernel, {{1, 1, 1}}, arguments);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::UnpassableArgument);
  EXPECT_TRUE(contains(failure->message, "`x`") &&
              contains(failure->message, "multiple of 8 bytes"))
      << failure->message;
  artifact.parameters[0].isStored = false; // what is only read has a buffer of its own
  kernel = device->load(artifact, error);
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, arguments));
  arguments[0].bits = uint64_t(&array[3]); // a view of the array
  artifact.parameters[0].isStored = true;
  kernel = device->load(artifact, error);
  EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, arguments));
  EXPECT_EQ(array, (std::vector<int32_t>{1, 5, 5, 4})) << record();
  EXPECT_EQ(numLive(), before) << record();
}

TEST_F(OpenClTest, FailuresOfBuffersAreReported) {
  for (const char *function : {"clCreateBuffer", "clEnqueueWriteBuffer", "clEnqueueReadBuffer"}) {
    configure(std::string("svm=0 fail=") + function + ":-4");
    auto device = openDevice();
    auto kernel = device->load(openClArtifact(), error);
    std::vector<int32_t> array = {1, 2, 3};
    int before = numLive();
    auto failure = device->launch(*kernel, {{1, 1, 1}}, argumentsOf(array));
    ASSERT_TRUE(failure) << function;
    EXPECT_TRUE(contains(failure->message, function)) << failure->message;
    EXPECT_EQ(numLive(), before) << record();
  }
}

TEST_F(OpenClTest, AFailedAssertionIsADeviceError) {
  for (const char *words : {"stored=1", "stored=1 svm=1", "stored=1 svm=0"}) {
    configure(words);
    auto device = openDevice();
    Artifact artifact = openClArtifact();
    artifact.resources["failure_word"] = 1;
    auto kernel = device->load(artifact, error);
    std::vector<int32_t> array = {1, 2, 3};
    auto failure = device->launch(*kernel, {{1, 1, 1}}, argumentsOf(array));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Code::DeviceAssert);
    EXPECT_EQ(array[0], 1);
    configure(words + sizeof("stored=1") - 1); // nothing fails any more
    EXPECT_FALSE(device->launch(*kernel, {{1, 1, 1}}, argumentsOf(array)));
  }
}

TEST_F(OpenClTest, WhatADeviceLacksIsNamed) {
  struct Case {
    uint32_t capability;
    const char *words, *part;
  };
  for (auto [capability, words, part] :
       {Case{10, "extensions=cl_khr_fp16", "cl_khr_fp64"},
        Case{9, "extensions=cl_khr_fp64", "cl_khr_fp16"}, Case{12, "", "cl_khr_int64_base_atomics"},
        Case{65, "", "cl_khr_subgroup_shuffle"}, Case{6033, "atomics=1", "atomic sums of fp32"},
        Case{5612, "atomics=2", "atomic minima and maxima"},
        Case{11, "subgroups=8,32", "subgroups of 16 lanes"}}) {
    RuntimeError refused = refusal(words, openClArtifact({6, capability}));
    EXPECT_EQ(refused.code, Code::DeviceLacksFeature) << part;
    EXPECT_TRUE(contains(refused.message, part)) << refused.message;
    EXPECT_TRUE(contains(refused.message, "Device 1, Double 1.0")) << refused.message;
    EXPECT_FALSE(contains(record(), "clCreateProgram")) << record();
  }
  configure("extensions=cl_khr_fp64");
  auto device = openDevice();
  EXPECT_TRUE(device->load(openClArtifact({10, 6033, 11}), error)) << error.message;
}

TEST_F(OpenClTest, LimitsOfTheDeviceAreRefused) {
  Artifact large = openClArtifact();
  large.resources["shared_bytes"] = 70000;
  EXPECT_EQ(refusal("", large).code, Code::SharedMemoryExceeded);
  EXPECT_EQ(refusal("max_threads=32", openClArtifact()).code, Code::TooManyThreads);
  configure("");
  auto device = openDevice();
  auto kernel = device->load(openClArtifact(), error);
  auto failure = device->launch(*kernel, {{1, 1, 1}}, threeArguments(0x1002));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::UnpassableArgument);
  EXPECT_TRUE(contains(failure->message, "4 bytes")) << failure->message;
  failure = device->launch(*kernel, {{-1, 1, 1}}, threeArguments());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::BadGrid);
  LaunchGrid together{{1, 1, 1}};
  together.isCooperative = true;
  failure = device->launch(*kernel, together, threeArguments());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::DeviceLacksOption);
}

TEST_F(OpenClTest, TheDriversLogIsInTheReport) {
  RuntimeError refused =
      refusal("fail=clBuildProgram:-11 log=no_such_instruction", openClArtifact());
  EXPECT_EQ(refused.code, Code::DriverRefusesCode);
  EXPECT_TRUE(contains(refused.message, "CL_BUILD_PROGRAM_FAILURE from clBuildProgram"))
      << refused.message;
  EXPECT_TRUE(contains(refused.message, "no_such_instruction")) << refused.message;
}

TEST_F(OpenClTest, EachCallThatFailsIsReportedAndLeavesNothing) {
  for (const char *name :
       {"clCreateContext", "clCreateCommandQueueWithProperties", "clCreateProgramWithIL",
        "clBuildProgram", "clCreateKernel", "clGetKernelWorkGroupInfo", "clSetKernelArgSVMPointer",
        "clSetKernelArg", "clEnqueueNDRangeKernel", "clWaitForEvents"})
    for (int result : {-1, -2, -4, -5, -6, -34, -54, -63, -77}) {
      configure("fail=" + std::string(name) + ":" + std::to_string(result));
      auto device = openDevice();
      ASSERT_TRUE(device) << error.message;
      auto failure = launchOnce(*device, openClArtifact(), {{1, 1, 1}});
      ASSERT_TRUE(failure) << name;
      EXPECT_NE(failure->code, kUncoded);
      EXPECT_TRUE(contains(failure->message, name)) << failure->message;
      EXPECT_NE(failure->hint, "");
      device.reset();
      EXPECT_EQ(numLive(), 0) << name << "\n" << record();
    }
}

TEST_F(OpenClTest, AKernelThatFailsSaysWhatItsLaunchCameTo) {
  configure("fail=clWaitForEvents:-14 fail=clGetEventInfo:-5");
  auto device = openDevice();
  auto failure = launchOnce(*device, openClArtifact(), {{1, 1, 1}});
  ASSERT_TRUE(failure);
  EXPECT_TRUE(contains(failure->message, "CL_OUT_OF_RESOURCES")) << failure->message;
  EXPECT_TRUE(contains(failure->hint, "sim:generic16")) << failure->hint;
}

TEST_F(OpenClTest, MachinesWithoutADeviceSaySo) {
  EXPECT_FALSE(spirv::openOpenCl({{"/nowhere/libOpenCL.so"}, ""}, error));
  EXPECT_EQ(error.code, Code::NoDriver);
  EXPECT_TRUE(contains(error.hint, "pip install intel-opencl-rt")) << error.hint;
  EXPECT_FALSE(spirv::openOpenCl({{doublePath("libcuda_double.so")}, ""}, error));
  EXPECT_TRUE(contains(error.message, "clGetPlatformIDs")) << error.message;
  for (auto [words, code, part] :
       {std::tuple("fail=clGetPlatformIDs:-1001", Code::NoDriver, "no OpenCL driver"),
        std::tuple("devices=0", Code::NoDriver, "no OpenCL driver"),
        std::tuple("spirv=none", Code::NoGpu, "Device 1, Double 1.0 takes no SPIR-V")}) {
    configure(words);
    EXPECT_FALSE(openContext());
    EXPECT_EQ(error.code, code) << words;
    EXPECT_TRUE(contains(error.message, part)) << error.message;
  }
}

TEST_F(OpenClTest, TheSameDeviceBehindTwoLibrariesIsOneDevice) {
  configure("devices=2");
  auto driver = spirv::openOpenCl({{openClDoublePath(), openClDoublePath()}, ""}, error);
  ASSERT_TRUE(driver) << error.message;
  EXPECT_EQ(driver->devices.size(), 2u);
}
