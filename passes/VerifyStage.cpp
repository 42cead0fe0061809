// The pass `verify-stage`: checks what holds between two stages of compilation, for tests and
// debugging.
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

static constexpr StringLiteral kTileDialects[] = {"tile", "scf", "arith",  "math",
                                                  "func", "ub",  "builtin"};
static constexpr StringLiteral kLayoutDialects[] = {"tile", "simt", "scf", "arith",
                                                    "math", "func", "ub",  "builtin"};
static constexpr StringLiteral kLoweredDialects[] = {"gpu",  "vector", "memref", "scf",
                                                     "cf",   "arith",  "math",   "func",
                                                     "llvm", "simt",   "ub",     "builtin"};

namespace {
enum class Tiles { Plain, Grown, WithLayout, None };
/// What a stage allows.
struct Stage {
  StringLiteral name;
  ArrayRef<StringLiteral> dialects;
  Tiles tiles;
  /// Why an operation of an allowed dialect may not occur, or nothing.
  StringRef (*refuse)(Operation *op);
};
} // namespace

//===-- What operations a stage has ----------------------------------------------------------===//

static StringRef allow(Operation *) { return ""; }

/// Data moves between threads by conversions of layout only.
static StringRef refuseLaidOut(Operation *op) {
  bool isOther =
      op->getName().getDialectNamespace() == "simt" && !isa<simt::ConvertLayoutOp, simt::MmaOp>(op);
  return isOther ? "is a later stage's" : "";
}

/// Data that moves between warps moves through buffers, which have their place.
static StringRef refuseScheduled(Operation *op) {
  auto crossesWarps = [](Type tile, unsigned axis) {
    return simt::hasLayout(tile) && !simt::warpBitsAlong(simt::layoutOf(tile), axis).empty();
  };
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](simt::ConvertLayoutOp convert) {
        const LinearLayout &source = simt::layoutOf(convert.getSource().getType());
        bool isLocal = simt::layoutOf(convert.getType()).isWithinWarpOf(source);
        return isLocal ? "" : "moves data between warps, which shared memory does in this stage";
      })
      .Case([](simt::AllocSharedOp alloc) {
        return alloc.getOffset() ? "" : "has no offset in shared memory";
      })
      .Case([](simt::PartialReduceOp) { return ""; }) // leaves a part for each warp
      .Case([&](tile::CombiningRegion fold) {
        return crossesWarps(fold.getSources().front().getType(), fold.getAxis())
                   ? "folds elements of several warps"
                   : "";
      })
      .Case<tile::DotOp, tile::GatherOp, tile::BarrierOp>(
          [](Operation *) { return "is an earlier stage's"; })
      .Default([](Operation *) { return ""; });
}

/// Operations of one thread.
static StringRef refuseLowered(Operation *op) {
  return isa<simt::ConvertLayoutOp, simt::PartialReduceOp, simt::StoreSharedOp, simt::LoadSharedOp,
             simt::GatherSharedOp, simt::DotSharedOp, simt::MmaOp, simt::SlotOp, simt::AsyncCopyOp>(
             op)
             ? "is an earlier stage's"
             : "";
}

static std::optional<Stage> findStage(StringRef name) {
  if (name == "tile")
    return Stage{"tile", kTileDialects, Tiles::Plain, allow};
  if (name == "grown")
    return Stage{"grown", kTileDialects, Tiles::Grown, allow};
  if (name == "laid-out")
    return Stage{"laid-out", kLayoutDialects, Tiles::WithLayout, refuseLaidOut};
  if (name == "scheduled")
    return Stage{"scheduled", kLayoutDialects, Tiles::WithLayout, refuseScheduled};
  if (name == "lowered")
    return Stage{"lowered", kLoweredDialects, Tiles::None, refuseLowered};
  return std::nullopt;
}

//===-- What types a stage has ---------------------------------------------------------------===//

/// Why a layout does not fit the machine, or nothing.
static StringRef layoutViolation(Operation *op, const LinearLayout &layout) {
  auto module = op->getParentOfType<ModuleOp>();
  tile::TargetAttr target = targetOf(op);
  auto warps = module ? module->getAttrOfType<IntegerAttr>(simt::kNumWarps) : IntegerAttr();
  if (target && layout.size(Place::Lane) != target.getWarpSize())
    return "has a layout with another number of lanes than the target";
  if (warps && layout.size(Place::Warp) != uint64_t(warps.getInt()))
    return "has a layout with another number of warps than the program";
  if (layout.freeBits(Place::Register) != 0)
    return "has a layout with registers that repeat others";
  return "";
}

/// Why a type may not occur in the stage, or nothing.
static StringRef violation(const Stage &stage, Operation *op, Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (stage.tiles == Tiles::None) {
    if (isa<simt::SharedType>(type))
      return "has a shared buffer, but buffers are addresses in this stage";
    return tensor ? "has a tile, but tiles are lowered in this stage" : "";
  }
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (tensor && (!ranked || !ranked.hasStaticShape()))
    return "has a tile whose shape is not static";
  if (isa<VectorType, BaseMemRefType>(type))
    return "has a vector or memref, which is a later stage's";
  if (!ranked)
    return "";
  if (stage.tiles == Tiles::Grown && !llvm::all_of(ranked.getShape(), llvm::isPowerOf2_64))
    return "has a tile whose extents are not all powers of two";
  if (stage.tiles == Tiles::Plain || stage.tiles == Tiles::Grown)
    return ranked.getEncoding() ? "has a tile with a layout, which is a later stage's" : "";
  if (!simt::hasLayout(ranked))
    return "has a tile without a layout";
  return layoutViolation(op, simt::layoutOf(ranked));
}

static LogicalResult verifyTypes(const Stage &stage, Operation *op, TypeRange types) {
  for (Type type : types)
    if (StringRef reason = violation(stage, op, type); !reason.empty())
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
  if (StringRef reason = stage.refuse(op); !reason.empty())
    return op->emitError("stage ") << stage.name << ": '" << op->getName() << "' " << reason;
  return success();
}

namespace {
struct VerifyStage : tw::impl::VerifyStageBase<VerifyStage> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    std::optional<Stage> known = findStage(stage);
    if (!known) {
      getOperation().emitError("unknown stage '")
          << stage << "'; known: tile, grown, laid-out, scheduled, lowered";
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
