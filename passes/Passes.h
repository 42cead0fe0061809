// The passes' constructors and options, and their registration by name.
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H
#include "mlir/Pass/Pass.h"

namespace mlir::cf {
class ControlFlowDialect;
}
namespace tw::tile {
class TileDialect;
}
namespace tw::simt {
class SimtDialect;
}
namespace mlir::arith {
class ArithDialect;
}
namespace mlir::LLVM {
class LLVMDialect;
}
namespace mlir::math {
class MathDialect;
}
namespace mlir::scf {
class SCFDialect;
}
namespace mlir::vector {
class VectorDialect;
}

namespace tw {
#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace tw
#endif
