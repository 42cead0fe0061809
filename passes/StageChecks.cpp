// What holds between two stages of compilation: which operations and types each has, and that
// copies are awaited.
#include "passes/StageChecks.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "ir/target/Processor.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Tables.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/BoxChecks.h"
#include "passes/analysis/CopiesInFlight.h"
#include "passes/analysis/ProductsInFlight.h"
#include "passes/simt/LayoutRules.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;

static constexpr StringLiteral kTileDialects[] = {"tile", "scf", "arith",  "math",
                                                  "func", "ub",  "builtin"};
static constexpr StringLiteral kLayoutDialects[] = {"tile", "simt", "scf", "arith",
                                                    "math", "func", "ub",  "builtin"};
static constexpr StringLiteral kLoweredDialects[] = {"gpu",  "vector", "memref", "scf",
                                                     "cf",   "arith",  "math",   "func",
                                                     "llvm", "simt",   "ub",     "builtin"};

static constexpr StringLiteral kLlvmDialects[] = {"llvm", "builtin"};

namespace {
enum class Tiles { Plain, Padded, AnyLayout, WithLayout, None };
/// The operations and types that a stage allows.
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

/// Refuses operations that passes for machines with threads do not handle.
static StringRef refusePadded(Operation *op) {
  return isa<tile::HistogramOp>(op) ? "is an earlier stage's" : "";
}

/// Data moves between threads by conversions of layout only.
static StringRef refuseLaidOut(Operation *op) {
  if (StringRef reason = refusePadded(op); !reason.empty())
    return reason;
  bool isOther = op->getName().getDialectNamespace() == "simt" &&
                 !isa<simt::ConvertLayoutOp, simt::MmaOp, simt::LoadBlocksOp>(op);
  return isOther ? "is a later stage's" : "";
}

static bool crossesWarps(Type tile, unsigned axis) {
  return simt::hasLayout(tile) && !simt::warpBitsAlong(simt::layoutOf(tile), axis).empty();
}

/// Data that moves between warps moves through buffers.
static StringRef refuseBetweenWarps(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](simt::ConvertLayoutOp convert) {
        const LinearLayout &source = simt::layoutOf(convert.getSource().getType());
        bool isLocal = simt::layoutOf(convert.getType()).isWithinWarpOf(source);
        return isLocal ? "" : "moves data between warps, which shared memory does in this stage";
      })
      .Case([](simt::PartialReduceOp) { return ""; }) // leaves a part for each warp
      .Case([](tile::CombiningRegion fold) {
        return crossesWarps(fold.getSources().front().getType(), fold.getAxis())
                   ? "folds elements of several warps"
                   : "";
      })
      .Case<tile::DotOp, tile::GatherOp, tile::BarrierOp>(
          [](Operation *) { return "is an earlier stage's"; })
      .Default([](Operation *) { return ""; });
}

/// And the buffers have their place.
static StringRef refuseScheduled(Operation *op) {
  if (auto alloc = dyn_cast<simt::AllocSharedOp>(op); alloc && !alloc.getOffset())
    return "has no offset in shared memory";
  return refuseBetweenWarps(op);
}

/// Operations of one thread.
static StringRef refuseLowered(Operation *op) {
  return isa<simt::ConvertLayoutOp, simt::PartialReduceOp, simt::StoreSharedOp, simt::LoadSharedOp,
             simt::GatherSharedOp, simt::DotSharedOp, simt::MmaOp, simt::MmaAsyncOp,
             simt::MmaWaitOp, simt::SlotOp, simt::AsyncCopyOp, simt::ArrayCopyOp, simt::BoxCopyOp,
             simt::BoxStoreOp, simt::LoaderOp, simt::ReleaseOp, simt::LoadBlocksOp>(op)
             ? "is an earlier stage's"
             : "";
}

static std::optional<Stage> findStage(StringRef name) {
  if (name == "tile")
    return Stage{"tile", kTileDialects, Tiles::Plain, allow};
  if (name == "padded")
    return Stage{"padded", kTileDialects, Tiles::Padded, refusePadded};
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
  if (stage.tiles == Tiles::Padded && !llvm::all_of(ranked.getShape(), llvm::isPowerOf2_64))
    return "has a tile whose extents are not all powers of two";
  if (stage.tiles == Tiles::Plain || stage.tiles == Tiles::Padded)
    return ranked.getEncoding() ? "has a tile with a layout, which is a later stage's" : "";
  if (stage.tiles == Tiles::AnyLayout && !ranked.getEncoding())
    return "";
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

LogicalResult tw::verifyStage(ModuleOp module, StringRef name) {
  std::optional<Stage> stage = findStage(name);
  if (!stage)
    return module.emitError("unknown stage '")
           << name << "'; known: tile, padded, laid-out, scheduled, lowered";
  bool isValid = true;
  module.walk([&](Operation *op) { isValid &= succeeded(verifyOperation(*stage, op)); });
  if (name == "scheduled")
    for (Operation *op : reachedInFlight(module))
      isValid &= succeeded(LogicalResult(op->emitError("stage scheduled: '")
                                         << op->getName() << "' " << kReachedInFlight));
  if (name == "scheduled")
    isValid &= succeeded(checkLoaders(module));
  if (name == "scheduled")
    for (auto kernel : module.getOps<func::FuncOp>())
      isValid &= succeeded(checkProductsInFlight(kernel, [](Operation *op) {
        return op->emitError("stage scheduled: '") << op->getName() << "' ";
      }));
  return success(isValid);
}

//===-- What a pass takes --------------------------------------------------------------------===//

/// Boxes are pointers and masks already.
static StringRef refuseBoxes(Operation *op) {
  bool isBox = isa<tile::DescriptorLoadOp, tile::DescriptorStoreOp, tile::DescriptorAtomicOp>(op);
  return isBox ? "is an earlier stage's" : "";
}

/// Products may be chosen already, and layouts assigned once.
static StringRef refuseBeforeLayouts(Operation *op) {
  StringRef reason = refuseBoxes(op);
  return reason.empty() ? refuseLaidOut(op) : reason;
}

/// Operations of one thread, of which 8-bit floats are bytes by now.
static StringRef refuseNarrowFloats(Operation *op) {
  auto isNarrow = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16;
  };
  if (llvm::any_of(op->getResultTypes(), isNarrow) || llvm::any_of(op->getOperandTypes(), isNarrow))
    return "has floats of 8 bits, which are bytes in this stage";
  return refuseLowered(op);
}

/// The IR that a pass takes. `name` is the one of Passes.td; users see the stage's own name.
struct Input {
  StringLiteral name;
  Stage stage;
  bool hasKernels = false; // its functions are kernels
};

static constexpr Input kInputs[] = {
    {"tile", {"tile", kTileDialects, Tiles::Plain, allow}},
    {"tile-passes", {"tile-passes", kTileDialects, Tiles::Plain, refuseBoxes}, true},
    {"padded", {"padded", kTileDialects, Tiles::Padded, refusePadded}},
    {"chosen-products", {"tile-passes", kLayoutDialects, Tiles::AnyLayout, refuseBeforeLayouts}},
    {"laid-out", {"laid-out", kLayoutDialects, Tiles::WithLayout, allow}},
    {"scheduled", {"scheduled", kLayoutDialects, Tiles::WithLayout, refuseBetweenWarps}, true},
    {"lowered", {"lowered", kLoweredDialects, Tiles::None, refuseLowered}},
    {"lowered-bytes", {"lowered", kLoweredDialects, Tiles::None, refuseNarrowFloats}},
    {"llvm-dialect", {"llvm-dialect", kLlvmDialects, Tiles::None, allow}},
};

#define GET_PassInputs_IMPL
#include "passes/PassInputs.inc"

StringRef tw::inputOf(StringRef pass, ArrayRef<PassInput> ofTarget) {
  for (ArrayRef<PassInput> inputs : {ArrayRef(PassInputs), ofTarget})
    for (const PassInput &input : inputs)
      if (input.pass == pass)
        return input.input;
  return "";
}

/// Elements of a vector that one operation of a lowered kernel may have: far above what a machine
/// holds in registers.
static constexpr int64_t kMaxVectorElements = 1 << 11;
/// Elements of a tile: far above what a program can compute with.
static constexpr int64_t kMaxTileElements = int64_t(1) << 31;

/// The product of the extents; 0 where it is above `limit`.
static int64_t numElementsUpTo(ShapedType type, int64_t limit) {
  int64_t count = 1;
  for (int64_t extent : type.getShape())
    if (extent < 1 || extent > limit || (count *= extent) > limit)
      return 0;
  return count;
}

/// Returns true if every stage knows what to do with values of the type.
static bool isElement(Type type) {
  if (auto pointer = dyn_cast<tile::PtrType>(type))
    return isElement(pointer.getPointee());
  if (type.isIndex())
    return true;
  return llvm::any_of(tile::elementTypes(), [&](const tile::ElementTypeRow &row) {
    return tile::irTypeOf(row, type.getContext()) == type;
  });
}

/// Returns true if floats of 8 bits take part in more than moves, choices and conversions.
static bool isNarrowArithmetic(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math") ||
      isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(op))
    return false;
  auto isNarrow = [](Type type) {
    Type element = tile::elementTypeOf(type);
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16;
  };
  return llvm::any_of(op->getOperandTypes(), isNarrow) ||
         llvm::any_of(op->getResultTypes(), isNarrow);
}

/// Returns true if the operation is the part of a reduction or scan that combines two elements.
static bool isInCombine(Operation *op) {
  return bool(op->getParentOfType<tile::CombiningRegion>());
}

/// Why the operation cannot combine two elements, or nothing: that is done with numbers only.
static StringRef reasonAgainstCombine(Operation *op) {
  if (!llvm::is_contained({"arith", "math", "scf", "ub"}, op->getName().getDialectNamespace()) &&
      !isa<tile::YieldOp, simt::YieldOp, tile::HintOp, tile::PrintOp, tile::AssertOp>(op))
    return "has no place in what combines two elements";
  auto isTile = [](Type type) { return isa<RankedTensorType, simt::SharedType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile))
    return "has a tile, but elements are combined one by one";
  return "";
}

namespace {
/// Looks at every operation, and at every type once.
class InputCheck {
public:
  InputCheck(ModuleOp module, const Stage &stage) : module(module), stage(stage) {}
  LogicalResult run();

private:
  StringRef reasonAgainst(Operation *op, Type type);
  StringRef reasonAgainstLayout(Operation *op, const LinearLayout &layout);
  StringRef reasonAgainst(Operation *op);
  LogicalResult checkTypes(Operation *op, TypeRange types);

  ModuleOp module;
  const Stage &stage;
  llvm::DenseSet<Type> accepted;
};
} // namespace

/// Layouts agree with the machine and with each other.
StringRef InputCheck::reasonAgainstLayout(Operation *op, const LinearLayout &layout) {
  simt::Threads threads = simt::threadsOf(module);
  if (layout.size(Place::Lane) != threads.lanes || layout.size(Place::Warp) != threads.warps)
    return "has a layout with another number of lanes or warps than the program";
  auto isUsed = [&](Place place) { return layout.numBits(place) != 0; };
  if (llvm::any_of(std::array{Place::Cta, Place::Step, Place::Offset}, isUsed))
    return "has a layout that is not of the registers of one program";
  return layoutViolation(op, layout);
}

StringRef InputCheck::reasonAgainst(Operation *op, Type type) {
  if (StringRef reason = violation(stage, op, type); !reason.empty())
    return reason;
  if ((stage.tiles == Tiles::WithLayout || stage.tiles == Tiles::AnyLayout) &&
      simt::hasLayout(type))
    if (StringRef reason = reasonAgainstLayout(op, simt::layoutOf(type)); !reason.empty())
      return reason;
  auto buffer = dyn_cast<simt::SharedType>(type);
  if (stage.tiles != Tiles::None && !isa<FunctionType>(type) &&
      !isElement(buffer ? buffer.getElementType() : tile::elementTypeOf(type)))
    return "has a type that no value of a kernel has";
  auto tile = dyn_cast<RankedTensorType>(type);
  if (tile && (numElementsUpTo(tile, kMaxTileElements) == 0))
    return "has a tile of no or too many elements";
  auto vector = dyn_cast<VectorType>(type);
  if (vector && (vector.isScalable() || numElementsUpTo(vector, kMaxVectorElements) == 0))
    return "has a vector that is too large";
  return "";
}

LogicalResult InputCheck::checkTypes(Operation *op, TypeRange types) {
  for (Type type : types) {
    if (accepted.contains(type))
      continue;
    if (StringRef reason = reasonAgainst(op, type); !reason.empty())
      return emitCoded(op, Code::UnfitText)
             << "'" << op->getName() << "' " << reason << ": " << type;
    accepted.insert(type);
  }
  return success();
}

/// Functions have a body of one block and are at the top; control flow is structured.
StringRef InputCheck::reasonAgainst(Operation *op) {
  if (StringRef reason = stage.refuse(op); !reason.empty())
    return reason;
  if (stage.tiles == Tiles::None)
    return "";
  if (isa<ModuleOp>(op) && op != module)
    return "is within another module";
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "func" && !isa<func::FuncOp, func::ReturnOp>(op))
    return "calls a function, but kernels are whole";
  if (dialect == "scf" &&
      !isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op))
    return "is not control flow that kernels have";
  if (isInCombine(op))
    if (StringRef reason = reasonAgainstCombine(op); !reason.empty())
      return reason;
  auto isBuffer = [](Type type) { return isa<simt::SharedType>(type); };
  if (llvm::any_of(op->getResultTypes(), isBuffer) && !isa<simt::AllocSharedOp, simt::SlotOp>(op))
    return "yields a buffer, but buffers are what was allocated";
  for (Region &region : op->getRegions())
    if (!region.empty() && llvm::any_of(region.getArgumentTypes(), isBuffer))
      return "is given a buffer, but buffers are what was allocated";
  for (Region &region : op->getRegions())
    if (!region.empty() && !region.hasOneBlock())
      return "has blocks that branch to each other";
  return isNarrowArithmetic(op) ? "computes with 8-bit floats, which have to be widened first" : "";
}

LogicalResult InputCheck::run() {
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (!llvm::is_contained(stage.dialects, op->getName().getDialectNamespace()))
      return emitCoded(op, Code::UnfitText)
             << "the stage " << stage.name << " has no operation '" << op->getName() << "'";
    if (failed(checkTypes(op, op->getResultTypes())))
      return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(checkTypes(op, block.getArgumentTypes())))
          return failure();
    if (StringRef reason = reasonAgainst(op); !reason.empty())
      return emitCoded(op, Code::UnfitText) << "'" << op->getName() << "' " << reason;
    return success();
  });
  return failure(result.wasInterrupted());
}

/// Returns true if an argument of a launch can be of the type.
static bool isParameter(Type type) {
  if (isa<tile::PtrType>(type))
    return true;
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  return isElement(type) && (isa<FloatType>(type) ? bits >= 16 : bits > 0);
}

/// Functions are kernels: of numbers and pointers, without results, with a body.
static LogicalResult checkFunctions(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      return emitCoded(function, Code::UnfitText) << "a function without a body cannot be compiled";
    if (function.getNumResults() != 0)
      return emitCoded(function, Code::UnfitText) << "a kernel has no results; it stores them";
    for (Type type : function.getArgumentTypes())
      if (!isParameter(type))
        return emitCoded(function, Code::UnfitText)
               << "a kernel's parameters are pointers and numbers of a machine, not " << type;
  }
  return success();
}

/// Checks the module's facts of the machine, which layouts are compared with.
static LogicalResult checkThreads(ModuleOp module) {
  Attribute warps = module->getAttr(simt::kNumWarps), target = module->getAttr(kTargetAttribute);
  auto count = dyn_cast_or_null<IntegerAttr>(warps);
  if (warps && (!count || !count.getType().isInteger(32) || count.getInt() < 1 ||
                count.getInt() > int64_t(tile::kMostWarps) || !llvm::isPowerOf2_64(count.getInt())))
    return emitCoded(module, Code::UnfitText)
           << simt::kNumWarps << " is a power of two of 32 bits up to " << tile::kMostWarps
           << ", not " << warps;
  if (target && !isa<tile::TargetAttr, tile::SimdAttr>(target))
    return emitCoded(module, Code::UnfitText)
           << kTargetAttribute << " is a #tile.target or a #tile.simd";
  if (module->hasAttr(kProcessorAttribute) && !processorOf(module))
    return emitCoded(module, Code::UnfitText)
           << kProcessorAttribute
           << " says how many simds, registers, granule, warps and shared_bytes there are: numbers "
              "of 32 bits above 0";
  return success();
}

LogicalResult tw::checkInput(ModuleOp module, StringRef name) {
  if (name.empty())
    return success();
  const Input *input =
      llvm::find_if(kInputs, [&](const Input &input) { return input.name == name; });
  assert(input != std::end(kInputs) && "passes name what there is");
  if (failed(checkThreads(module)) || failed(checkLoadersAndCluster(module)))
    return failure();
  if (input->hasKernels && (failed(checkFunctions(module)) || failed(checkTensorMaps(module))))
    return failure();
  if (failed(InputCheck(module, input->stage).run()))
    return failure();
  if (input->stage.name == "scheduled")
    if (SetVector<Operation *> early = reachedInFlight(module); !early.empty())
      return emitCoded(early.front(), Code::UnfitText)
             << "'" << early.front()->getName() << "' " << kReachedInFlight;
  if (input->stage.name == "scheduled" && failed(checkLoaders(module)))
    return failure();
  if (input->stage.name == "scheduled")
    for (auto kernel : module.getOps<func::FuncOp>())
      if (failed(checkProductsInFlight(kernel, [](Operation *op) {
            return emitCoded(op, Code::UnfitText) << "'" << op->getName() << "' ";
          })))
        return failure();
  return success();
}

LogicalResult tw::checkKernel(ModuleOp module) {
  auto isKernel = [](func::FuncOp function) { return function.isPublic(); };
  if (llvm::count_if(module.getOps<func::FuncOp>(), isKernel) != 1)
    return emitCoded(module, Code::UnfitText)
           << "the module must have one public function, its kernel";
  return checkFunctions(module);
}
