// The text of SharedPhase in a #tile.target: "read 16 over 64 banks by lanes [1, 2, 12, 20]".
#ifndef IR_TILE_SHAREDPHASETEXT_H
#define IR_TILE_SHAREDPHASETEXT_H
#include "ir/layout/SharedBanks.h"
#include "mlir/IR/DialectImplementation.h"

namespace mlir {
template <> struct FieldParser<tw::SharedPhase> {
  static FailureOr<tw::SharedPhase> parse(AsmParser &parser);
};
} // namespace mlir

namespace tw {
mlir::AsmPrinter &operator<<(mlir::AsmPrinter &printer, const SharedPhase &phase);
/// For the uniquing of attributes.
llvm::hash_code hash_value(const SharedPhase &phase);
} // namespace tw
#endif
