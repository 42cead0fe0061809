// What the CUDA driver's error numbers mean to users, and what they can do.
#include "backend/nvidia/device/CudaErrors.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using namespace tw::gpu;

static constexpr auto kLaunch = RuntimeError::Kind::Launch, kDevice = RuntimeError::Kind::Device,
                      kInternal = RuntimeError::Kind::Internal;
static constexpr const char
    *kSimulate = "run it with tw.device(\"$sim\"), which names the access and its source line; "
                 "this process has to be restarted before it can use the GPU again",
    *kRestart = "restart the process; if it happens again, look at the GPU with nvidia-smi -q and "
                "at the kernel's log for Xid messages",
    *kUpdate = "update the driver, or install nvidia-cuda-nvcc, whose ptxas assembles the code "
               "without it",
    *kReport = "please report it with the kernel",
    *kMps = "look at the log of nvidia-cuda-mps-control, and restart the process",
    *kCapture = "launch each kernel once before capturing, so that it is loaded by then";

/// Meanings after "CUDA Driver API", enumeration CUresult.
static constexpr FailureRow kFailures[] = {
    {2, Code::GpuMemoryFull, kDevice, Blame::Call, "the GPU has no memory left",
     "free tensors or use smaller ones; torch.cuda.empty_cache() gives back what torch keeps"},
    {3, Code::DriverNotInitialized, kDevice, Blame::Call,
     "the driver is not initialized in this process",
     "a process forked after the driver was opened cannot use it: start workers with "
     "multiprocessing's spawn method"},
    {4, Code::DriverNotInitialized, kDevice, Blame::Call, "the driver is shutting down",
     "launch nothing while the process exits"},
    {34, Code::NoDriver, kDevice, Blame::Call, "this library is the toolkit's stub, not a driver",
     "install NVIDIA's driver, and take the toolkit's stubs folder out of LD_LIBRARY_PATH"},
    {46, Code::GpuNotAvailable, kDevice, Blame::Call, "the GPU is in use or not available",
     "another process may have it for itself: see nvidia-smi -q -d COMPUTE"},
    {100, Code::NoGpu, kDevice, Blame::Call, "this machine has no GPU that the driver can use",
     "check nvidia-smi and CUDA_VISIBLE_DEVICES; without a GPU, run on the cpu or on sim:sm_80"},
    {101, Code::NoSuchGpu, kDevice, Blame::Call, "there is no such GPU",
     "tw.list_devices(probe=True) shows which there are"},
    {200, Code::DriverRefusesCode, kInternal, Blame::Call, "the driver refuses the code", kReport},
    {201, Code::GpuContextLost, kDevice, Blame::Call, "the GPU's context is not valid any more",
     "do not reset the device (cudaDeviceReset) while kernels are loaded; restart the process"},
    {209, Code::DriverRefusesCode, kInternal, Blame::Call,
     "the code has no form that runs on this GPU", kReport},
    {214, Code::GpuHardwareError, kDevice, Blame::Call,
     "the GPU found a memory error that it cannot correct", kRestart},
    {218, Code::DriverRefusesCode, kInternal, Blame::Call, "the driver refuses the PTX", kReport},
    {220, Code::GpuHardwareError, kDevice, Blame::Call, "a link of the GPU has an error", kRestart},
    {221, Code::DriverCannotAssemble, kDevice, Blame::Call,
     "the driver's assembler of PTX is not installed", kUpdate},
    {222, Code::DriverCannotAssemble, kDevice, Blame::Call,
     "the driver is older than the code's PTX version", kUpdate},
    {223, Code::DriverCannotAssemble, kDevice, Blame::Call, "the driver may not assemble PTX",
     "unset CUDA_DISABLE_PTX_JIT, or install ptxas (pip install nvidia-cuda-nvcc)"},
    {226, Code::GpuHardwareError, kDevice, Blame::Call,
     "the GPU had an error that ended this process's work", kRestart},
    {500, Code::DriverRefusesCode, kInternal, Blame::Call, "the code has no kernel of that name",
     kReport},
    {700, Code::GpuOutOfBounds, kDevice, Blame::Kernel, "accessed memory that it may not access",
     kSimulate},
    {701, Code::TooManyThreads, kLaunch, Blame::Call,
     "the GPU has too few registers for so many threads",
     "use fewer warps (num_warps) or smaller tiles"},
    {702, Code::GpuTimeout, kDevice, Blame::Kernel, "ran longer than the system allows",
     "GPUs that drive a screen limit a kernel's time; run it with tw.device(\"$sim\") to see "
     "whether it ends; this process has to be restarted"},
    {709, Code::GpuContextLost, kDevice, Blame::Call, "the GPU's context was destroyed",
     "do not reset the device (cudaDeviceReset) while kernels are loaded; restart the process"},
    {710, Code::DeviceAssert, kDevice, Blame::Kernel,
     "failed an assertion: device-side assert triggered (tw.device_assert)",
     "standard output has the assertion's text, program and index; this process has to be "
     "restarted before it can use the GPU again"},
    {714, Code::GpuKernelFailed, kDevice, Blame::Kernel, "damaged its call stack", kSimulate},
    {715, Code::GpuKernelFailed, kDevice, Blame::Kernel, "ran into an illegal instruction",
     kSimulate},
    {716, Code::GpuMisalignedAccess, kDevice, Blame::Kernel, "accessed a misaligned address",
     kSimulate},
    {717, Code::GpuOutOfBounds, kDevice, Blame::Kernel, "accessed memory of the wrong kind",
     kSimulate},
    {718, Code::GpuKernelFailed, kDevice, Blame::Kernel, "jumped to an invalid address", kSimulate},
    {719, Code::GpuKernelFailed, kDevice, Blame::Kernel, "failed; the GPU does not say why",
     kSimulate},
    {802, Code::GpuNotAvailable, kDevice, Blame::Call, "the system's GPUs are not ready",
     "wait for the fabric manager, or start it"},
    {803, Code::DriverMismatch, kDevice, Blame::Call,
     "the driver's library and kernel module differ", "reboot after an update of the driver"},
    {804, Code::DriverMismatch, kDevice, Blame::Call,
     "the compatibility driver does not support this GPU",
     "take the cuda-compat folder out of LD_LIBRARY_PATH, or update the driver"},
    {805, Code::SharedGpuFailed, kDevice, Blame::Call,
     "the service that shares the GPU cannot be reached", kMps},
    {806, Code::SharedGpuFailed, kDevice, Blame::Call, "the service that shares the GPU failed",
     kMps},
    {807, Code::SharedGpuFailed, kDevice, Blame::Call,
     "the service that shares the GPU is not ready", kMps},
    {808, Code::SharedGpuFailed, kDevice, Blame::Call, "too many processes share the GPU", kMps},
    {809, Code::SharedGpuFailed, kDevice, Blame::Call,
     "the processes that share the GPU use all connections", kMps},
    {810, Code::SharedGpuFailed, kDevice, Blame::Call, "another process that shares the GPU failed",
     kMps},
    {900, Code::CapturedStream, kDevice, Blame::Call,
     "a stream that is being captured cannot do this", kCapture},
    {901, Code::CapturedStream, kDevice, Blame::Call, "the capture of the stream has failed before",
     kCapture},
    {906, Code::CapturedStream, kDevice, Blame::Call,
     "the default stream waits for one that is captured", kCapture},
};

constinit const FailureTable nvidia::kCudaFailures = {kFailures,
                                                      {0, Code::DriverFailure, kDevice, Blame::Call,
                                                       "it failed",
                                                       "look the error up in CUDA's manual"},
                                                      "sim:sm_80"};
