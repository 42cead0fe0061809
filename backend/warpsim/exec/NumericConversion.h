// Any conversion of cvt, one value at a time: integers and floats of all widths, all modifiers.
#ifndef BACKEND_WARPSIM_EXEC_NUMERICCONVERSION_H
#define BACKEND_WARPSIM_EXEC_NUMERICCONVERSION_H
#include "backend/warpsim/Program.h"

namespace tw::warpsim {

/// Returns true if cvt has this pair of types with these modifiers.
bool isConvertible(const Instruction &instruction);

/// f16x2, bf16x2, e4m3x2 and e5m2x2.
bool isPairOfFloats(Type type);

/// One value; a signed integer result is sign-extended to 64 bits, others are zero-extended.
uint64_t convertValue(const Instruction &instruction, uint64_t bits);

/// Two f32 to a pair; the first is the upper half.
uint32_t convertPair(const Instruction &instruction, uint32_t high, uint32_t low);

/// The same rounded by random bits, which are cut in halves like the result.
uint32_t convertPairAtRandom(const Instruction &instruction, uint32_t high, uint32_t low,
                             uint32_t random);

/// A pair to a pair of another format, half by half.
uint32_t convertWithinPair(const Instruction &instruction, uint32_t bits);

/// cvt.pack: two s32 clamped to `type`, the second in the lower half.
uint32_t packIntegers(Type type, uint32_t high, uint32_t low);

} // namespace tw::warpsim
#endif
