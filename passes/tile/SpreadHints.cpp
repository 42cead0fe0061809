// The pass `spread-hints`: what is promised of a value holds for every later use of it.
#include "ir/tile/Tile.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_SPREADHINTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw::tile;

/// `tl.multiple_of(pointers, 16)` is as often a statement as it is an expression: kernels written
/// for Triton go on to use `pointers`, whose value it marks.
static void spread(HintOp hint, const DominanceInfo &dominance) {
  Value source = hint.getSource();
  if (matchPattern(source, m_Constant()))
    return; // it is known better than any promise tells
  source.replaceUsesWithIf(hint.getResult(), [&](OpOperand &use) {
    return dominance.properlyDominates(hint.getOperation(), use.getOwner());
  });
}

namespace {
struct SpreadHints : tw::impl::SpreadHintsBase<SpreadHints> {
  void runOnOperation() override {
    const DominanceInfo &dominance = getAnalysis<DominanceInfo>();
    getOperation().walk([&](HintOp hint) { spread(hint, dominance); });
  }
};
} // namespace
