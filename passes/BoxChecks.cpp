// Checks of modules that copy boxes: their tensor maps and loaders.
#include "passes/BoxChecks.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

LogicalResult tw::checkLoaders(ModuleOp module) {
  WalkResult result = module.walk([&](simt::LoaderOp loader) -> WalkResult {
    LoaderNeeds needs;
    needs.add(loader);
    if (needs.obstacle().empty())
      return WalkResult::advance();
    return emitCoded(loader, Code::UnfitText)
           << "'" << loader->getName() << "' cannot run beside the program: " << needs.obstacle();
  });
  return failure(result.wasInterrupted());
}
