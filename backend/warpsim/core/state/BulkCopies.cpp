// How the copies and barriers of a CTA begin.
#include "backend/warpsim/core/state/BulkCopies.h"

using namespace tw::warpsim;

void BulkCopies::reset(unsigned numWarps, uint32_t sharedBytes, uint64_t seed) {
  random.seed(seed);
  numVainRounds = 0;
  size_t numPieces = sharedBytes / kBulkPieceBytes + 1;
  if (!isUsed && writers.size() == numPieces)
    return;
  barriers.clear();
  copies.clear();
  pending.clear();
  stores.clear();
  writers.assign(numPieces, 0);
  readers.assign(numPieces, 0);
  hasBarrier.assign(numPieces, 0);
  numCommitted.assign(numWarps, {});
  isUsed = false;
}
