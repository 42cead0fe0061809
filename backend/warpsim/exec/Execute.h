// The meaning of instructions that read and write registers only, for the lanes of a warp.
#ifndef BACKEND_WARPSIM_EXEC_EXECUTE_H
#define BACKEND_WARPSIM_EXEC_EXECUTE_H
#include "backend/warpsim/Program.h"

namespace tw::warpsim {

constexpr unsigned kWarpSize = 32;
using LaneMask = uint32_t;

/// By byte of a register, of which words have four: the lanes whose byte has no value.
using MissingBytes = std::array<LaneMask, 8>;

/// The virtual registers of one warp, by lane. A bit of `...Set` says that the lane's value was
/// computed from initialized values only; an instruction's result is set where all that it used is.
/// Registers that are packed from parts may be partial: set, and some of their bytes have no value.
struct WarpRegisters {
  explicit WarpRegisters(const std::array<uint32_t, 3> &numRegisters);
  std::vector<LaneMask> predicates, predicatesSet;
  std::vector<std::array<uint32_t, kWarpSize>> words;
  std::vector<LaneMask> wordsSet, wordsPartial;
  std::vector<MissingBytes> wordsMissing; // of partial lanes
  std::vector<std::array<uint64_t, kWarpSize>> doubles;
  std::vector<LaneMask> doublesSet, doublesPartial;
  std::vector<MissingBytes> doublesMissing; // of partial lanes
  LaneMask carry = 0;                       // the condition code of .cc
  LaneMask carrySet = 0;
};

/// The code of an operation before Op::FirstOfCore with its types and modifiers, or null where the
/// simulator cannot execute that combination. To be asked once per instruction, before it runs.
Handler findHandler(const Instruction &instruction);

/// findHandler and call in one, for an instruction that is known to have a handler.
void executeScalar(const Instruction &instruction, WarpRegisters &registers, LaneMask active);

/// Reading and writing operands, for the instructions that the machine executes itself.
uint64_t readLane(const Operand &operand, const WarpRegisters &registers, unsigned lane);
LaneMask readPredicate(const Operand &operand,
                       const WarpRegisters &registers); // by lane, negation applied
LaneMask setLanes(const Operand &operand, const WarpRegisters &registers);   // immediates: all
LaneMask wholeLanes(const Operand &operand, const WarpRegisters &registers); // set, not partial
/// Lanes that count as set to operations that do not follow bytes: partial words do, since
/// compilers compute with them and drop the rest later; partial registers of 64 bits do not.
LaneMask knownLanes(const Operand &operand, const WarpRegisters &registers);
MissingBytes missingBytes(const Operand &operand, const WarpRegisters &registers);
/// Says of the active lanes of a value of `numBytes` which of them have no value. The bytes of the
/// register above the value have one where any of its bytes has.
void markBytes(const Operand &operand, WarpRegisters &registers, LaneMask active,
               const MissingBytes &missing, unsigned numBytes);
void writeLane(const Operand &operand, WarpRegisters &registers, unsigned lane, uint64_t bits,
               bool isSet);
void writePredicate(const Operand &operand, WarpRegisters &registers, LaneMask active,
                    LaneMask value, LaneMask set);

} // namespace tw::warpsim
#endif
