// Where compiled kernels find what they know of their program and launch. C layout.
#ifndef PASSES_SIMD_PROGRAMLAYOUT_H
#define PASSES_SIMD_PROGRAMLAYOUT_H
#include <cstddef>
#include <cstdint>

/// What a kernel knows of the program that it runs as.
struct TwProgram {
  int32_t programId[3];
  int32_t numPrograms[3];
  void *scratch;         // `scratchBytes` bytes, 64-byte aligned, private to the worker
  void *launch;          // opaque to the kernel, for the functions of backend/cpu/KernelAbi.h
  int32_t untilPoll;     // counted down by long loops, which poll at 0 and below
  const void *arguments; // of the launch, with the memory behind pointers, for checks
};

namespace tw::simd {

// In an entry of `arguments`, of which each parameter has one: the layout of runtime/Device.h,
// which backend/cpu/CpuDevice.cpp compares.
inline constexpr int32_t kArgumentBase = 8;   // address of the first byte of the memory
inline constexpr int32_t kArgumentBytes = 16; // its size, 0 when unknown
inline constexpr int32_t kArgumentStride = 32;

} // namespace tw::simd
#endif
