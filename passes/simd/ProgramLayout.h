// Where compiled kernels find what they know of their program and launch, in bytes: the layout of
// backend/cpu/KernelAbi.h and runtime/Device.h, which backend/cpu/CpuDevice.cpp compares.
#ifndef PASSES_SIMD_PROGRAMLAYOUT_H
#define PASSES_SIMD_PROGRAMLAYOUT_H
#include <cstdint>

namespace tw::simd {

// In TwProgram.
inline constexpr int32_t kProgramScratch = 24;
inline constexpr int32_t kProgramUntilPoll = 40;
inline constexpr int32_t kProgramArguments = 48; // an array, one entry for each parameter
// In an entry of that array.
inline constexpr int32_t kArgumentBase = 8;   // address of the first byte of the memory
inline constexpr int32_t kArgumentBytes = 16; // its size, 0 when unknown
inline constexpr int32_t kArgumentStride = 32;

} // namespace tw::simd
#endif
