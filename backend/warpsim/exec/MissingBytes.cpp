// Which bytes of a result have no value, for operations whose results follow from parts of words.
#include "backend/warpsim/exec/MissingBytes.h"
#include "backend/warpsim/exec/Handlers.h"
#include <algorithm>

using namespace tw::warpsim;

static MissingBytes allMissing(LaneMask lanes) { return {lanes, lanes, lanes, lanes}; }

static void add(MissingBytes &missing, const MissingBytes &more) {
  for (unsigned byte = 0; byte < 4; ++byte)
    missing[byte] |= more[byte];
}

/// Lanes in which some of the bits [begin, end) have no value; the sign goes on above the word.
static LaneMask missingBits(const MissingBytes &missing, int begin, int end) {
  LaneMask lanes = 0;
  for (int byte = std::max(begin, 0) / 8; byte * 8 < end; ++byte)
    lanes |= missing[size_t(std::min(byte, 3))];
  return lanes;
}

MissingBytes tw::warpsim::missingOfBytes(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = allMissing(~setOfSources(instruction, registers));
  for (const Operand &source : instruction.sources)
    add(missing, missingBytes(source, registers));
  return missing;
}

MissingBytes tw::warpsim::missingOfPairs(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = missingOfBytes(instruction, registers);
  LaneMask low = missing[0] | missing[1], high = missing[2] | missing[3];
  return {low, low, high, high};
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
      for (unsigned byte = 0; byte < 4; ++byte)
        if ((value >> 8 * byte & 0xff) == fixing && !(unknown[byte] >> lane & 1))
          missing[byte] &= ~(LaneMask(1) << lane);
    }
  }
  return missing;
}

LaneMask tw::warpsim::absorbedLanes(const Instruction &instruction,
                                    const WarpRegisters &registers) {
  unsigned bits = 8 * bytesOf(instruction.type);
  uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  uint64_t fixing = instruction.op == Op::And ? 0 : all;
  LaneMask absorbed = 0;
  for (const Operand &source : instruction.sources) {
    LaneMask known = wholeLanes(source, registers);
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      if ((readLane(source, registers, lane) & all) == fixing)
        absorbed |= known & LaneMask(1) << lane;
  }
  return absorbed;
}

/// An amount up to 32, or -1 for one in a register.
static int amountOf(const Operand &operand) {
  return operand.kind == Operand::Kind::Immediate ? int(std::min<uint64_t>(operand.bits, 32)) : -1;
}

MissingBytes tw::warpsim::missingOfShift(const Instruction &instruction,
                                         const WarpRegisters &registers) {
  MissingBytes missing = allMissing(~setOfSources(instruction, registers));
  int amount = amountOf(instruction.sources[1]);
  if (amount < 0)
    return missing;
  MissingBytes source = missingBytes(instruction.sources[0], registers);
  for (int byte = 0; byte < 4; ++byte) {
    int begin = 8 * byte + (instruction.op == Op::Shl ? -amount : amount), end = begin + 8;
    if (instruction.op != Op::Shl && !isSigned(instruction.type))
      end = std::min(end, 32);
    if (begin < end)
      missing[size_t(byte)] |= missingBits(source, begin, end);
  }
  return missing;
}

MissingBytes tw::warpsim::missingOfExtracted(const Instruction &instruction,
                                             const WarpRegisters &registers) {
  LaneMask unknown = ~setOfSources(instruction, registers);
  int begin = amountOf(instruction.sources[1]), count = amountOf(instruction.sources[2]);
  if (begin >= 0 && count > 0)
    unknown |= missingBits(missingBytes(instruction.sources[0], registers), begin,
                           std::min(begin + count, 32));
  return allMissing(unknown);
}

MissingBytes tw::warpsim::missingOfInserted(const Instruction &instruction,
                                            const WarpRegisters &registers) {
  const auto &sources = instruction.sources;
  MissingBytes field = missingBytes(sources[0], registers),
               base = missingBytes(sources[1], registers);
  MissingBytes missing = allMissing(~setOfSources(instruction, registers));
  int begin = amountOf(sources[2]), count = amountOf(sources[3]);
  for (int byte = 0; byte < 4 && begin >= 0 && count >= 0; ++byte) {
    int from = std::max(8 * byte, begin), to = std::min(8 * byte + 8, begin + count);
    if (from < to)
      missing[size_t(byte)] |= missingBits(field, from - begin, to - begin);
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
  MissingBytes low = missingBytes(instruction.sources[0], registers);
  MissingBytes high = missingBytes(instruction.sources[1], registers);
  return {low[0], low[1], high[0], high[1]};
}

MissingBytes tw::warpsim::missingOfTruncated(const Instruction &instruction,
                                             const WarpRegisters &registers) {
  MissingBytes source = missingBytes(instruction.sources[0], registers);
  if (bytesOf(instruction.type) == 1)
    return allMissing(source[0]);
  LaneMask above = source[0] & source[1]; // a register of 16 bits has nothing there
  return {source[0], source[1], above, above};
}
