// The pass `verify-stage`: checks what holds between two stages of compilation, for tests and
// debugging.
#include "ir/tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;

static constexpr StringLiteral kTileDialects[] = {"tile", "scf", "arith",  "math",
                                                  "func", "ub",  "builtin"};
static constexpr StringLiteral kLoweredDialects[] = {
    "gpu", "vector", "memref", "scf", "cf", "arith", "math", "func", "llvm", "ub", "builtin"};

namespace {
/// What a stage allows.
struct Stage {
  StringLiteral name;
  ArrayRef<StringLiteral> dialects;
  bool hasTiles; // tiles, and no other arrays; else no tiles
};
} // namespace

static std::optional<Stage> findStage(StringRef name) {
  if (name == "tile")
    return Stage{"tile", kTileDialects, true};
  if (name == "lowered")
    return Stage{"lowered", kLoweredDialects, false};
  return std::nullopt;
}

/// Why a type may not occur in the stage, or nothing.
static StringRef violation(const Stage &stage, Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!stage.hasTiles)
    return tensor ? "has a tile, but tiles are lowered in this stage" : "";
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (tensor && (!ranked || !ranked.hasStaticShape()))
    return "has a tile whose shape is not static";
  if (ranked && ranked.getEncoding())
    return "has a tile with a layout, which is a later stage's";
  if (isa<VectorType, BaseMemRefType>(type))
    return "has a vector or memref, which is a later stage's";
  return "";
}

static LogicalResult verifyTypes(const Stage &stage, Operation *op, TypeRange types) {
  for (Type type : types)
    if (StringRef reason = violation(stage, type); !reason.empty())
      return op->emitError("stage ")
             << stage.name << ": '" << op->getName() << "' " << reason << ": " << type;
  return success();
}

static LogicalResult verifyOperation(const Stage &stage, Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (!llvm::is_contained(stage.dialects, dialect))
    return op->emitError("stage ") << stage.name << " has no operation '" << op->getName() << "'";
  if (failed(verifyTypes(stage, op, op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(verifyTypes(stage, op, block.getArgumentTypes())))
        return failure();
  return success();
}

namespace {
struct VerifyStage : tw::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    std::optional<Stage> known = findStage(stage);
    if (!known) {
      getOperation().emitError("unknown stage '") << stage << "'; known: tile, lowered";
      return signalPassFailure();
    }
    // Every violation is reported, not only the first.
    bool isValid = true;
    getOperation().walk([&](Operation *op) { isValid &= succeeded(verifyOperation(*known, op)); });
    if (!isValid)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
