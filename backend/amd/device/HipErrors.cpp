// What the HIP runtime's error numbers mean to users, and what they can do.
#include "backend/amd/device/HipErrors.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using namespace tw::gpu;

static constexpr auto kLaunch = RuntimeError::Kind::Launch, kDevice = RuntimeError::Kind::Device,
                      kInternal = RuntimeError::Kind::Internal;
static constexpr const char *
    kNoGpuHint = "check rocminfo, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES; without a GPU, "
                 "run on the cpu or on sim:gfx942",
   *kSimulate = "run it with tw.device(\"$sim\"), which names the access and its source line; "
                "this process has to be restarted before it can use the GPU again",
   *kRestart = "restart the process; if it happens again, look at the GPU with rocm-smi and at the "
               "kernel's log for amdgpu's messages",
   *kReport = "please report it with the kernel",
   *kCapture = "launch each kernel once before capturing, so that it is loaded by then",
   *kCaptureAgain = "end the capture and begin another; launch each kernel once before, so that "
                    "it is loaded by then";

/// Meanings after HIP's documentation, enumeration hipError_t.
static constexpr FailureRow kFailures[] = {
    {2, Code::GpuMemoryFull, kDevice, Blame::Call, "the GPU has no memory left",
     "free tensors or use smaller ones; torch.cuda.empty_cache() gives back what torch keeps"},
    {3, Code::DriverNotInitialized, kDevice, Blame::Call,
     "the runtime is not initialized in this process",
     "a process forked after the runtime was opened cannot use it: start workers with "
     "multiprocessing's spawn method"},
    {4, Code::DriverNotInitialized, kDevice, Blame::Call, "the runtime is shutting down",
     "launch nothing while the process exits"},
    {35, Code::DriverMismatch, kDevice, Blame::Call,
     "the kernel's driver is too old for the runtime", "update amdgpu-dkms, or take an older ROCm"},
    {53, Code::GpuKernelFailed, kDevice, Blame::Kernel, "failed before", kSimulate},
    {98, Code::DriverRefusesCode, kInternal, Blame::Call, "the code has no kernel that runs here",
     kReport},
    {100, Code::NoGpu, kDevice, Blame::Call, "this machine has no GPU that the runtime can use",
     kNoGpuHint},
    // What hipInit of ROCm 5 returns where there is none; else the number of a device is wrong.
    {101, Code::NoGpu, kDevice, Blame::Call, "there is no GPU that the runtime can use",
     kNoGpuHint},
    {200, Code::DriverRefusesCode, kInternal, Blame::Call, "the runtime refuses the code", kReport},
    {201, Code::GpuContextLost, kDevice, Blame::Call, "the GPU's context is not valid any more",
     "do not reset the device (hipDeviceReset) while kernels are loaded; restart the process"},
    {209, Code::CodeOfAnotherGpu, kDevice, Blame::Call, "the code is of another architecture",
     "compile for this one: on a machine whose GPUs differ, each has its own kernels"},
    {214, Code::GpuHardwareError, kDevice, Blame::Call,
     "the GPU found a memory error that it cannot correct", kRestart},
    {218, Code::DriverRefusesCode, kInternal, Blame::Call, "the runtime cannot read the code",
     kReport},
    {303, Code::DriverRefusesCode, kInternal, Blame::Call, "the runtime cannot load the code",
     kReport},
    {500, Code::DriverRefusesCode, kInternal, Blame::Call, "the code has no kernel of that name",
     kReport},
    {700, Code::GpuOutOfBounds, kDevice, Blame::Kernel, "accessed memory that it may not access",
     kSimulate},
    {701, Code::TooManyThreads, kLaunch, Blame::Call,
     "the GPU has too few registers for so many threads",
     "use fewer warps (num_warps) or smaller tiles"},
    {702, Code::GpuTimeout, kDevice, Blame::Kernel, "ran longer than the system allows",
     "run it with tw.device(\"$sim\") to see whether it ends; this process has to be restarted"},
    {709, Code::GpuContextLost, kDevice, Blame::Call, "the GPU's context was destroyed",
     "do not reset the device (hipDeviceReset) while kernels are loaded; restart the process"},
    {710, Code::DeviceAssert, kDevice, Blame::Kernel,
     "failed an assertion: device-side assert triggered (tw.device_assert)",
     "run it with tw.device(\"$sim\"), which has the assertion's text and program; this process "
     "has to be restarted before it can use the GPU again"},
    {719, Code::GpuKernelFailed, kDevice, Blame::Kernel, "failed; the GPU does not say why",
     kSimulate},
    {900, Code::CapturedStream, kDevice, Blame::Call,
     "a stream that is being captured cannot do this", kCapture},
    {901, Code::CapturedStream, kDevice, Blame::Call, "the capture of the stream has failed before",
     kCaptureAgain},
    {906, Code::CapturedStream, kDevice, Blame::Call,
     "the default stream waits for one that is captured", kCapture},
    {1052, Code::GpuMemoryFull, kDevice, Blame::Call,
     "the runtime has no memory left for its own work",
     "free tensors or use smaller ones; torch.cuda.empty_cache() gives back what torch keeps"},
};

constinit const FailureTable amd::kHipFailures = {kFailures,
                                                  {0, Code::DriverFailure, kDevice, Blame::Call,
                                                   "it failed",
                                                   "look the error up in HIP's manual"},
                                                  "sim:gfx942"};

constinit const FailureRow amd::kNoDeviceFile = {
    0,
    Code::NoGpu,
    kDevice,
    Blame::Call,
    "there is no /dev/kfd, by which processes reach AMD's GPUs",
    "load the kernel's driver (modprobe amdgpu); start containers with --device=/dev/kfd "
    "--device=/dev/dri; without a GPU, run on the cpu or on sim:gfx942"};
constinit const FailureRow amd::kNoPermission = {
    0,
    Code::GpuPermission,
    kDevice,
    Blame::Call,
    "this user may not open /dev/kfd",
    "add the user to the groups render and video, and log in again; containers need --group-add "
    "for both"};
constinit const FailureRow amd::kNoPermissionForGpus = {
    0,
    Code::GpuPermission,
    kDevice,
    Blame::Call,
    "this user may open /dev/kfd, and none of the GPUs' own files /dev/dri/renderD*",
    "add the user to the group render, and log in again; containers need --device=/dev/dri and "
    "--group-add render"};
