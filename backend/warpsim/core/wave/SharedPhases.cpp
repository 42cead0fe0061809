// Groups of lanes as cosets of a subspace of their numbers. Measured on gfx950 by HipKittens
// (analysis/paper_experiments/phases), for gfx942 from Composable Kernel's page on bank conflicts
// and "CDNA3 Instruction Set Architecture", chapter 11; RDNA's are not documented, and taken as
// neighbours.
#include "backend/warpsim/core/wave/SharedPhases.h"

using namespace tw::warpsim;

/// The cosets of what `generators` span, each as a mask of lanes.
static std::vector<LaneMask> cosetsOf(const std::vector<unsigned> &generators) {
  LaneMask group = 1;
  for (unsigned generator : generators)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      group |= (group >> lane & 1) << (lane ^ generator);
  std::vector<LaneMask> cosets;
  LaneMask left = ~LaneMask(0);
  while (left) {
    unsigned first = unsigned(__builtin_ctz(left));
    LaneMask coset = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      coset |= (group >> lane & 1) << (lane ^ first);
    cosets.push_back(coset);
    left &= ~coset;
  }
  return cosets;
}

SharedPhases tw::warpsim::sharedPhases(unsigned arch, unsigned bytes, bool isWrite) {
  bool isCdna4 = arch == 950, isCdna = isCdna4 || arch == 942 || arch == 90;
  if (bytes <= 4)
    return {isCdna4 ? 64u : 32u, cosetsOf({1, 2, 4, 8, 16})};
  if (bytes == 8)
    return isCdna4 && !isWrite ? SharedPhases{64, cosetsOf({1, 2, 4, 8, 16})}
                               : SharedPhases{32, cosetsOf({1, 2, 4, 8})};
  if (isWrite || !isCdna)
    return {32, cosetsOf({1, 2, 4})};
  return isCdna4 ? SharedPhases{64, cosetsOf({1, 2, 12, 20})}
                 : SharedPhases{32, cosetsOf({1, 2, 20})};
}
