// The part of the CUDA driver's interface that is used, as its documented ABI has it: "CUDA Driver
// API", modules Data Types, Device, Context, Module, Execution Control, Memory, Event.
#ifndef BACKEND_NVIDIA_CUDAFUNCTIONS_H
#define BACKEND_NVIDIA_CUDAFUNCTIONS_H
#include <cstddef>
#include <cstdint>

namespace tw::nvidia {

using CudaResult = int;       // CUresult
using CudaOrdinal = int;      // CUdevice
using CudaAddress = uint64_t; // CUdeviceptr
using CudaHandle = void *;    // CUcontext, CUmodule, CUfunction, CUstream, CUevent

/// The values of CUresult that the code decides by; CudaErrors.cpp has all that users see.
enum CudaResults : CudaResult {
  kCudaSuccess = 0,
  kCudaInvalidImage = 200,
  kCudaNoBinaryForGpu = 209,
  kCudaUnsupportedPtxVersion = 222,
};

/// Values of CUdevice_attribute.
enum CudaDeviceAttribute : int {
  kCudaMaxThreads = 1,
  kCudaCapabilityMajor = 75,
  kCudaCapabilityMinor = 76,
  kCudaMaxSharedBytes = 97, // with the opt-in
};

/// Values of CUfunction_attribute.
enum CudaFunctionAttribute : int {
  kCudaFunctionMaxThreads = 0,
  kCudaFunctionRegisters = 4,
  kCudaFunctionMaxDynamicSharedBytes = 8,
};

/// Values of CUjit_option.
enum CudaJitOption : int {
  kCudaErrorLog = 5,
  kCudaErrorLogBytes = 6,
};

/// One member for each function that is called.
struct CudaFunctions {
  CudaResult (*init)(unsigned flags);
  CudaResult (*driverVersion)(int *version);
  CudaResult (*errorName)(CudaResult, const char **);
  CudaResult (*errorText)(CudaResult, const char **);
  CudaResult (*deviceCount)(int *count);
  CudaResult (*device)(CudaOrdinal *, int index);
  CudaResult (*deviceName)(char *, int bytes, CudaOrdinal);
  CudaResult (*deviceAttribute)(int *value, int attribute, CudaOrdinal);
  CudaResult (*retainContext)(CudaHandle *context, CudaOrdinal);
  CudaResult (*releaseContext)(CudaOrdinal);
  CudaResult (*pushContext)(CudaHandle context);
  CudaResult (*popContext)(CudaHandle *context);
  CudaResult (*synchronizeContext)();
  CudaResult (*loadModule)(CudaHandle *module, const void *image, unsigned numOptions, int *options,
                           void **values);
  CudaResult (*unloadModule)(CudaHandle module);
  CudaResult (*findFunction)(CudaHandle *function, CudaHandle module, const char *name);
  CudaResult (*functionAttribute)(int *value, int attribute, CudaHandle function);
  CudaResult (*setFunctionAttribute)(CudaHandle function, int attribute, int value);
  CudaResult (*launch)(CudaHandle function, unsigned gridX, unsigned gridY, unsigned gridZ,
                       unsigned threadsX, unsigned threadsY, unsigned threadsZ,
                       unsigned sharedBytes, CudaHandle stream, void **parameters, void **extra);
  CudaResult (*allocate)(CudaAddress *, size_t bytes);
  CudaResult (*release)(CudaAddress);
  CudaResult (*copyToDevice)(CudaAddress, const void *, size_t bytes);
  CudaResult (*copyToHost)(void *, CudaAddress, size_t bytes);
  CudaResult (*createEvent)(CudaHandle *event, unsigned flags);
  CudaResult (*recordEvent)(CudaHandle event, CudaHandle stream);
  CudaResult (*synchronizeEvent)(CudaHandle event);
  CudaResult (*elapsedTime)(float *milliseconds, CudaHandle begin, CudaHandle end);
  CudaResult (*destroyEvent)(CudaHandle event);
};

} // namespace tw::nvidia
#endif
