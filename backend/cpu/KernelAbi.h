// The calling convention between compiled CPU kernels and the device that runs them. C layout.
#ifndef BACKEND_CPU_KERNELABI_H
#define BACKEND_CPU_KERNELABI_H
#include <cstdint>

/// What a kernel knows of the program that it runs as. Compiled code reads it by these offsets.
struct TwProgram {
  int32_t programId[3];   // offset 0
  int32_t numPrograms[3]; // offset 12
  void *scratch;          // offset 24: `scratchBytes` bytes, 64-byte aligned, private to the worker
  void *launch;           // offset 32: opaque to the kernel, for the host functions below
  int32_t untilPoll;      // offset 40: counted down by `while` loops, which poll at 0 and below
};

/// The entry of the kernel that Python calls NAME is the symbol `NAME.kernel`.
extern "C" {
/// arguments[i] holds parameter i: scalars in the low bytes, pointers as addresses.
typedef void (*TwKernel)(const uint64_t *arguments, TwProgram *program);

/// Sets `untilPoll` anew; or, when the launch is to stop, leaves the kernel and does not return.
void tw_poll(TwProgram *program);

/// tile.print of one value's element. `shape` is the tile's, as in "4x8", and `index` row-major;
/// a scalar has "" and 0. `type` is a character of: i (signed), u (unsigned), f (double bits),
/// p (address), b (bool), n (no value: the prefix alone).
void tw_device_print(const TwProgram *program, const char *prefix, const char *shape, char type,
                     int32_t isHex, int64_t index, uint64_t bits);
/// Nanoseconds of a clock that never goes back.
int64_t tw_device_clock();
/// A tile.assert that failed; `message` is the text, `where` is "file:line".
void tw_device_assert(const TwProgram *program, const char *message, const char *where,
                      const char *shape, int64_t index);
}
#endif
