// Loads and stores of global memory. Where a pointer is an argument's and 32-bit offsets of bytes
// reach all of its memory, through a buffer resource: an offset beyond its bounds reads zeros and
// writes nothing, so that a mask is one select. Else plain accesses, in branches where masked.
#include "backend/amd/LowerAmd.h"
#include "backend/amd/addresses/LoopProgress.h"
#include "backend/gpu/BranchedAccess.h"
#include "backend/gpu/RegisterWords.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

//===-- Buffers ------------------------------------------------------------------------------===//

/// Where offsets from an argument are of either sign, the resource begins so far before it that
/// they are above 0 as unsigned numbers.
static constexpr int64_t kBias = int64_t(1) << 31;
/// The bounds of a resource, and the offset of lanes that a mask leaves out. Offsets from an
/// argument itself are below 2^31, as larger memory takes plain accesses.
static constexpr uint32_t kBounds = 0xfffffff0, kForwardBounds = uint32_t(1) << 31;

namespace {
/// A step of an address: a number of elements.
struct Step {
  Value index; // null for a constant
  int64_t constant = 0, bytes = 0;
};

/// A place in an argument's memory.
struct BufferPlace {
  BlockArgument argument;
  SmallVector<Step> steps; // from the argument on
  Step progress;           // of a loop, by which the resource moves
};
} // namespace

/// Returns how far before an argument its resource begins.
static int64_t biasOf(Lowering &lowering, BlockArgument argument) {
  auto kernel = cast<LLVM::LLVMFuncOp>(lowering.kernel);
  return kernel.getArgAttr(argument.getArgNumber(), tile::kArgForward) ? 0 : kBias;
}

/// Returns the bounds, of which word 2 of a resource has all but zeros below.
static uint32_t boundsOf(Lowering &lowering, BlockArgument argument) {
  uint32_t bounds = biasOf(lowering, argument) ? kBounds : kForwardBounds;
  return bounds & (~0u << lowering.arch.boundsShift);
}

/// Takes what a loop adds for all threads out of the steps: moving the resource takes no vector
/// instruction, and what is left does not change in the loop. Lanes that have masks of their own
/// have their numbers in any case: other products of them would only take more registers.
static void takeProgress(Lowering &lowering, BufferPlace &place, Value pointer, Value mask) {
  auto isUniform = [&](Value value) { return lowering.uniform.contains(value); };
  bool isOfLanes = mask && !isUniform(mask);
  auto isInMemory = [&](BlockArgument value) {
    return lowering.steady.contains(value, place.argument) ||
           beginsAtOnce(value, lowering.builder.getInsertionBlock(), mask);
  };
  auto isAccessed = [&](BlockArgument carried) {
    auto step = pointer.getDefiningOp<LLVM::GEPOp>();
    return step && lowering.steady.isAccessed(step.getBase(), carried);
  };
  LoopAccess access{isInMemory, isAccessed, biasOf(lowering, place.argument) == 0};
  for (Step &step : llvm::reverse(place.steps)) {
    if (!step.index || (isOfLanes && step.index.getDefiningOp<arith::MulIOp>()))
      continue;
    std::optional<LoopProgress> progress =
        progressOf(lowering.builder, step.index, isUniform, access);
    if (!progress)
      continue;
    step.index = progress->rest;
    place.progress = {progress->above, 0, step.bytes};
    return;
  }
}

/// The steps from a kernel's argument to a pointer; none where it is not of one, or 32 bits do not
/// reach all of its memory.
static std::optional<BufferPlace> stepsTo(Lowering &lowering, Value pointer) {
  BufferPlace place;
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>()) {
    if (step.getRawConstantIndices().size() != 1 || !step.getElemType().isIntOrFloat())
      return std::nullopt;
    Step made;
    made.bytes = step.getElemType().getIntOrFloatBitWidth() / 8;
    if (step.getDynamicIndices().empty())
      made.constant = step.getRawConstantIndices().front();
    else
      made.index = step.getDynamicIndices().front();
    place.steps.push_back(made);
    pointer = step.getBase();
  }
  place.argument = dyn_cast<BlockArgument>(pointer);
  auto kernel = cast<LLVM::LLVMFuncOp>(lowering.kernel);
  if (!place.argument || place.argument.getOwner() != &kernel.getBody().front() ||
      kernel.getArgAttr(place.argument.getArgNumber(), tile::kArgLarge))
    return std::nullopt;
  std::reverse(place.steps.begin(), place.steps.end());
  return place;
}

static std::optional<BufferPlace> placeOf(Lowering &lowering, Value pointer, Value mask) {
  std::optional<BufferPlace> place = stepsTo(lowering, pointer);
  if (place)
    takeProgress(lowering, *place, pointer, mask);
  return place;
}

static Value toWidth(Lowering &lowering, Value index, unsigned width) {
  OpBuilder &b = lowering.builder;
  Type type = b.getIntegerType(width);
  unsigned bits = index.getType().getIntOrFloatBitWidth();
  if (bits > width)
    return LLVM::TruncOp::create(b, lowering.loc, type, index);
  return bits < width ? Value(LLVM::SExtOp::create(b, lowering.loc, type, index)) : index;
}

static Value inBytes(Lowering &lowering, const Step &step, unsigned width) {
  Value index = toWidth(lowering, step.index, width);
  if (step.bytes == 1)
    return index;
  OpBuilder &b = lowering.builder;
  return LLVM::MulOp::create(b, lowering.loc, index,
                             constantOf(lowering, b.getIntegerType(width), step.bytes));
}

/// The sum of the steps to a place and a constant, in bytes, as an integer of a width.
static Value sumOf(Lowering &lowering, const BufferPlace &place, int64_t constant, unsigned width) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = b.getIntegerType(width);
  Value sum;
  for (const Step &step : place.steps) {
    APInt known;
    if (!step.index || matchPattern(step.index, m_ConstantInt(&known))) {
      constant += step.bytes * (step.index ? known.getSExtValue() : step.constant);
      continue;
    }
    Value bytes = inBytes(lowering, step, width);
    sum = sum ? Value(LLVM::AddOp::create(b, loc, sum, bytes)) : bytes;
  }
  Value rest = constantOf(lowering, type, width == 32 ? uint32_t(constant) : uint64_t(constant));
  return sum ? Value(LLVM::AddOp::create(b, loc, sum, rest)) : rest;
}

/// An offset that 32 bits do not hold as the nearest that they do, which no array reaches. No
/// offset reaches what lies before a resource that begins at its argument.
static Value nearestOffset(Lowering &lowering, Value offset, int64_t bias) {
  int64_t most = (int64_t(1) << 31) - 256 + bias;
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value last = constantOf(lowering, b.getI64Type(), most);
  Value isNear = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ule, offset, last);
  Value isBefore = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::slt, offset,
                                        constantOf(lowering, b.getI64Type(), 0));
  Value before = constantI32(lowering, bias ? 0 : int32_t(most));
  Value end =
      LLVM::SelectOp::create(b, loc, isBefore, before, constantI32(lowering, int32_t(most)));
  return LLVM::SelectOp::create(b, loc, isNear, toWidth(lowering, offset, 32), end);
}

/// The offset in bytes from where the resource begins. It is right modulo 2^32, and the memory is
/// smaller than that.
static Value offsetOf(Lowering &lowering, const BufferPlace &place) {
  int64_t bias = biasOf(lowering, place.argument);
  if (lowering.keepsFarOffsets)
    return nearestOffset(lowering, sumOf(lowering, place, bias, /*width=*/64), bias);
  return sumOf(lowering, place, bias, /*width=*/32);
}

/// Returns the type by which buffer instructions move a value: a byte, a half, or words of 32 bits.
static Type bufferType(OpBuilder &b, Type type) {
  unsigned bytes = wordFormOf(type).bytes;
  if (bytes <= 4)
    return b.getIntegerType(8 * bytes);
  return VectorType::get({int64_t(bytes) / 4}, b.getI32Type());
}

static std::string suffixOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return ".v" + std::to_string(vector.getNumElements()) + "i32";
  return ".i" + std::to_string(type.getIntOrFloatBitWidth());
}

static Type withoutPointers(OpBuilder &b, Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return b.getI64Type();
  auto vector = dyn_cast<VectorType>(type);
  bool isOfPointers = vector && isa<LLVM::LLVMPointerType>(vector.getElementType());
  return isOfPointers ? Type(VectorType::get(vector.getShape(), b.getI64Type())) : type;
}

/// A value that all threads share, in a scalar register from where it is computed.
static Value asScalar(Lowering &lowering, Value value) {
  OpBuilder &b = lowering.builder;
  if (matchPattern(value, m_Constant()) || !lowering.uniform.contains(value))
    return value;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(value);
  return callIntrinsic(lowering, "amdgcn.readfirstlane.i32", b.getI32Type(), value);
}

Value tw::amd::asScalarMask(Lowering &lowering, Value mask) {
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isInteger(32))
    return mask;
  OpBuilder &b = lowering.builder;
  Value left = asScalar(lowering, compare.getLhs()), right = asScalar(lowering, compare.getRhs());
  return arith::CmpIOp::create(b, lowering.loc, compare.getPredicate(), left, right);
}

/// The bounds, or 0 where a mask that all threads share is false. LLVM has them in a scalar
/// register only where it is told so: some comparisons yield vectors.
static Value maskedBounds(Lowering &lowering, BlockArgument argument, Value mask) {
  OpBuilder &b = lowering.builder;
  uint32_t bounds = boundsOf(lowering, argument) >> lowering.arch.boundsShift;
  Value &made = lowering.maskBounds[{mask, b.getInsertionBlock(), bounds}];
  if (made)
    return made;
  Value selected =
      LLVM::SelectOp::create(b, lowering.loc, asScalarMask(lowering, mask),
                             constantI32(lowering, int32_t(bounds)), constantI32(lowering, 0));
  return made = callIntrinsic(lowering, "amdgcn.readfirstlane.i32", b.getI32Type(), selected);
}

/// Returns the address that an array's offsets count from: its bias before the argument.
static Value biasedAddress(Lowering &lowering, BlockArgument argument) {
  OpBuilder &b = lowering.builder;
  Type i64 = b.getI64Type();
  Value address = LLVM::PtrToIntOp::create(b, lowering.loc, i64, argument);
  if (int64_t bias = biasOf(lowering, argument))
    address =
        LLVM::SubOp::create(b, lowering.loc, address, constantOf(lowering, i64, uint64_t(bias)));
  return address;
}

/// The address at which a resource begins: its bias before the argument, moved by a loop's
/// progress. Bits above an address would be a stride. An argument has none, as launches see to; a
/// difference may, as an empty array has no address, and so may what a loop adds for lanes that a
/// mask leaves out. (Where it leaves out all threads, there are no bounds.)
static Value startOf(Lowering &lowering, const BufferPlace &place, Value mask) {
  constexpr uint64_t addressBits = (uint64_t(1) << 48) - 1;
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type i64 = b.getI64Type();
  auto withoutStride = [&](Value address) -> Value {
    return LLVM::AndOp::create(b, loc, address, constantOf(lowering, i64, addressBits));
  };
  Value &start = lowering.starts[place.argument];
  if (!start) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(place.argument.getOwner());
    start = biasedAddress(lowering, place.argument);
    if (biasOf(lowering, place.argument))
      start = withoutStride(start);
  }
  if (!place.progress.index)
    return start;
  Value moved = LLVM::AddOp::create(b, loc, start, inBytes(lowering, place.progress, 64));
  return mask && !lowering.uniform.contains(mask) ? withoutStride(moved) : moved;
}

/// The resource of an access: an address, the bounds and flags. The scalar offset of instructions
/// is always 0, as sources differ on whether bounds hold for the sum with it, and whether that
/// wraps.
static Value resourceOf(Lowering &lowering, const BufferPlace &place, Value mask) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type i128 = b.getIntegerType(128);
  bool isShared = mask && lowering.uniform.contains(mask);
  Value start = startOf(lowering, place, mask);
  OpBuilder::InsertionGuard guard(b);
  if (!isShared && !place.progress.index)
    b.setInsertionPointAfterValue(start);
  Value words = LLVM::ZExtOp::create(b, loc, i128, start);
  APInt facts = APInt(128, lowering.arch.bufferFlags) << 96;
  if (isShared) {
    Value bounds = LLVM::ZExtOp::create(b, loc, i128, maskedBounds(lowering, place.argument, mask));
    bounds = LLVM::ShlOp::create(b, loc, bounds, constantOf(lowering, i128, 64));
    words = LLVM::OrOp::create(b, loc, words, bounds);
  } else {
    facts |= APInt(128, boundsOf(lowering, place.argument) >> lowering.arch.boundsShift) << 64;
  }
  words = LLVM::OrOp::create(b, loc, words,
                             LLVM::ConstantOp::create(b, loc, i128, b.getIntegerAttr(i128, facts)));
  Type type = LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/8);
  return LLVM::IntToPtrOp::create(b, loc, type, words);
}

/// The operands that all buffer accesses end with: resource, offset, scalar offset, policy.
static SmallVector<Value> bufferOperands(Lowering &lowering, const BufferPlace &place, Value mask,
                                         bool isStreamed) {
  Value resource = resourceOf(lowering, place, mask), offset = offsetOf(lowering, place);
  if (mask && !lowering.uniform.contains(mask))
    offset =
        LLVM::SelectOp::create(lowering.builder, lowering.loc, mask, offset,
                               constantI32(lowering, int32_t(boundsOf(lowering, place.argument))));
  return {resource, offset, constantI32(lowering, 0),
          constantI32(lowering, isStreamed ? lowering.arch.streamPolicy : 0)};
}

bool tw::amd::hasBuffer(Lowering &lowering, Value pointer) {
  return stepsTo(lowering, pointer).has_value();
}

SmallVector<Value> tw::amd::bufferAccess(Lowering &lowering, Value pointer, Value mask,
                                         bool isStreamed) {
  std::optional<BufferPlace> place = placeOf(lowering, pointer, mask);
  return place ? bufferOperands(lowering, *place, mask, isStreamed) : SmallVector<Value>();
}

Value tw::amd::fromScalarBase(Lowering &lowering, Value pointer, Value mask) {
  std::optional<BufferPlace> place = placeOf(lowering, pointer, mask);
  if (!place)
    return pointer;
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type i64 = b.getI64Type();
  // Unlike that of a resource, it may be below 0: the sum with the offset has all 64 bits.
  Value start = biasedAddress(lowering, place->argument);
  if (place->progress.index)
    start = LLVM::AddOp::create(b, loc, start, inBytes(lowering, place->progress, 64));
  Value base = LLVM::IntToPtrOp::create(b, loc, pointer.getType(), start);
  Value offset = LLVM::ZExtOp::create(b, loc, i64, offsetOf(lowering, *place));
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Returns true if masked-off elements read as 0, as buffers do beyond their bounds.
static bool isZero(Value other) {
  if (!other)
    return true;
  if (auto broadcast = other.getDefiningOp<vector::BroadcastOp>())
    other = broadcast.getSource();
  return matchPattern(other, m_Zero()) || matchPattern(other, m_PosZeroFloat());
}

static Value loadFromBuffer(Lowering &lowering, simt::GlobalLoadOp op, const BufferPlace &place,
                            Value mask, bool isStreamed) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = op.getResult().getType(), moved = bufferType(b, type),
       plain = withoutPointers(b, type);
  Value value = callIntrinsic(lowering, "amdgcn.raw.ptr.buffer.load" + suffixOf(moved), moved,
                              bufferOperands(lowering, place, mask, isStreamed));
  if (plain != moved)
    value = LLVM::BitcastOp::create(b, loc, plain, value);
  if (type != plain)
    value = LLVM::IntToPtrOp::create(b, loc, type, value);
  if (!mask || isZero(op.getOther()))
    return value;
  return LLVM::SelectOp::create(b, loc, mask, value, op.getOther());
}

static void storeToBuffer(Lowering &lowering, simt::GlobalStoreOp op, const BufferPlace &place,
                          Value mask, bool isStreamed) {
  OpBuilder &b = lowering.builder;
  Value value = op.getValue();
  Type type = value.getType(), moved = bufferType(b, type), plain = withoutPointers(b, type);
  if (type != plain)
    value = LLVM::PtrToIntOp::create(b, lowering.loc, plain, value);
  if (plain != moved)
    value = LLVM::BitcastOp::create(b, lowering.loc, moved, value);
  SmallVector<Value> operands = {value};
  operands.append(bufferOperands(lowering, place, mask, isStreamed));
  callIntrinsic(lowering, "amdgcn.raw.ptr.buffer.store" + suffixOf(moved), Type(), operands);
}

//===-- Accesses -----------------------------------------------------------------------------===//

void tw::amd::lowerGlobalLoad(Lowering &lowering, simt::GlobalLoadOp op) {
  Value mask = neededMask(op.getMask());
  // What all threads read alike, LLVM reads by scalar instructions.
  bool isPlain = isVolatile(op) || (!mask && lowering.uniform.contains(op.getPtr()));
  if (!isPlain)
    if (std::optional<BufferPlace> place = placeOf(lowering, op.getPtr(), mask))
      return op.replaceAllUsesWith(
          loadFromBuffer(lowering, op, *place, mask, isStreamed(op.getCache(), op.getEvict())));
  lowerLoadByBranch(lowering, op);
}

void tw::amd::lowerGlobalStore(Lowering &lowering, simt::GlobalStoreOp op) {
  Value mask = neededMask(op.getMask());
  if (std::optional<BufferPlace> place = placeOf(lowering, op.getPtr(), mask))
    return storeToBuffer(lowering, op, *place, mask, isStreamed(op.getCache(), op.getEvict()));
  lowerStoreByBranch(lowering, op);
}
