// The pass `draw-layouts`: shows people which thread holds which element.
#include "ir/layout/LayoutDiagram.h"
#include "ir/simt/Simt.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace tw {
#define GEN_PASS_DEF_DRAWLAYOUTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static LayoutAttr layoutIn(Type type) {
  if (auto buffer = dyn_cast<SharedType>(type))
    return buffer.getLayout();
  return hasLayout(type) ? cast<LayoutAttr>(cast<RankedTensorType>(type).getEncoding())
                         : LayoutAttr();
}

namespace {
struct DrawLayouts : tw::impl::DrawLayoutsBase<DrawLayouts> {
  void runOnOperation() override {
    llvm::DenseSet<LayoutAttr> drawn;
    getOperation().walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (LayoutAttr layout = layoutIn(type); layout && drawn.insert(layout).second)
          op->emitRemark() << layout << "\n" << layoutDiagram(layout.getValue());
    });
  }
};
} // namespace
