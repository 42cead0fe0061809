// Which bytes of a result have no value, for operations whose results follow from parts of
// registers.
#ifndef BACKEND_WARPSIM_EXEC_MISSINGBYTES_H
#define BACKEND_WARPSIM_EXEC_MISSINGBYTES_H
#include "backend/warpsim/exec/LaneOperands.h"

namespace tw::warpsim {

/// Each byte follows from the same byte of every source, or from the same half.
MissingBytes missingOfBytes(const Instruction &instruction, const WarpRegisters &registers);
MissingBytes missingOfPairs(const Instruction &instruction, const WarpRegisters &registers);
/// and, or, xor, not: a byte that one source clears or fills has a value, whatever the other has.
MissingBytes missingOfLogic(const Instruction &instruction, const WarpRegisters &registers);
/// shl, shr, bfe and bfi; by amounts in registers they make a partial word whole.
MissingBytes missingOfShift(const Instruction &instruction, const WarpRegisters &registers);
MissingBytes missingOfExtracted(const Instruction &instruction, const WarpRegisters &registers);
MissingBytes missingOfInserted(const Instruction &instruction, const WarpRegisters &registers);
/// prmt by index; mov of two halves; cvt to an integer of fewer bits.
MissingBytes missingOfPermuted(const Instruction &instruction, const WarpRegisters &registers);
MissingBytes missingOfHalves(const Instruction &instruction, const WarpRegisters &registers);
MissingBytes missingOfTruncated(const Instruction &instruction, const WarpRegisters &registers);

} // namespace tw::warpsim
#endif
