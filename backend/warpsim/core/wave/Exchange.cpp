// What the lanes of a wave give each other: data-parallel primitives, permutations, votes (AMD,
// "CDNA3 Instruction Set Architecture", chapters 12 and 13; "RDNA3", chapter 13; LLVM,
// AMDGPUUsage).
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/core/wave/Wave.h"
#include "backend/warpsim/exec/LaneOperands.h"
#include "llvm/Support/MathExtras.h"

using namespace tw::warpsim;

namespace {
constexpr int kNoLane = -1;
constexpr unsigned kRow = 16;
/// By the first control word of each kind of data-parallel access.
enum DppControl : unsigned {
  QuadPermEnd = 0x100,
  RowShl = 0x100,
  RowShr = 0x110,
  RowRor = 0x120,
  WaveShl = 0x130,
  WaveRol = 0x134,
  WaveShr = 0x138,
  WaveRor = 0x13c,
  RowMirror = 0x140,
  RowHalfMirror = 0x141,
  RowBcast15 = 0x142,
  RowBcast31 = 0x143,
  RowShare = 0x150,
  RowXmask = 0x160
};
} // namespace

static int within(int lane, int begin, int end) {
  return lane >= begin && lane < end ? lane : kNoLane;
}

/// The controls of one word each.
static int findSpecialSource(unsigned control, int lane, int size) {
  int row = lane & ~15;
  switch (control) {
  case WaveShl:
    return within(lane + 1, 0, size);
  case WaveRol:
    return (lane + 1) % size;
  case WaveShr:
    return within(lane - 1, 0, size);
  case WaveRor:
    return (lane + size - 1) % size;
  case RowMirror:
    return row + 15 - lane % 16;
  case RowHalfMirror:
    return (lane & ~7) + 7 - lane % 8;
  case RowBcast15: // of the row before
    return row ? row - 1 : kNoLane;
  case RowBcast31:
    return lane >= 32 ? 31 : kNoLane;
  default:
    return kNoLane;
  }
}

/// The lane that a lane reads, or none.
static int findDppSource(unsigned control, int lane, int size) {
  int row = lane & ~15, inRow = lane & 15, amount = int(control & 15);
  if (control < QuadPermEnd)
    return (lane & ~3) + int(control >> 2 * (lane & 3) & 3);
  switch (control & ~15u) {
  case RowShl:
    return within(lane + amount, row, row + int(kRow));
  case RowShr:
    return within(lane - amount, row, row + int(kRow));
  case RowRor:
    return row + ((inRow - amount) & 15);
  case RowShare:
    return row + amount;
  case RowXmask:
    return row + (inRow ^ amount);
  default:
    return findSpecialSource(control, lane, size);
  }
}

static uint64_t bitOf(unsigned lane) { return uint64_t(1) << lane; }

/// Gives `to` the value that lane `from` of `values` has.
static void take(WaveValues &result, unsigned to, const WaveValues &values, unsigned from) {
  result.lanes[to] = values.lanes[from];
  result.set = (result.set & ~bitOf(to)) | (values.set >> from & 1) << to;
}

/// Sources: what disabled lanes keep, the value; then as immediates control, rows, banks, and
/// whether lanes without a source read 0.
static WaveValues exchangeByDpp(const Wave &wave, const Instruction &instruction) {
  WaveValues result = readWave(wave, instruction.sources[0]);
  WaveValues values = readWave(wave, instruction.sources[1]);
  auto immediate = [&](unsigned i) { return unsigned(instruction.sources[i].bits); };
  unsigned control = immediate(2), rows = immediate(3), banks = immediate(4);
  bool readsZero = immediate(5);
  for (unsigned lane = 0; lane < wave.size(); ++lane) {
    bool isEnabled = (rows >> lane / kRow & 1) && (banks >> lane % kRow / 4 & 1);
    if (!isEnabled)
      continue;
    int from = findDppSource(control, int(lane), int(wave.size()));
    if (from != kNoLane && wave.isActive(unsigned(from))) {
      take(result, lane, values, unsigned(from));
    } else if (readsZero) {
      result.lanes[lane] = 0;
      result.set |= bitOf(lane);
    }
  }
  return result;
}

static void reportIndex(const Wave &wave, const Operand &operand, int32_t pc) {
  for (unsigned half = 0; half < 2; ++half)
    if (wave.active[half])
      reportUnset(wave.cta, *wave.halves[half], operand, pc, wave.active[half],
                  "the lane to read from");
}

/// A lane that is off gives nothing that its reader may use.
static void takeActive(const Wave &wave, WaveValues &result, unsigned to, const WaveValues &values,
                       unsigned from) {
  take(result, to, values, from);
  if (!wave.isActive(from))
    result.set &= ~bitOf(to);
}

/// ds_bpermute: sources are four times the lane to read, and the value.
static WaveValues pull(const Wave &wave, const Instruction &instruction, int32_t pc) {
  reportIndex(wave, instruction.sources[0], pc);
  WaveValues result, places = readWave(wave, instruction.sources[0]);
  WaveValues values = readWave(wave, instruction.sources[1]);
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    takeActive(wave, result, lane, values, unsigned(places.lanes[lane] / 4 % wave.size()));
  return result;
}

/// ds_permute: the highest lane wins; lanes to which nobody sends read 0.
static WaveValues push(const Wave &wave, const Instruction &instruction, int32_t pc) {
  reportIndex(wave, instruction.sources[0], pc);
  WaveValues result, places = readWave(wave, instruction.sources[0]);
  WaveValues values = readWave(wave, instruction.sources[1]);
  result.set = ~uint64_t(0);
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    if (wave.isActive(lane))
      take(result, unsigned(places.lanes[lane] / 4 % wave.size()), values, lane);
  return result;
}

/// ds_swizzle within 32 lanes: by quads where bit 15 is set, else by an and-, or- and xor-mask.
static WaveValues swizzle(const Wave &wave, const Instruction &instruction) {
  WaveValues result, values = readWave(wave, instruction.sources[0]);
  unsigned pattern = unsigned(instruction.sources[1].bits);
  for (unsigned lane = 0; lane < wave.size(); ++lane) {
    unsigned group = lane & ~31u, inGroup = lane & 31;
    unsigned masked = ((inGroup & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
    unsigned quad = (inGroup & ~3u) + (pattern >> 2 * (lane & 3) & 3);
    takeActive(wave, result, lane, values, group + (pattern & 0x8000 ? quad : masked));
  }
  return result;
}

/// Lanes of a row by 4 bits of selectors each, from the own row or the other one of a pair.
/// Sources: old, value, the two words of selectors, whether lanes that are off are read, whether
/// they are 0.
static WaveValues permuteRows(const Wave &wave, const Instruction &instruction) {
  WaveValues result = readWave(wave, instruction.sources[0]);
  WaveValues values = readWave(wave, instruction.sources[1]);
  WaveValues low = readWave(wave, instruction.sources[2]);
  WaveValues high = readWave(wave, instruction.sources[3]);
  bool isOther = instruction.wave == WaveOp::Permlanex16, readsZero = instruction.sources[5].bits;
  for (unsigned lane = 0; lane < wave.size(); ++lane) {
    uint64_t selectors = low.lanes[lane] | high.lanes[lane] << 32;
    unsigned row = (lane & ~15u) ^ (isOther ? 16 : 0);
    unsigned from = row + unsigned(selectors >> 4 * (lane & 15) & 15);
    if (wave.isActive(from) || instruction.sources[4].bits) {
      take(result, lane, values, from);
    } else if (readsZero) {
      result.lanes[lane] = 0;
      result.set |= bitOf(lane);
    }
  }
  return result;
}

/// Odd blocks of `width` lanes of the first value change places with even ones of the second.
static void swapBlocks(const Wave &wave, const Instruction &instruction, unsigned width) {
  WaveValues first, second, a = readWave(wave, instruction.sources[0]);
  WaveValues b = readWave(wave, instruction.sources[1]);
  for (unsigned lane = 0; lane < wave.size(); ++lane) {
    bool isOdd = lane & width;
    takeActive(wave, first, lane, isOdd ? b : a, lane & ~width);
    takeActive(wave, second, lane, isOdd ? b : a, lane | width);
  }
  writeWave(wave, instruction.results[0], first);
  writeWave(wave, instruction.results[1], second);
}

/// The lane of a group that addresses the element of a column's row `row`. Of two words, 16 lanes
/// hold rows of 16 elements: lane by lane the parts of a row (LLVM, llvm.amdgcn.ds.read.tr16.b64
/// and tr8.b64), or where they are split, of four rows the first part, then the second (rocjitsu,
/// ds_transpose.h). Of four words, 8 lanes hold a row of 8 halves each.
static unsigned giverOf(unsigned row, unsigned part, unsigned parts, bool isSplit) {
  return isSplit ? row / 4 * 8 + part * 4 + row % 4 : row * parts + part;
}

/// Each lane of a group gets the column of its number. Sources: the words that lanes have read, the
/// bits of an element, whether rows are split.
static void transposeRows(const Wave &wave, const Instruction &instruction) {
  unsigned numWords = instruction.results.size();
  unsigned bits = unsigned(instruction.sources[numWords].bits), perWord = 32 / bits;
  bool isSplit = instruction.sources[numWords + 1].bits;
  unsigned rows = numWords * perWord, group = numWords == 2 ? kRow : rows;
  std::array<WaveValues, 4> from, to;
  for (unsigned word = 0; word < numWords; ++word) {
    from[word] = readWave(wave, instruction.sources[word]);
    to[word].set = ~uint64_t(0);
  }
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    for (unsigned row = 0; row < rows; ++row) {
      unsigned column = lane % group, element = column % rows;
      unsigned giver = lane - column + giverOf(row, column / rows, /*parts=*/group / rows, isSplit);
      const WaveValues &given = from[element / perWord];
      uint64_t value =
          given.lanes[giver] >> bits * (element % perWord) & llvm::maskTrailingOnes<uint64_t>(bits);
      to[row / perWord].lanes[lane] |= value << bits * (row % perWord);
      if (!wave.isActive(giver) || !(given.set >> giver & 1))
        to[row / perWord].set &= ~bitOf(lane);
    }
  for (unsigned word = 0; word < numWords; ++word)
    writeWave(wave, instruction.results[word], to[word]);
}

static WaveValues swapHalves(const Wave &wave, const Instruction &instruction) {
  WaveValues result, values = readWave(wave, instruction.sources[0]);
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    takeActive(wave, result, lane, values, lane ^ 32);
  return result;
}

static WaveValues broadcast(const Wave &wave, const Instruction &instruction, int32_t pc) {
  WaveValues result, values = readWave(wave, instruction.sources[0]);
  unsigned from = unsigned(__builtin_ctzll(wave.lanes()));
  if (instruction.wave == WaveOp::ReadLane) {
    reportIndex(wave, instruction.sources[1], pc);
    from = unsigned(readWave(wave, instruction.sources[1]).lanes[from] % wave.size());
  }
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    take(result, lane, values, from);
  return result;
}

/// v_writelane: sources are the value, the lane, and what the others keep.
static WaveValues replaceLane(const Wave &wave, const Instruction &instruction, int32_t pc) {
  WaveValues result = readWave(wave, instruction.sources[2]);
  WaveValues values = readWave(wave, instruction.sources[0]);
  reportIndex(wave, instruction.sources[1], pc);
  unsigned first = unsigned(__builtin_ctzll(wave.lanes()));
  unsigned to = unsigned(readWave(wave, instruction.sources[1]).lanes[first] % wave.size());
  take(result, to, values, first);
  return result;
}

static WaveValues vote(const Wave &wave, const Instruction &instruction) {
  WaveValues values = readWave(wave, instruction.sources[0]), result;
  uint64_t mask = 0;
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    mask |= uint64_t(wave.isActive(lane) && (values.lanes[lane] & 1)) << lane;
  result.lanes.fill(mask);
  result.set = (values.set & wave.lanes()) == wave.lanes() ? ~uint64_t(0) : 0;
  return result;
}

static WaveValues exchanged(const Wave &wave, const Instruction &instruction, int32_t pc) {
  switch (instruction.wave) {
  case WaveOp::Dpp:
    return exchangeByDpp(wave, instruction);
  case WaveOp::Bpermute:
    return pull(wave, instruction, pc);
  case WaveOp::Permute:
    return push(wave, instruction, pc);
  case WaveOp::Swizzle:
    return swizzle(wave, instruction);
  case WaveOp::Permlane16:
  case WaveOp::Permlanex16:
    return permuteRows(wave, instruction);
  case WaveOp::Permlane64:
    return swapHalves(wave, instruction);
  case WaveOp::WriteLane:
    return replaceLane(wave, instruction, pc);
  case WaveOp::Ballot:
    return vote(wave, instruction);
  default:
    return broadcast(wave, instruction, pc);
  }
}

void tw::warpsim::executeExchange(const Wave &wave, const Instruction &instruction, int32_t pc) {
  if (instruction.wave == WaveOp::Permlane16Swap)
    return swapBlocks(wave, instruction, 16);
  if (instruction.wave == WaveOp::Permlane32Swap)
    return swapBlocks(wave, instruction, 32);
  if (instruction.wave == WaveOp::TransposeRows)
    return transposeRows(wave, instruction);
  writeWave(wave, instruction.results[0], exchanged(wave, instruction, pc));
}

/// mbcnt.lo and, with `isHigh`, mbcnt.hi: of lanes 0 to 31 and of the others. Without sources the
/// number of the lane.
void tw::warpsim::executeWaveLane(Warp &warp, const Instruction &instruction, LaneMask active,
                                  const Program &program) {
  unsigned base = program.waveSize == kMaxWaveSize ? (warp.index & 1) * kWarpSize : 0;
  WarpRegisters &registers = warp.registers();
  LaneMask set = kAllLanes;
  for (const Operand &source : instruction.sources)
    set &= wholeLanes(source, registers);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest)), number = base + lane;
    uint64_t value = number;
    if (!instruction.sources.empty()) {
      uint64_t below = bitOf(number) - 1;
      uint32_t counted = uint32_t(instruction.isHigh ? below >> 32 : below);
      counted &= uint32_t(readLane(instruction.sources[0], registers, lane));
      value =
          readLane(instruction.sources[1], registers, lane) + unsigned(__builtin_popcount(counted));
    }
    writeLane(instruction.results[0], registers, lane, uint32_t(value), set >> lane & 1);
  }
}
