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

tw::tile::CopyAttr tw::laneCopyOf(tile::TargetAttr target) {
  for (tile::CopyAttr copy : target ? target.getCopies() : ArrayRef<tile::CopyAttr>())
    if (copy.getKind() == tile::CopyKind::EachLane && copy.getWait() != tile::WaitKind::Barriers)
      return copy;
  return nullptr;
}

/// The machine that IR without a description is compiled for.
static constexpr tw::Machine kPlainMachine = {
    .warpSize = 32, .vectorBytes = 16, .lineBytes = 128, .sectorBytes = 32, .banks = {32, 4, 16}};

tw::Machine tw::machineOf(Operation *op) {
  tile::TargetAttr target = targetOf(op);
  if (!target)
    return kPlainMachine;
  unsigned vectorBytes = target.getVectorBits() / 8;
  return {target.getWarpSize(),
          vectorBytes,
          target.getLineBytes(),
          target.getSectorBytes(),
          {target.getBanks(), target.getBankBytes(), vectorBytes, target.getPhases()}};
}

bool tw::hasFeature(tile::TargetAttr target, tile::Feature feature) {
  return target && llvm::is_contained(target.getFeatures(), feature);
}
