// The register file of a warp: reading and writing operands of any kind and width.
#include "backend/warpsim/exec/LaneOperands.h"
#include <algorithm>

using namespace tw::warpsim;

WarpRegisters::WarpRegisters(const std::array<uint32_t, 3> &numRegisters)
    : predicates(numRegisters[0]), predicatesSet(numRegisters[0]), words(numRegisters[1]),
      wordsSet(numRegisters[1]), wordsPartial(numRegisters[1]), wordsMissing(numRegisters[1]),
      doubles(numRegisters[2]), doublesSet(numRegisters[2]), doublesPartial(numRegisters[2]),
      doublesMissing(numRegisters[2]) {}

uint64_t tw::warpsim::readLane(const Operand &operand, const WarpRegisters &registers,
                               unsigned lane) {
  if (operand.kind != Operand::Kind::Register)
    return operand.bits;
  switch (operand.reg.file) {
  case RegisterFile::Predicate:
    return (readPredicate(operand, registers) >> lane) & 1;
  case RegisterFile::Word:
    return registers.words[operand.reg.number][lane];
  case RegisterFile::Double:
    return registers.doubles[operand.reg.number][lane];
  }
  return 0;
}

LaneMask tw::warpsim::readPredicate(const Operand &operand, const WarpRegisters &registers) {
  LaneMask value = 0;
  if (operand.kind == Operand::Kind::Register)
    value = registers.predicates[operand.reg.number];
  else if (operand.bits & 1)
    value = kAllLanes;
  return operand.isNegated ? ~value : value;
}

LaneMask tw::warpsim::setLanes(const Operand &operand, const WarpRegisters &registers) {
  if (operand.kind != Operand::Kind::Register)
    return kAllLanes;
  switch (operand.reg.file) {
  case RegisterFile::Predicate:
    return registers.predicatesSet[operand.reg.number];
  case RegisterFile::Word:
    return registers.wordsSet[operand.reg.number];
  case RegisterFile::Double:
    return registers.doublesSet[operand.reg.number];
  }
  return 0;
}

/// Returns true if the bytes of an operand may differ in having a value.
static bool hasBytes(const Operand &operand) {
  return operand.kind == Operand::Kind::Register && operand.reg.file != RegisterFile::Predicate;
}

static LaneMask partialLanes(const Operand &operand, const WarpRegisters &registers) {
  if (!hasBytes(operand))
    return 0;
  return operand.reg.file == RegisterFile::Word ? registers.wordsPartial[operand.reg.number]
                                                : registers.doublesPartial[operand.reg.number];
}

LaneMask tw::warpsim::wholeLanes(const Operand &operand, const WarpRegisters &registers) {
  return setLanes(operand, registers) & ~partialLanes(operand, registers);
}

LaneMask tw::warpsim::knownLanes(const Operand &operand, const WarpRegisters &registers) {
  bool isDouble =
      operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Double;
  return isDouble ? wholeLanes(operand, registers) : setLanes(operand, registers);
}

MissingBytes tw::warpsim::missingBytes(const Operand &operand, const WarpRegisters &registers) {
  MissingBytes missing;
  missing.fill(~setLanes(operand, registers));
  LaneMask partial = partialLanes(operand, registers);
  if (!partial)
    return missing;
  bool isWord = operand.reg.file == RegisterFile::Word;
  const auto &ofRegister = isWord ? registers.wordsMissing : registers.doublesMissing;
  for (unsigned byte = 0; byte < (isWord ? 4 : 8); ++byte)
    missing[byte] |= partial & ofRegister[operand.reg.number][byte];
  return missing;
}

void tw::warpsim::markBytes(const Operand &operand, WarpRegisters &registers, LaneMask active,
                            const MissingBytes &missing, unsigned numBytes) {
  if (!hasBytes(operand))
    return;
  bool isWord = operand.reg.file == RegisterFile::Word;
  unsigned registerBytes = isWord ? 4 : 8;
  numBytes = std::min(numBytes, registerBytes);
  LaneMask all = kAllLanes, some = 0;
  for (unsigned byte = 0; byte < numBytes; ++byte) {
    all &= missing[byte];
    some |= missing[byte];
  }
  uint32_t number = operand.reg.number;
  auto update = [&](LaneMask &lanes, LaneMask now) { lanes = (lanes & ~active) | (now & active); };
  update((isWord ? registers.wordsSet : registers.doublesSet)[number], ~all);
  update((isWord ? registers.wordsPartial : registers.doublesPartial)[number], some & ~all);
  MissingBytes &ofRegister = (isWord ? registers.wordsMissing : registers.doublesMissing)[number];
  for (unsigned byte = 0; byte < registerBytes; ++byte)
    update(ofRegister[byte], byte < numBytes ? missing[byte] : all);
}

void tw::warpsim::writeLane(const Operand &operand, WarpRegisters &registers, unsigned lane,
                            uint64_t bits, bool isSet) {
  if (operand.kind != Operand::Kind::Register)
    return;
  LaneMask bit = LaneMask(1) << lane, set = isSet ? bit : 0;
  uint32_t number = operand.reg.number;
  switch (operand.reg.file) {
  case RegisterFile::Predicate:
    return writePredicate(operand, registers, bit, bits & 1 ? bit : 0, set);
  case RegisterFile::Word:
    registers.words[number][lane] = static_cast<uint32_t>(bits);
    registers.wordsSet[number] = (registers.wordsSet[number] & ~bit) | set;
    registers.wordsPartial[number] &= ~bit;
    return;
  case RegisterFile::Double:
    registers.doubles[number][lane] = bits;
    registers.doublesSet[number] = (registers.doublesSet[number] & ~bit) | set;
    registers.doublesPartial[number] &= ~bit;
    return;
  }
}

void tw::warpsim::writePredicate(const Operand &operand, WarpRegisters &registers, LaneMask active,
                                 LaneMask value, LaneMask set) {
  if (operand.kind != Operand::Kind::Register)
    return;
  LaneMask &lanes = registers.predicates[operand.reg.number];
  LaneMask &setLanes = registers.predicatesSet[operand.reg.number];
  lanes = (lanes & ~active) | (value & active);
  setLanes = (setLanes & ~active) | (set & active);
}

LaneMask tw::warpsim::setOfSources(const Instruction &instruction, const WarpRegisters &registers) {
  LaneMask set = kAllLanes;
  for (const Operand &source : instruction.sources)
    set &= knownLanes(source, registers);
  return set;
}

LaneMask tw::warpsim::wholeOfSources(const Instruction &instruction,
                                     const WarpRegisters &registers) {
  LaneMask whole = kAllLanes;
  for (const Operand &source : instruction.sources)
    whole &= wholeLanes(source, registers);
  return whole;
}

template <typename S>
void tw::warpsim::gatherLanes(const Operand &operand, const WarpRegisters &registers,
                              LaneValues<S> &values) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values.lanes[lane] = static_cast<S>(readLane(operand, registers, lane));
}

template <typename S>
void tw::warpsim::scatterLanes(const Operand &operand, WarpRegisters &registers, LaneMask active,
                               const S *values, LaneMask set, bool isSigned) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (!((active >> lane) & 1))
      continue;
    uint64_t bits = values[lane];
    if (isSigned && sizeof(S) == 4)
      bits = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(values[lane])));
    writeLane(operand, registers, lane, bits, (set >> lane) & 1);
  }
}

template void tw::warpsim::gatherLanes(const Operand &, const WarpRegisters &,
                                       LaneValues<uint32_t> &);
template void tw::warpsim::gatherLanes(const Operand &, const WarpRegisters &,
                                       LaneValues<uint64_t> &);
template void tw::warpsim::scatterLanes(const Operand &, WarpRegisters &, LaneMask,
                                        const uint32_t *, LaneMask, bool);
template void tw::warpsim::scatterLanes(const Operand &, WarpRegisters &, LaneMask,
                                        const uint64_t *, LaneMask, bool);
