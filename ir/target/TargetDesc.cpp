// The description of a machine that a module carries.
#include "ir/target/TargetDesc.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

template <typename Description> static Description descriptionOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<Description>(tw::kTargetAttribute) : nullptr;
}

tw::tile::TargetAttr tw::targetOf(Operation *op) { return descriptionOf<tile::TargetAttr>(op); }

tw::tile::SimdAttr tw::simdMachineOf(Operation *op) {
  if (auto machine = descriptionOf<tile::SimdAttr>(op))
    return machine;
  return tile::SimdAttr::get(op->getContext(), /*vector_bytes=*/64, /*registers=*/32,
                             /*line_bytes=*/64, /*cache_bytes=*/32 << 10, {}, {}, "",
                             {tile::Feature::FMA, tile::Feature::ScaleByPower});
}

tw::tile::CopyAttr tw::laneCopyOf(tile::TargetAttr target) {
  for (tile::CopyAttr copy : target ? target.getCopies() : ArrayRef<tile::CopyAttr>())
    if (copy.getKind() == tile::CopyKind::EachLane && copy.getWait() != tile::WaitKind::Barriers)
      return copy;
  return nullptr;
}

static tw::tile::CopyAttr copyOf(tw::tile::TargetAttr target, tw::tile::CopyKind kind,
                                 tw::tile::WaitKind wait) {
  for (tw::tile::CopyAttr copy : target ? target.getCopies() : ArrayRef<tw::tile::CopyAttr>())
    if (copy.getKind() == kind && copy.getWait() == wait)
      return copy;
  return nullptr;
}

tw::tile::CopyAttr tw::boxCopyOf(tile::TargetAttr target) {
  return copyOf(target, tile::CopyKind::Boxes, tile::WaitKind::Barriers);
}

tw::tile::CopyAttr tw::arrayCopyOf(tile::TargetAttr target) {
  return copyOf(target, tile::CopyKind::Boxes, tile::WaitKind::Counts);
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

bool tw::hasFeature(tile::SimdAttr machine, tile::Feature feature) {
  return llvm::is_contained(machine.getFeatures(), feature);
}
