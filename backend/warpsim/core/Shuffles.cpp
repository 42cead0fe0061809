// Operations in which the lanes of a warp exchange values: shuffles, votes, matches, reductions.
#include "backend/warpsim/core/Operations.h"
#include "backend/warpsim/core/order/Barriers.h"
#include "backend/warpsim/core/state/Origins.h"

using namespace tw::warpsim;

namespace {
/// A collective under execution.
struct Exchange {
  Cta &cta;
  Warp &warp;
  const Instruction &instruction;
  int32_t pc;
  LaneMask active;  // that give one membermask
  LaneMask members; // of these, those that it names
};
} // namespace

template <typename Use> static void forEachLane(LaneMask lanes, Use use) {
  for (LaneMask rest = lanes; rest; rest &= rest - 1)
    use(unsigned(__builtin_ctz(rest)));
}

/// The lane that a lane asks by the mode, within its segment or not.
static int32_t askedLane(ShflMode mode, unsigned lane, unsigned offset, unsigned segment) {
  switch (mode) {
  case ShflMode::Up:
    return int32_t(lane) - int32_t(offset);
  case ShflMode::Down:
    return int32_t(lane + offset);
  case ShflMode::Bfly:
    return int32_t(lane ^ offset);
  case ShflMode::Idx:
    return int32_t((lane & segment) | (offset & ~segment));
  }
  return int32_t(lane);
}

/// PTX ISA, shfl: the lane that a lane reads from, and whether it is within its segment.
static bool findSource(ShflMode mode, unsigned lane, uint32_t b, uint32_t c, unsigned &source) {
  unsigned clamp = c & 0x1f, segment = c >> 8 & 0x1f, offset = b & 0x1f;
  int32_t bound = int32_t((lane & segment) | (clamp & ~segment));
  int32_t from = askedLane(mode, lane, offset, segment);
  bool isWithin = mode == ShflMode::Up ? from >= bound : from <= bound;
  source = isWithin ? unsigned(from) : lane;
  return isWithin;
}

/// Whom each lane reads from; the result says which lanes' sources are within their segments.
static LaneMask findSources(const Exchange &x, std::array<unsigned, kWarpSize> &from) {
  const Operand &b = x.instruction.sources[1], &c = x.instruction.sources[2];
  WarpRegisters &registers = x.warp.registers();
  LaneMask within = 0;
  if (b.kind == Operand::Kind::Immediate && c.kind == Operand::Kind::Immediate) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      within |= LaneMask(findSource(x.instruction.shfl, lane, uint32_t(b.bits), uint32_t(c.bits),
                                    from[lane]))
                << lane;
    return within & x.active;
  }
  for (const Operand *operand : {&b, &c})
    reportUnset(x.cta, x.warp, *operand, x.pc, x.active, "the lane to read from");
  forEachLane(x.active, [&](unsigned lane) {
    bool isWithin = findSource(x.instruction.shfl, lane, uint32_t(readLane(b, registers, lane)),
                               uint32_t(readLane(c, registers, lane)), from[lane]);
    within |= LaneMask(isWithin) << lane;
  });
  return within;
}

/// One bit a lane, each that of the lane that it asks.
static LaneMask shuffledBits(LaneMask bits, const std::array<unsigned, kWarpSize> &from) {
  LaneMask shuffled = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    shuffled |= (bits >> from[lane] & 1) << lane;
  return shuffled;
}

/// All lanes exchange 32-bit registers.
static void shuffleWords(const Exchange &x, const std::array<unsigned, kWarpSize> &from) {
  WarpRegisters &registers = x.warp.registers();
  uint32_t to = x.instruction.results[0].reg.number, source = x.instruction.sources[0].reg.number;
  const std::array<uint32_t, kWarpSize> values = registers.words[source];
  LaneMask known = registers.wordsSet[source];
  std::array<uint32_t, kWarpSize> &result = registers.words[to];
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    result[lane] = values[from[lane]];
  LaneMask set = known == ~LaneMask(0) ? known : shuffledBits(known, from);
  bool isPartial = registers.wordsPartial[source] != 0;
  MissingBytes missing = {}, given = missingBytes(x.instruction.sources[0], registers);
  registers.wordsSet[to] = set;
  registers.wordsPartial[to] = 0;
  if (!isPartial)
    return;
  for (unsigned byte = 0; byte < 4; ++byte)
    missing[byte] = shuffledBits(given[byte], from);
  markBytes(x.instruction.results[0], registers, ~LaneMask(0), missing, 4);
}

static bool isWord(const Operand &operand) {
  return operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Word;
}

static void shuffleLanes(const Exchange &x, const std::array<unsigned, kWarpSize> &from) {
  const Operand &source = x.instruction.sources[0];
  WarpRegisters &registers = x.warp.registers();
  std::array<uint64_t, kWarpSize> values = {};
  forEachLane(x.active, [&](unsigned lane) { values[lane] = readLane(source, registers, lane); });
  LaneMask set = setLanes(source, registers);
  forEachLane(x.active, [&](unsigned lane) {
    unsigned other = from[lane];
    bool isActive = x.active >> other & 1;
    if (!isActive)
      x.cta.report(Kind::InactiveLane, x.warp, lane, x.pc, [&](Finding &finding) {
        finding.message = "reads the value of lane " + std::to_string(other) +
                          ", which does not take part in the shuffle";
      });
    writeLane(x.instruction.results[0], registers, lane, values[other],
              isActive && (set >> other & 1));
  });
}

static void shuffle(const Exchange &x) {
  std::array<unsigned, kWarpSize> from = {};
  LaneMask within = findSources(x, from);
  bool isFull = x.active == ~LaneMask(0);
  if (isFull && isWord(x.instruction.sources[0]) && isWord(x.instruction.results[0]))
    shuffleWords(x, from);
  else
    shuffleLanes(x, from);
  if (x.instruction.results.size() > 1)
    writePredicate(x.instruction.results[1], x.warp.registers(), x.active, within, x.active);
}

static void vote(const Exchange &x) {
  WarpRegisters &registers = x.warp.registers();
  LaneMask members = x.members;
  const Operand &source = x.instruction.sources[0];
  LaneMask values = source.kind == Operand::Kind::Immediate
                        ? (source.bits ? members : 0)
                        : readPredicate(source, registers) & members;
  LaneMask set = (members & ~setLanes(source, registers)) == 0 ? x.active : 0;
  const Operand &result = x.instruction.results[0];
  bool isTrue = false;
  switch (x.instruction.vote) {
  case VoteMode::All:
    isTrue = values == members;
    break;
  case VoteMode::Any:
    isTrue = values != 0;
    break;
  case VoteMode::Uni:
    isTrue = values == members || values == 0;
    break;
  default:
    forEachLane(x.active,
                [&](unsigned lane) { writeLane(result, registers, lane, values, set != 0); });
    return;
  }
  writePredicate(result, registers, x.active, isTrue ? x.active : 0, set);
}

static void match(const Exchange &x) {
  WarpRegisters &registers = x.warp.registers();
  LaneMask members = x.members;
  const Operand &source = x.instruction.sources[0];
  bool isSet = (members & ~knownLanes(source, registers)) == 0;
  std::array<LaneMask, kWarpSize> equals = {};
  forEachLane(members, [&](unsigned lane) {
    uint64_t value = readLane(source, registers, lane);
    forEachLane(members, [&](unsigned other) {
      equals[lane] |= LaneMask(readLane(source, registers, other) == value) << other;
    });
  });
  bool isAll = x.instruction.vote == VoteMode::MatchAll;
  LaneMask agreed = members && equals[__builtin_ctz(members)] == members ? members : 0;
  forEachLane(x.active, [&](unsigned lane) {
    writeLane(x.instruction.results[0], registers, lane, isAll ? agreed : equals[lane], isSet);
  });
  if (x.instruction.results.size() > 1)
    writePredicate(x.instruction.results[1], registers, x.active, agreed ? x.active : 0,
                   isSet ? x.active : 0);
}

static uint32_t reduceTwo(AtomOp op, bool isSigned, uint32_t a, uint32_t b) {
  switch (op) {
  case AtomOp::Add:
    return a + b;
  case AtomOp::And:
    return a & b;
  case AtomOp::Or:
    return a | b;
  case AtomOp::Xor:
    return a ^ b;
  case AtomOp::Min:
    return isSigned ? uint32_t(std::min(int32_t(a), int32_t(b))) : std::min(a, b);
  default:
    return isSigned ? uint32_t(std::max(int32_t(a), int32_t(b))) : std::max(a, b);
  }
}

static void reduce(const Exchange &x) {
  WarpRegisters &registers = x.warp.registers();
  LaneMask members = x.members;
  const Operand &source = x.instruction.sources[0];
  if (!members)
    return;
  uint32_t result = uint32_t(readLane(source, registers, unsigned(__builtin_ctz(members))));
  forEachLane(members & (members - 1), [&](unsigned lane) {
    result = reduceTwo(x.instruction.atomOp, x.instruction.type == Type::S32, result,
                       uint32_t(readLane(source, registers, lane)));
  });
  bool isSet = (members & ~setLanes(source, registers)) == 0;
  forEachLane(x.active, [&](unsigned lane) {
    writeLane(x.instruction.results[0], registers, lane, result, isSet);
  });
}

static void elect(const Exchange &x) {
  LaneMask members = x.members;
  // Any deterministic choice is allowed (PTX ISA, elect.sync): the lowest lane.
  LaneMask leader = members & (~members + 1);
  if (x.instruction.results.empty())
    return;
  forEachLane(x.active, [&](unsigned lane) {
    writeLane(x.instruction.results[0], x.warp.registers(), lane,
              members ? unsigned(__builtin_ctz(members)) : 0, true);
  });
  if (x.instruction.results.size() > 1)
    writePredicate(x.instruction.results[1], x.warp.registers(), x.active, leader, x.active);
}

static void executeTogether(const Exchange &x) {
  switch (x.instruction.op) {
  case Op::Shfl:
    return shuffle(x);
  case Op::Vote:
    return vote(x);
  case Op::Match:
    return match(x);
  case Op::Redux:
    return reduce(x);
  default:
    return elect(x);
  }
}

void tw::warpsim::executeCollective(Cta &cta, Warp &warp, const Instruction &instruction,
                                    int32_t pc, LaneMask active) {
  if (instruction.op == Op::Activemask) {
    forEachLane(active, [&](unsigned lane) {
      writeLane(instruction.results[0], warp.registers(), lane, active, true);
    });
    return;
  }
  const Operand &members = instruction.sources[instruction.op == Op::Shfl    ? 3
                                               : instruction.op == Op::Elect ? 0
                                                                             : 1];
  for (LaneMask rest = active; rest;) {
    MemberGroup group = takeGroup(cta, warp, members, pc, active, rest);
    executeTogether({cta, warp, instruction, pc, group.lanes, group.members});
  }
}
