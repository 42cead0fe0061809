// Checks of modules that copy boxes: their tensor maps and loaders.
#include "passes/BoxChecks.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/LoaderNeeds.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;

LogicalResult tw::checkTensorMaps(ModuleOp module) {
  Attribute maps = module->getAttr(simt::kTensorMaps);
  if (!maps)
    return success();
  SmallVector<Type> arguments;
  for (auto kernel : module.getOps<func::FuncOp>())
    arguments.assign(kernel.getArgumentTypes().begin(), kernel.getArgumentTypes().end());
  auto isOfIntegers = [&](simt::LaunchProductAttr product) {
    return llvm::all_of(product.getArguments(), [&](unsigned number) {
      return number < arguments.size() && arguments[number].isInteger();
    });
  };
  auto isFilledIn = [&](Attribute attribute) {
    auto map = dyn_cast<simt::TensorMapAttr>(attribute);
    return map && map.getArgument() < arguments.size() &&
           isa<tile::PtrType>(arguments[map.getArgument()]) &&
           llvm::all_of(map.getExtents(), isOfIntegers) &&
           llvm::all_of(map.getStrides(), isOfIntegers);
  };
  auto list = dyn_cast<ArrayAttr>(maps);
  if (!list || !llvm::all_of(list, isFilledIn))
    return emitCoded(module, Code::UnfitText)
           << simt::kTensorMaps << " lists #simt.tensor_map of pointers that the kernel is given, "
           << "with its integers";
  return success();
}

LogicalResult tw::checkLoadersAndCluster(ModuleOp module) {
  constexpr int64_t mostLoaders = 4, mostPrograms = 8;
  Attribute loaders = module->getAttr(simt::kLoaderWarps);
  auto numLoaders = dyn_cast_or_null<IntegerAttr>(loaders);
  if (loaders && (!numLoaders || !numLoaders.getType().isInteger(32) || numLoaders.getInt() < 1 ||
                  numLoaders.getInt() > mostLoaders))
    return emitCoded(module, Code::UnfitText)
           << simt::kLoaderWarps << " is a number of 32 bits from 1 to 4, not " << loaders;
  Attribute cluster = module->getAttr(simt::kCluster);
  auto extents = dyn_cast_or_null<DenseI64ArrayAttr>(cluster);
  auto isOutside = [&](int64_t extent) { return extent < 1 || extent > mostPrograms; };
  if (cluster &&
      (!extents || extents.size() != 3 || llvm::any_of(extents.asArrayRef(), isOutside) ||
       isOutside(simt::clusterSizeOf(module))))
    return emitCoded(module, Code::UnfitText)
           << simt::kCluster << " is array<i64: x, y, z> of up to 8 programs, not " << cluster;
  return success();
}

/// Returns a use of what a loader leaves to later regions that is not in one of them, nor passes it
/// on to one.
static Operation *useByProgram(simt::LoaderOp loader) {
  SmallVector<Value> pending(loader.getResults());
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user->getParentOfType<simt::LoaderOp>())
        continue;
      auto loop = dyn_cast<scf::ForOp>(user);
      if (loop && use.getOperandNumber() >= loop.getNumControlOperands()) {
        pending.append({loop.getTiedLoopRegionIterArg(&use), loop.getTiedLoopResult(&use)});
        continue;
      }
      auto around = dyn_cast<scf::ForOp>(user->getParentOp());
      if (!around || !isa<scf::YieldOp>(user))
        return user;
      unsigned number = use.getOperandNumber();
      pending.append({around.getRegionIterArg(number), around.getResult(number)});
    }
  }
  return nullptr;
}

LogicalResult tw::checkLoaders(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    LoaderNeeds needs;
    auto loader = dyn_cast<simt::LoaderOp>(op);
    if (loader)
      needs.add(loader);
    else if (meetsLoader(op))
      needs.addControlOf(op);
    if (!needs.obstacle().empty())
      return emitCoded(op, Code::UnfitText)
             << "'" << op->getName() << "' cannot run beside the program: " << needs.obstacle();
    if (meetsLoader(op) && simt::extraWarpsOf(op) == 0)
      return emitCoded(op, Code::UnfitText)
             << "'" << op->getName() << "' waits for a loader that the module does not have";
    if (Operation *user = loader ? useByProgram(loader) : nullptr)
      return emitCoded(user, Code::UnfitText)
             << "'" << user->getName() << "' needs what only the loader knows";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
