// Numbers of threads and programs, exchanges between the lanes of a subgroup, and barriers.
#include "backend/gpu/PrintedLines.h"
#include "backend/spirv/LowerSpirv.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

static LLVM::LLVMFuncOp declare(Lowering &lowering, const Builtin &builtin, Type result,
                                ValueRange operands) {
  SmallVector<Type> types(operands.getTypes());
  MLIRContext *context = lowering.builder.getContext();
  auto function = cast<LLVM::LLVMFuncOp>(declareFunction(
      lowering, builtin.name, result ? result : LLVM::LLVMVoidType::get(context), types));
  function.setCConv(LLVM::CConv::SPIR_FUNC);
  function.setNoUnwind(true);
  function.setWillReturn(true);
  function.setConvergent(builtin.isConvergent);
  if (!builtin.hasEffects)
    function.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
        context,
        {LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef,
         LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef, LLVM::ModRefInfo::NoModRef}));
  return function;
}

Value tw::spirv::callBuiltin(Lowering &lowering, const Builtin &builtin, Type result,
                             ValueRange operands) {
  LLVM::LLVMFuncOp function = declare(lowering, builtin, result, operands);
  auto call = LLVM::CallOp::create(lowering.builder, lowering.loc, function, operands);
  call.setCConv(LLVM::CConv::SPIR_FUNC);
  call.setConvergent(builtin.isConvergent);
  return result ? call.getResult() : Value();
}

//===-- Numbers ------------------------------------------------------------------------------===//

static void setRange(Value number, int64_t lower, int64_t upper) {
  Builder b(number.getContext());
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(),
                                            number.getType().getIntOrFloatBitWidth(), lower, upper);
  NamedAttribute attribute(LLVM::LLVMDialect::getRangeAttrName(), range);
  number.getDefiningOp<LLVM::CallOp>().setResAttrsAttr(
      b.getArrayAttr(b.getDictionaryAttr(attribute)));
}

/// A number that a function of the machine gives, which lies in [0, upper).
static Value readNumber(Lowering &lowering, const Builtin &builtin, int64_t upper) {
  Value number = callBuiltin(lowering, builtin, lowering.builder.getI32Type(), {});
  setRange(number, 0, upper);
  return number;
}

/// The same along an axis of the grid, where the functions give 64 bits.
static Value readGrid(Lowering &lowering, const Builtin &builtin, unsigned axis, int64_t lower,
                      int64_t upper) {
  OpBuilder &b = lowering.builder;
  Value number =
      callBuiltin(lowering, builtin, b.getI64Type(), constantI32(lowering, int64_t(axis)));
  setRange(number, lower, upper);
  return LLVM::TruncOp::create(b, lowering.loc, b.getI32Type(), number);
}

/// Numbers that stay the same are read once, at the kernel's start.
static void readThread(Lowering &lowering) {
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&lowering.kernel->getRegion(0).front());
  lowering.lane = readNumber(lowering, {"_Z22get_sub_group_local_idv"}, lowering.arch.warpSize);
  lowering.warp = lowering.numWarps == 1
                      ? constantI32(lowering, 0)
                      : readNumber(lowering, {"_Z16get_sub_group_idv"}, lowering.numWarps);
}

/// OpenCL leaves open which work-items of a work-group make up a subgroup ("OpenCL C", "Subgroup
/// Functions"), so that the number of a thread in its work-group says nothing about its lane.
Value tw::spirv::threadId(Lowering &lowering) {
  if (!lowering.lane)
    readThread(lowering);
  OpBuilder &b = lowering.builder;
  Value first = LLVM::MulOp::create(b, lowering.loc, lowering.warp,
                                    constantI32(lowering, lowering.arch.warpSize),
                                    LLVM::IntegerOverflowFlags::nuw);
  return LLVM::AddOp::create(b, lowering.loc, first, lowering.lane,
                             LLVM::IntegerOverflowFlags::nuw);
}

Value tw::spirv::programId(Lowering &lowering, unsigned axis) {
  auto place = [&](unsigned axis) {
    return readGrid(lowering, {"_Z12get_group_idj"}, axis, 0, INT32_MAX);
  };
  return gpu::programInOrder(lowering, axis, place,
                             [&](unsigned axis) { return numPrograms(lowering, axis); });
}

Value tw::spirv::numPrograms(Lowering &lowering, unsigned axis) {
  return readGrid(lowering, {"_Z14get_num_groupsj"}, axis, 1, int64_t(INT32_MAX) + 1);
}

//===-- Exchanges ----------------------------------------------------------------------------===//

Value tw::spirv::lowerShuffle(Lowering &lowering, simt::ShuffleOp op) {
  if (!lowering.lane)
    readThread(lowering);
  return gpu::lowerShuffle(lowering, op, [&](Value word, Value operand) {
    Value lane = laneToRead(lowering, op.getMode(), lowering.lane, operand, lowering.arch.warpSize);
    return callBuiltin(lowering, {"_Z17sub_group_shufflejj", /*isConvergent=*/true}, word.getType(),
                       {word, lane});
  });
}

//===-- Barriers -----------------------------------------------------------------------------===//

namespace {
/// Numbers of SPIR-V ("Scope <id>", "Memory Semantics <id>").
enum Scope : int64_t { kAllDevices = 0, kDevice = 1, kWorkgroup = 2, kSubgroup = 3 };
enum Semantics : int64_t {
  kAcquire = 0x2,
  kRelease = 0x4,
  kAcquireRelease = 0x8,
  kSharedMemory = 0x100,
  kGlobalMemory = 0x200
};
} // namespace

static Scope scopeOf(tile::MemoryScope scope) {
  if (scope == tile::MemoryScope::CTA)
    return kWorkgroup;
  return scope == tile::MemoryScope::GPU ? kDevice : kAllDevices;
}

void tw::spirv::emitBarrierPart(Lowering &lowering, BarrierPart part) {
  StringRef name = part == BarrierPart::Arrive ? "_Z33__spirv_ControlBarrierArriveINTELiii"
                                               : "_Z31__spirv_ControlBarrierWaitINTELiii";
  Semantics order = part == BarrierPart::Arrive ? kRelease : kAcquire;
  callBuiltin(lowering, {name, /*isConvergent=*/true, /*hasEffects=*/true}, Type(),
              {constantI32(lowering, kWorkgroup), constantI32(lowering, kWorkgroup),
               constantI32(lowering, order | kSharedMemory)});
}

void tw::spirv::lowerBarrier(Lowering &lowering, simt::BarrierOp op) {
  Scope scope = op.getWarp() || lowering.numWarps == 1 ? kSubgroup : kWorkgroup;
  int64_t semantics = kAcquireRelease | kSharedMemory;
  Scope ordered = scope;
  if (auto order = lowering.ordersGlobal.find(op); order != lowering.ordersGlobal.end()) {
    semantics |= kGlobalMemory;
    ordered = std::min(scope, scopeOf(order->second));
  }
  callBuiltin(lowering,
              {"_Z22__spirv_ControlBarrieriii", /*isConvergent=*/true, /*hasEffects=*/true}, Type(),
              {constantI32(lowering, scope), constantI32(lowering, ordered),
               constantI32(lowering, semantics)});
}
