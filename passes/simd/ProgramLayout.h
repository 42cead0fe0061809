// Where compiled kernels find what they know of their program and launch. C layout.
#ifndef PASSES_SIMD_PROGRAMLAYOUT_H
#define PASSES_SIMD_PROGRAMLAYOUT_H
#include <cstddef>
#include <cstdint>

/// The facts that a kernel knows about the program that it runs as.
struct TwProgram {
  int32_t programId[3];
  int32_t numPrograms[3];
  void *scratch;         // `scratchBytes` bytes, 64-byte aligned, private to the worker
  void *launch;          // opaque to the kernel, for the functions of backend/cpu/KernelAbi.h
  int32_t untilPoll;     // counted down by long loops, which poll at 0 and below
  const void *arguments; // of the launch, with the memory behind pointers, for checks
  uint32_t *locks;       // of all workers, `kNumLocks`; null: atomics do without
};

namespace tw::simd {

// In an entry of `arguments`, of which each parameter has one: the layout of runtime/Device.h,
// which backend/cpu/CpuDevice.cpp compares.
inline constexpr int32_t kArgumentBase = 8;   // address of the first byte of the memory
inline constexpr int32_t kArgumentBytes = 16; // its size, 0 when unknown
inline constexpr int32_t kArgumentStride = 32;

// A lock guards blocks of memory of this size, at multiples of it: those whose hashes agree. It is
// 0, or 1 while a worker holds it, and has a cache line to itself.
inline constexpr int32_t kLockedBlockLog2 = 12;
inline constexpr int32_t kNumLocksLog2 = 9, kNumLocks = 1 << kNumLocksLog2;
inline constexpr int32_t kLockStrideLog2 = 6, kLockBytes = kNumLocks << kLockStrideLog2;

/// On a loop whose bounds are computed: how often it runs at most. It is left by no poll.
inline constexpr char kMostIterations[] = "simd.most_iterations";

} // namespace tw::simd
#endif
