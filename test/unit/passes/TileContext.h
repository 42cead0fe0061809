// A context of MLIR with the dialects of kernels.
#ifndef TEST_UNIT_PASSES_TILECONTEXT_H
#define TEST_UNIT_PASSES_TILECONTEXT_H
#include "ir/RegisterDialects.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace tw::test {

/// Makes one without threads; `Others` are dialects besides those of Tile IR.
template <typename... Others> std::unique_ptr<mlir::MLIRContext> makeTileContext() {
  mlir::DialectRegistry registry;
  registerTileDialects(registry);
  if constexpr (sizeof...(Others) > 0)
    registry.insert<Others...>();
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

} // namespace tw::test
#endif
