// Special registers.
#include "backend/warpsim/core/Operations.h"

using namespace tw::warpsim;

static uint32_t laneMaskOf(Special special, unsigned lane) {
  uint32_t self = 1u << lane, below = self - 1;
  switch (special) {
  case Special::LanemaskEq:
    return self;
  case Special::LanemaskLt:
    return below;
  case Special::LanemaskLe:
    return below | self;
  case Special::LanemaskGt:
    return ~(below | self);
  default:
    return ~below;
  }
}

/// Registers that are the same for all lanes of a warp.
static uint64_t uniformValue(const Cta &cta, const Warp &warp, Special special) {
  const Launch &launch = cta.launch.launch;
  auto axis = [&](Special first) { return unsigned(special) - unsigned(first); };
  if (special >= Special::NtidX && special <= Special::NtidZ)
    return launch.block[axis(Special::NtidX)];
  if (special >= Special::CtaidX && special <= Special::CtaidZ)
    return cta.position[axis(Special::CtaidX)];
  if (special >= Special::NctaidX && special <= Special::NctaidZ)
    return launch.grid[axis(Special::NctaidX)];
  if (special >= Special::ClusterCtaidX && special <= Special::ClusterCtaidZ) {
    unsigned of = axis(Special::ClusterCtaidX);
    return cta.position[of] % cta.launch.cluster[of];
  }
  if (special >= Special::ClusterNctaidX && special <= Special::ClusterNctaidZ)
    return cta.launch.cluster[axis(Special::ClusterNctaidX)];
  switch (special) {
  case Special::Warpid:
    return warp.index;
  case Special::Nwarpid:
    return cta.launch.numWarps;
  case Special::Nsmid:
    return 1;
  case Special::ClusterNctarank:
    return cta.launch.clusterSize();
  case Special::ClusterCtarank:
    return cta.rank;
  case Special::IsExplicitCluster:
    return cta.launch.kernel.cluster[0] != 0;
  // Clocks count the CTA's warp instructions: the same in every run.
  case Special::Clock:
  case Special::GlobaltimerLo:
    return uint32_t(cta.clock);
  case Special::Clock64:
  case Special::Globaltimer:
    return cta.clock;
  case Special::DynamicSmemSize:
    return launch.dynamicSharedBytes;
  case Special::TotalSmemSize:
    return cta.launch.sharedBytes;
  default: // smid, gridid
    return 0;
  }
}

void tw::warpsim::executeSpecial(Cta &cta, Warp &warp, const Instruction &instruction,
                                 LaneMask active) {
  Special special = instruction.special;
  bool isThread = special >= Special::TidX && special <= Special::TidZ;
  bool isMask = special >= Special::LanemaskEq && special <= Special::LanemaskGe;
  uint64_t uniform = uniformValue(cta, warp, special);
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t value = uniform;
    if (isThread)
      value = cta.threadPosition(warp.index, lane)[unsigned(special) - unsigned(Special::TidX)];
    else if (isMask)
      value = laneMaskOf(special, lane);
    else if (special == Special::Laneid)
      value = lane;
    writeLane(instruction.results[0], warp.registers(), lane, value, true);
  }
}
