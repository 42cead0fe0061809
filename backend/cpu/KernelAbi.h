// The calling convention between compiled CPU kernels and the device that runs them. C layout.
#ifndef BACKEND_CPU_KERNELABI_H
#define BACKEND_CPU_KERNELABI_H
#include "passes/simd/ProgramLayout.h"
#include <cstdint>

/// The entry of the kernel that Python calls NAME is the symbol `NAME.kernel`.
extern "C" {
/// arguments[i] holds parameter i: scalars in the low bytes, pointers as addresses.
typedef void (*TwKernel)(const uint64_t *arguments, TwProgram *program);

/// Sets `untilPoll` anew; or, when the launch is to stop, leaves the kernel and does not return.
void tw_poll(TwProgram *program);

/// tile.print of one value's element. `shape` is the tile's, as in "4x8", and `index` row-major;
/// a scalar has "" and 0. `type`, `hexDigits` and `bits` are those of a PrintedValue.
void tw_device_print(const TwProgram *program, const char *prefix, const char *shape, char type,
                     int32_t hexDigits, int64_t index, uint64_t bits);
/// Nanoseconds of a clock that never goes back.
int64_t tw_device_clock();
/// A tile.assert that failed; `message` is the text, `where` is "file:line". Does not return: the
/// launch ends with the first program that fails.
void tw_device_assert(const TwProgram *program, const char *message, const char *where,
                      const char *shape, int64_t index);
/// As `tw_device_assert`; the report shows two integers with `joint` between.
void tw_device_assert_of(const TwProgram *program, const char *message, const char *where,
                         const char *shape, int64_t index, const char *joint, int32_t isSigned,
                         int64_t first, int64_t second);
/// A load, store or atomic (its `name`) of `bytes` bytes that lies outside of the memory of
/// parameter `argument`, or of all parameters where that is -1. `where` has a line for each place
/// in the source. Does not return.
void tw_device_outside(const TwProgram *program, const char *name, const char *where,
                       const char *shape, int64_t index, uint64_t address, int32_t bytes,
                       int32_t argument);
/// An index of tile.gather, `value`, that is outside of an axis of `extent`. Does not return.
void tw_device_gather(const TwProgram *program, const char *where, const char *shape, int64_t index,
                      int64_t value, int64_t extent);
}
#endif
