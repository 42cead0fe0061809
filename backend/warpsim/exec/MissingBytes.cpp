// Which bytes of a result have no value, for operations whose results follow from parts of
// registers.
#include "backend/warpsim/exec/MissingBytes.h"
#include "backend/warpsim/exec/Handlers.h"
#include <algorithm>

using namespace tw::warpsim;

static MissingBytes allMissing(LaneMask lanes) {
  MissingBytes missing;
  missing.fill(lanes);
  return missing;
}

static void add(MissingBytes &missing, const MissingBytes &more) {
  for (unsigned byte = 0; byte < missing.size(); ++byte)
    missing[byte] |= more[byte];
}

/// Lanes in which some of the bits [begin, end) of `numBytes` have no value; the sign goes on above
/// them.
static LaneMask missingBits(const MissingBytes &missing, int numBytes, int begin, int end) {
  LaneMask lanes = 0;
  for (int byte = std::max(begin, 0) / 8; byte * 8 < end; ++byte)
    lanes |= missing[size_t(std::min(byte, numBytes - 1))];
  return lanes;
}

MissingBytes tw::warpsim::missingOfBytes(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = {};
  for (const Operand &source : instruction.sources)
    add(missing, missingBytes(source, registers));
  return missing;
}

MissingBytes tw::warpsim::missingOfPairs(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = missingOfBytes(instruction, registers);
  unsigned halfBytes = bytesOf(instruction.type) / 2;
  LaneMask halves[2] = {};
  for (unsigned byte = 0; byte < 2 * halfBytes; ++byte)
    halves[byte / halfBytes] |= missing[byte];
  for (unsigned byte = 0; byte < 2 * halfBytes; ++byte)
    missing[byte] = halves[byte / halfBytes];
  return missing;
}

MissingBytes tw::warpsim::missingOfLogic(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = missingOfBytes(instruction, registers);
  if (instruction.op != Op::And && instruction.op != Op::Or)
    return missing;
  unsigned fixing = instruction.op == Op::And ? 0 : 0xff;
  for (const Operand &source : instruction.sources) {
    MissingBytes unknown = missingBytes(source, registers);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      uint64_t value = readLane(source, registers, lane);
      for (unsigned byte = 0; byte < bytesOf(instruction.type); ++byte)
        if ((value >> 8 * byte & 0xff) == fixing && !(unknown[byte] >> lane & 1))
          missing[byte] &= ~(LaneMask(1) << lane);
    }
  }
  return missing;
}

/// Lanes where a result has no value whatever its bytes follow from: by amounts in registers that
/// may be any of the source's.
static LaneMask unknownLanes(const Instruction &instruction, const WarpRegisters &registers,
                             bool isByRegister) {
  if (isByRegister)
    return ~setOfSources(instruction, registers);
  LaneMask set = kAllLanes;
  for (const Operand &source : instruction.sources)
    set &= setLanes(source, registers);
  return ~set;
}

/// An amount up to 64, or -1 for one in a register.
static int amountOf(const Operand &operand) {
  return operand.kind == Operand::Kind::Immediate ? int(std::min<uint64_t>(operand.bits, 64)) : -1;
}

MissingBytes tw::warpsim::missingOfShift(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  int amount = amountOf(instruction.sources[1]);
  MissingBytes missing = allMissing(unknownLanes(instruction, registers, amount < 0));
  if (amount < 0)
    return missing;
  MissingBytes source = missingBytes(instruction.sources[0], registers);
  int numBytes = int(bytesOf(instruction.type));
  for (int byte = 0; byte < numBytes; ++byte) {
    int begin = 8 * byte + (instruction.op == Op::Shl ? -amount : amount), end = begin + 8;
    if (instruction.op != Op::Shl && !isSigned(instruction.type))
      end = std::min(end, 8 * numBytes);
    if (begin < end)
      missing[size_t(byte)] |= missingBits(source, numBytes, begin, end);
  }
  return missing;
}

MissingBytes tw::warpsim::missingOfExtracted(const Instruction &instruction,
                                             const WarpRegisters &registers) {
  int begin = amountOf(instruction.sources[1]), count = amountOf(instruction.sources[2]);
  LaneMask unknown = unknownLanes(instruction, registers, begin < 0 || count < 0);
  int numBytes = int(bytesOf(instruction.type));
  if (begin >= 0 && count > 0)
    unknown |= missingBits(missingBytes(instruction.sources[0], registers), numBytes, begin,
                           std::min(begin + count, 8 * numBytes));
  return allMissing(unknown);
}

MissingBytes tw::warpsim::missingOfInserted(const Instruction &instruction,
                                            const WarpRegisters &registers) {
  const auto &sources = instruction.sources;
  MissingBytes field = missingBytes(sources[0], registers),
               base = missingBytes(sources[1], registers);
  int begin = amountOf(sources[2]), count = amountOf(sources[3]);
  MissingBytes missing = allMissing(unknownLanes(instruction, registers, begin < 0 || count < 0));
  int numBytes = int(bytesOf(instruction.type));
  for (int byte = 0; byte < numBytes && begin >= 0 && count >= 0; ++byte) {
    int from = std::max(8 * byte, begin), to = std::min(8 * byte + 8, begin + count);
    if (from < to)
      missing[size_t(byte)] |= missingBits(field, numBytes, from - begin, to - begin);
    if (to - from < 8)
      missing[size_t(byte)] |= base[size_t(byte)];
  }
  return missing;
}

MissingBytes tw::warpsim::missingOfPermuted(const Instruction &instruction,
                                            const WarpRegisters &registers) {
  MissingBytes first = missingBytes(instruction.sources[0], registers);
  MissingBytes second = missingBytes(instruction.sources[1], registers), result = {};
  LaneMask unknown = ~setLanes(instruction.sources[2], registers);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint64_t selectors = readLane(instruction.sources[2], registers, lane);
    for (unsigned index = 0; index < 4; ++index) {
      unsigned from = (selectors >> (index * 4)) & 7;
      const MissingBytes &source = from < 4 ? first : second;
      result[index] |= ((source[from & 3] | unknown) >> lane & 1) << lane;
    }
  }
  return result;
}

MissingBytes tw::warpsim::missingOfHalves(const Instruction &instruction,
                                          const WarpRegisters &registers) {
  MissingBytes missing = missingBytes(instruction.sources[0], registers);
  MissingBytes high = missingBytes(instruction.sources[1], registers);
  unsigned halfBytes = bytesOf(instruction.type) / 2;
  std::copy_n(high.begin(), halfBytes, missing.begin() + halfBytes);
  return missing;
}

MissingBytes tw::warpsim::missingOfTruncated(const Instruction &instruction,
                                             const WarpRegisters &registers) {
  return missingBytes(instruction.sources[0], registers);
}
