// Checks of the arrays that subgroups load blocks of, by the restrictions of SPV_INTEL_2d_block_io.
#include "backend/warpsim/core/wave/Wave.h"

using namespace tw::warpsim;

namespace {
/// The numbers of one load. Extents and strides are in bytes and rows.
struct BlockNumbers {
  uint64_t base;
  int32_t width, height, pitch, x, y;
  int32_t elementBytes;
};
} // namespace

/// Returns what is wrong with a load; empty if nothing is.
static std::string mistakeIn(const BlockNumbers &numbers) {
  constexpr int32_t limit = 1 << 24, leastBytes = 64, wordBytes = 4, pieceBytes = 16;
  auto isOutside = [](int32_t number, int32_t least) { return number < least || number > limit; };
  if (numbers.base % 64 != 0)
    return "its array begins at " + std::to_string(numbers.base) + ", not at a multiple of 64";
  if (isOutside(numbers.width, leastBytes) || numbers.width % wordBytes != 0)
    return "rows of its array have " + std::to_string(numbers.width) +
           " bytes, not from 64 to 2^24 and a multiple of 4";
  if (isOutside(numbers.height, 1))
    return "its array has " + std::to_string(numbers.height) + " rows, not from 1 to 2^24";
  if (isOutside(numbers.pitch, leastBytes) || numbers.pitch % pieceBytes != 0 ||
      numbers.pitch < numbers.width)
    return "rows of its array are " + std::to_string(numbers.pitch) +
           " bytes apart, not a multiple of 16 from their bytes to 2^24";
  if (int64_t(numbers.x) * numbers.elementBytes % wordBytes != 0)
    return "it begins at element " + std::to_string(numbers.x) +
           " of a row, not at a multiple of 4 bytes";
  return "";
}

/// The sources are base, width, height, pitch, x, y and the bytes of an element: the same in all
/// lanes, which all take part.
void tw::warpsim::executeBlockCheck(const Wave &wave, const Instruction &instruction, int32_t pc) {
  std::array<uint64_t, 7> numbers = {};
  std::string mistake;
  for (unsigned lane = 0; lane < wave.size(); ++lane)
    if (!wave.isActive(lane))
      mistake = "lane " + std::to_string(lane) + " takes no part";
  for (size_t i = 0; i < numbers.size(); ++i) {
    WaveValues values = readWave(wave, instruction.sources[i]);
    numbers[i] = values.lanes[wave.speakersLane()];
    for (unsigned lane = 0; lane < wave.size() && mistake.empty(); ++lane)
      if (values.lanes[lane] != numbers[i])
        mistake = "its place differs from lane to lane";
  }
  auto number = [&](size_t index) { return int32_t(numbers[index]); };
  if (mistake.empty())
    mistake =
        mistakeIn({numbers[0], number(1), number(2), number(3), number(4), number(5), number(6)});
  if (mistake.empty())
    return;
  wave.cta.report(Kind::TensorMapMisuse, wave.speaker(), wave.speakersLane(), pc,
                  [&](Finding &finding) { finding.message = "a block is loaded, but " + mistake; });
}
