// What lowering the operations of one thread to LLVM dialect shares between GPUs.
#include "backend/gpu/ThreadLowering.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

/// No Python identifier has a dollar sign: the name cannot meet a kernel's.
static constexpr llvm::StringLiteral kSharedMemory = "shared$memory";

LogicalResult
tw::gpu::lowerKernels(ModuleOp module,
                      llvm::function_ref<LogicalResult(LLVM::LLVMFuncOp, unsigned)> lower) {
  auto numWarps = module->getAttrOfType<IntegerAttr>(simt::kNumWarps);
  for (auto kernel : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>()))
    if (kernel->hasAttr(simt::kKernel) &&
        failed(lower(kernel, numWarps ? unsigned(numWarps.getInt()) : 4)))
      return failure();
  return success();
}

LogicalResult tw::gpu::lowerOperations(ThreadLowering &lowering,
                                       llvm::function_ref<LogicalResult(Operation *)> lower,
                                       llvm::function_ref<bool(Operation *)> isLowered) {
  SmallVector<Operation *> operations;
  lowering.kernel->walk([&](Operation *op) {
    if (isa_and_nonnull<simt::SimtDialect>(op->getDialect()) || (isLowered && isLowered(op)))
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    lowering.builder.setInsertionPoint(op);
    lowering.loc = op->getLoc();
    if (failed(lower(op)))
      return failure();
    op->erase();
  }
  return success();
}

Value tw::gpu::constantOf(ThreadLowering &lowering, Type type, uint64_t value) {
  return LLVM::ConstantOp::create(lowering.builder, lowering.loc, type,
                                  lowering.builder.getIntegerAttr(type, value));
}

Value tw::gpu::constantI32(ThreadLowering &lowering, int64_t value) {
  return LLVM::ConstantOp::create(lowering.builder, lowering.loc, lowering.builder.getI32Type(),
                                  lowering.builder.getI32IntegerAttr(int32_t(value)));
}

Value tw::gpu::neededMask(Value mask) {
  return mask && matchPattern(mask, m_One()) ? Value() : mask;
}

Value tw::gpu::sharedAddress(ThreadLowering &lowering, int64_t offset) {
  OpBuilder &b = lowering.builder;
  auto global = lowering.module.lookupSymbol<LLVM::GlobalOp>(kSharedMemory);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(lowering.module.getBody());
    unsigned bytes = lowering.sharedBytes;
    global = LLVM::GlobalOp::create(
        b, lowering.loc, LLVM::LLVMArrayType::get(b.getI8Type(), bytes), /*isConstant=*/false,
        bytes ? LLVM::Linkage::Internal : LLVM::Linkage::External, kSharedMemory, Attribute(),
        lowering.sharedAlignment, /*addrSpace=*/3);
  }
  if (global.getAlignment().value_or(1) < lowering.sharedAlignment)
    global.setAlignment(lowering.sharedAlignment);
  Value start = LLVM::AddressOfOp::create(b, lowering.loc, global);
  if (offset == 0)
    return start;
  return LLVM::GEPOp::create(b, lowering.loc, start.getType(), b.getI8Type(), start,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

void tw::gpu::dropArgumentFacts(FunctionOpInterface kernel) {
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    for (NamedAttribute attribute :
         llvm::to_vector(mlir::function_interface_impl::getArgAttrs(kernel, i)))
      if (attribute.getName().strref().starts_with("tile."))
        kernel.removeArgAttr(i, attribute.getName());
}

static Value shuffleInteger(ThreadLowering &lowering, Value value, Value lane,
                            llvm::function_ref<Value(Value, Value)> shuffleWord) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type type = value.getType(), i32 = b.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    return shuffleWord(value, lane);
  if (bits < 32) {
    Value wide = LLVM::ZExtOp::create(b, loc, i32, value);
    return LLVM::TruncOp::create(b, loc, type, shuffleWord(wide, lane));
  }
  Value half = LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, 32));
  Value low = LLVM::TruncOp::create(b, loc, i32, value);
  Value high = LLVM::TruncOp::create(b, loc, i32, Value(LLVM::LShrOp::create(b, loc, value, half)));
  low = LLVM::ZExtOp::create(b, loc, type, shuffleWord(low, lane));
  high = LLVM::ZExtOp::create(b, loc, type, shuffleWord(high, lane));
  return LLVM::OrOp::create(b, loc, low, LLVM::ShlOp::create(b, loc, high, half));
}

Value tw::gpu::lowerShuffle(ThreadLowering &lowering, simt::ShuffleOp op,
                            llvm::function_ref<Value(Value word, Value lane)> shuffleWord) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value value = op.getValue();
  Type type = value.getType();
  if (isa<LLVM::LLVMPointerType>(type)) {
    value = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), value);
    value = shuffleInteger(lowering, value, op.getLane(), shuffleWord);
    return LLVM::IntToPtrOp::create(b, loc, type, value);
  }
  if (isa<IntegerType>(type))
    return shuffleInteger(lowering, value, op.getLane(), shuffleWord);
  Type integer = b.getIntegerType(type.getIntOrFloatBitWidth());
  value = LLVM::BitcastOp::create(b, loc, integer, value);
  value = shuffleInteger(lowering, value, op.getLane(), shuffleWord);
  return LLVM::BitcastOp::create(b, loc, type, value);
}

Value tw::gpu::laneToRead(ThreadLowering &lowering, simt::ShuffleMode mode, Value lane,
                          Value operand, unsigned warpSize) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  if (mode == simt::ShuffleMode::Index)
    return operand;
  if (mode == simt::ShuffleMode::Xor)
    return LLVM::XOrOp::create(b, loc, lane, operand);
  bool isUp = mode == simt::ShuffleMode::Up;
  Value other = isUp ? Value(LLVM::SubOp::create(b, loc, lane, operand))
                     : Value(LLVM::AddOp::create(b, loc, lane, operand));
  Value limit = constantI32(lowering, isUp ? 0 : warpSize);
  Value exists = LLVM::ICmpOp::create(
      b, loc, isUp ? LLVM::ICmpPredicate::sge : LLVM::ICmpPredicate::slt, other, limit);
  return LLVM::SelectOp::create(b, loc, exists, other, lane);
}

/// Half of the last digit that stays is added to the bits; NaN stays what it is.
Value tw::gpu::emitRoundTf32(ThreadLowering &lowering, Value x) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value bits = LLVM::BitcastOp::create(b, loc, b.getI32Type(), x);
  bits = LLVM::AddOp::create(b, loc, bits, constantI32(lowering, 0x1000));
  bits = LLVM::AndOp::create(b, loc, bits, constantI32(lowering, int32_t(0xffffe000)));
  Value isNan = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::uno, x, x);
  Value rounded = LLVM::BitcastOp::create(b, loc, b.getF32Type(), bits);
  return LLVM::SelectOp::create(b, loc, isNan, x, rounded);
}
