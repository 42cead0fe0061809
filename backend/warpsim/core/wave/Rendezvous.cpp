// How the halves of a wave of 64 lanes meet. They run apart between instructions that the lanes of
// both execute together, which nobody can see: they share no registers. A half that comes first
// waits. Where they wait at different instructions, the wave has parted: then the earlier one goes
// on by itself, as in lock step the lanes behind a branch wait for those within it. Blocks are laid
// out so that what is earlier is executed earlier (llvmir/).
#include "backend/warpsim/core/wave/Wave.h"

using namespace tw::warpsim;

WaveValues tw::warpsim::readWave(const Wave &wave, const Operand &operand) {
  WaveValues values;
  for (unsigned half = 0; half < 2; ++half) {
    if (!wave.halves[half])
      continue;
    const WarpRegisters &registers = wave.halves[half]->registers();
    uint64_t *lanes = &values.lanes[half * kWarpSize];
    values.set |= uint64_t(wholeLanes(operand, registers)) << half * kWarpSize;
    if (operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Word) {
      const auto &words = registers.words[operand.reg.number];
      for (unsigned lane = 0; lane < kWarpSize; ++lane)
        lanes[lane] = words[lane];
    } else {
      for (unsigned lane = 0; lane < kWarpSize; ++lane)
        lanes[lane] = readLane(operand, registers, lane);
    }
  }
  return values;
}

void tw::warpsim::writeWave(const Wave &wave, const Operand &operand, const WaveValues &values) {
  for (unsigned half = 0; half < 2; ++half) {
    if (!wave.active[half])
      continue;
    WarpRegisters &registers = wave.halves[half]->registers();
    const uint64_t *lanes = &values.lanes[half * kWarpSize];
    LaneMask set = LaneMask(values.set >> half * kWarpSize);
    for (LaneMask rest = wave.active[half]; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      writeLane(operand, registers, lane, lanes[lane], set >> lane & 1);
    }
  }
}

static void perform(const Wave &wave, const Instruction &instruction, int32_t pc) {
  switch (instruction.wave) {
  case WaveOp::Fence:
    return executeWaveFence(wave, instruction);
  case WaveOp::Barrier:
    return;
  case WaveOp::Matrix:
    return executeWaveMatrix(wave, instruction, pc);
  case WaveOp::CheckBlock:
    return executeBlockCheck(wave, instruction, pc);
  default:
    return executeExchange(wave, instruction, pc);
  }
}

static void letGo(Warp &warp) {
  warp.meetsAt = -1;
  warp.state = WarpState::Ready;
}

static void performAlone(Cta &cta, Warp &warp) {
  Wave wave = {cta};
  int32_t pc = warp.meetsAt;
  wave.halves[warp.index & 1] = &warp;
  wave.active[warp.index & 1] = warp.meeting;
  letGo(warp);
  perform(wave, cta.launch.program.code[pc], pc);
}

static void performTogether(Cta &cta, Warp &low, Warp &high) {
  Wave wave = {cta, {&low, &high}, {low.meeting, high.meeting}};
  int32_t pc = low.meetsAt;
  letGo(low);
  letGo(high);
  perform(wave, cta.launch.program.code[pc], pc);
}

/// Two halves of which `warp` waits: decides who goes on.
static void meet(Cta &cta, Warp &warp) {
  unsigned other = warp.index ^ 1;
  if (other >= cta.warps.size() || cta.warps[other].state == WarpState::Done)
    return performAlone(cta, warp);
  Warp &partner = cta.warps[other];
  if (partner.state == WarpState::Ready)
    return;
  if (partner.meetsAt == warp.meetsAt)
    return warp.index & 1 ? performTogether(cta, partner, warp)
                          : performTogether(cta, warp, partner);
  // The partner may wait at a barrier, which it has reached without this half.
  int32_t partnersPc = partner.meetsAt >= 0 ? partner.meetsAt : partner.waitPc;
  if (warp.meetsAt < partnersPc)
    performAlone(cta, warp);
  else if (partner.meetsAt >= 0)
    performAlone(cta, partner);
}

void tw::warpsim::executeWave(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                              LaneMask active) {
  if (cta.launch.program.waveSize <= kWarpSize) {
    Wave wave = {cta, {&warp, nullptr}, {active, 0}};
    return perform(wave, instruction, pc);
  }
  warp.meetsAt = pc;
  warp.meeting = active;
  warp.state = WarpState::Waiting;
  warp.waitPc = pc;
  warp.barrier = -1;
  meet(cta, warp);
}

void tw::warpsim::noteHalfStopped(Cta &cta, const Warp &warp) {
  unsigned other = warp.index ^ 1;
  if (cta.launch.program.waveSize <= kWarpSize || other >= cta.warps.size())
    return;
  if (Warp &partner = cta.warps[other]; partner.meetsAt >= 0)
    meet(cta, partner);
}
