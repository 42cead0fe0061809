// Which CTAs form a cluster, and whether it can go on.
#include "backend/warpsim/core/state/Machine.h"
#include <algorithm>

using namespace tw::warpsim;

bool tw::warpsim::isAnyReady(const Cluster &cluster) {
  return std::ranges::any_of(cluster.ctas, [](const Cta *cta) {
    return std::ranges::any_of(cta->warps,
                               [](const Warp &warp) { return warp.state == WarpState::Ready; });
  });
}

void tw::warpsim::join(Cluster &cluster) {
  for (unsigned rank = 0; rank < cluster.ctas.size(); ++rank) {
    cluster.ctas[rank]->cluster = &cluster;
    cluster.ctas[rank]->rank = rank;
  }
}
