// Registers the dialects that Tile IR modules are made of.
#include "ir/RegisterDialects.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/DialectRegistry.h"

void tw::registerTileDialects(mlir::DialectRegistry &registry) {
  registry.insert<tile::TileDialect, simt::SimtDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                  mlir::ub::UBDialect>();
}
