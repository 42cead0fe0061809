// Waves of 16, 32 or 64 lanes: one warp, or two that meet at what the lanes of both do together.
#ifndef BACKEND_WARPSIM_CORE_WAVE_H
#define BACKEND_WARPSIM_CORE_WAVE_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

constexpr unsigned kMaxWaveSize = 64;

/// The warps of a wave that execute an instruction now, and their active lanes. A wave of 64 whose
/// lanes have parted may execute it with one of its halves only.
struct Wave {
  Cta &cta;
  std::array<Warp *, 2> halves = {nullptr, nullptr};
  std::array<LaneMask, 2> active = {0, 0};

  unsigned size() const { return cta.launch.program.waveSize; }
  uint64_t lanes() const { return active[0] | uint64_t(active[1]) << 32; }
  bool isActive(unsigned lane) const { return active[lane / 32] >> (lane % 32) & 1; }
  /// The half that reports name for the wave, and its first active lane.
  Warp &speaker() const { return *halves[active[0] ? 0 : 1]; }
  unsigned speakersLane() const { return unsigned(__builtin_ctz(active[active[0] ? 0 : 1])); }
};

/// A register of all lanes of a wave, and which of them have a value.
struct WaveValues {
  std::array<uint64_t, kMaxWaveSize> lanes = {};
  uint64_t set = 0;
};
WaveValues readWave(const Wave &wave, const Operand &operand);
/// Writes the active lanes.
void writeWave(const Wave &wave, const Operand &operand, const WaveValues &values);

/// Executes an instruction of a wave once both halves that take part in it are there; until then
/// the first one waits.
void executeWave(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
/// Lets the other half go on where it waits for this one, which has ended or waits at a barrier.
void noteHalfStopped(Cta &cta, const Warp &warp);

// Exchange.cpp, WaveMatrix.cpp, BlockChecks.cpp.
void executeExchange(const Wave &wave, const Instruction &instruction, int32_t pc);
void executeWaveMatrix(const Wave &wave, const Instruction &instruction, int32_t pc);
void executeBlockCheck(const Wave &wave, const Instruction &instruction, int32_t pc);
/// The number of a lane in its wave, or how many lanes of a mask are below it.
void executeWaveLane(Warp &warp, const Instruction &instruction, LaneMask active,
                     const Program &program);

// Coverage.cpp: what fences and barriers order.
void executeWaveFence(const Wave &wave, const Instruction &instruction);
/// Executes the first half of a barrier: it hands on what fences have released up to here.
void noteSignal(Cta &cta, const Warp &warp);
void coverBarrier(Cta &cta);
/// Before a warp's lanes access a memory. True when the access is one that nothing orders after the
/// last barrier: a fence that acquires is missing.
bool noteAccess(Cta &cta, const Warp &warp, bool isShared);

} // namespace tw::warpsim
#endif
