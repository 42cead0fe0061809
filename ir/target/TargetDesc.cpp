// The description of a GPU that a module carries.
#include "ir/target/TargetDesc.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

tw::tile::TargetAttr tw::targetOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<tile::TargetAttr>(kTargetAttribute) : nullptr;
}

bool tw::hasFeature(tile::TargetAttr target, StringRef feature) {
  return target && llvm::any_of(target.getFeatures(),
                                [&](StringAttr has) { return has.getValue() == feature; });
}
