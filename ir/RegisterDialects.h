// Registers the dialects that Tile IR modules are made of.
#ifndef IR_REGISTERDIALECTS_H
#define IR_REGISTERDIALECTS_H
namespace mlir {
class DialectRegistry;
}
namespace tw {
/// tile, arith, math, scf, func, ub: what the frontend emits.
void registerTileDialects(mlir::DialectRegistry &registry);
} // namespace tw
#endif
