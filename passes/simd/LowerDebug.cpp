// device_print: one call of a host function per element (backend/cpu/KernelAbi.h).
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/simd/SimdFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

void SimdFunction::callHost(StringRef name, ValueRange arguments) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                            SmallVector<Type>(arguments.getTypes()));
    callee = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  }
  LLVM::CallOp::create(builder, loc, callee, arguments);
}

/// A constant, zero-terminated string in the module.
static LLVM::GlobalOp makeString(SimdFunction &f, StringRef text) {
  auto module = f.function->getParentOfType<ModuleOp>();
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(f.builder.getI8Type(), terminated.size());
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(module.getBody());
  unsigned number = 0;
  while (module.lookupSymbol("string" + std::to_string(number)))
    ++number;
  return LLVM::GlobalOp::create(f.builder, f.loc, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, "string" + std::to_string(number),
                                f.builder.getStringAttr(terminated));
}

Value SimdFunction::stringAddress(StringRef text) {
  return LLVM::AddressOfOp::create(builder, loc, makeString(*this, text));
}

Value SimdFunction::elementIndex(ArrayRef<int64_t> shape, const Coordinates &at) {
  Value linear = constantIndex(0);
  for (auto [extent, index] : llvm::zip(shape, at.index)) {
    linear = builder.createOrFold<arith::MulIOp>(loc, linear, constantIndex(extent));
    linear = builder.createOrFold<arith::AddIOp>(loc, linear, index);
  }
  return linear;
}

Value SimdFunction::shapeAddress(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return stringAddress(text);
}

static void forEachElement(SimdFunction &f, ArrayRef<int64_t> shape,
                           llvm::function_ref<void(const Coordinates &)> body) {
  f.emitNest(shape, int(shape.size()) - 1, 1, body);
}

/// The element as 64 bits and the host function's type character.
static std::pair<Value, char> encodeElement(SimdFunction &f, Value value, bool isSigned,
                                            bool asBits) {
  Type type = value.getType(), i64 = f.builder.getI64Type();
  OpBuilder &b = f.builder;
  if (isa<FloatType>(type) && asBits) {
    type = b.getIntegerType(type.getIntOrFloatBitWidth());
    value = arith::BitcastOp::create(b, f.loc, type, value);
  }
  if (isa<LLVM::LLVMPointerType>(type))
    return {LLVM::PtrToIntOp::create(b, f.loc, i64, value), 'p'};
  if (isa<FloatType>(type)) {
    Value wide =
        type.isF64() ? value : Value(arith::ExtFOp::create(b, f.loc, b.getF64Type(), value));
    return {arith::BitcastOp::create(b, f.loc, i64, wide), 'f'};
  }
  isSigned = isSigned && !type.isInteger(1);
  char kind = isSigned ? 'i' : 'u';
  if (type.isInteger(64))
    return {value, kind};
  Value wide = isSigned ? Value(arith::ExtSIOp::create(b, f.loc, i64, value))
                        : Value(arith::ExtUIOp::create(b, f.loc, i64, value));
  return {wide, kind};
}

/// Programs run on any of the processors, so that none has a number.
LogicalResult SimdFunction::lowerMachine(MachineOp op) {
  Type i64 = builder.getI64Type();
  if (op.getFact() == MachineFact::Processor) {
    scalars[op.getResult()] = constantOf(i64, 0);
    return success();
  }
  auto module = function->getParentOfType<ModuleOp>();
  auto clock = module.lookupSymbol<LLVM::LLVMFuncOp>("tw_device_clock");
  if (!clock) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    clock = LLVM::LLVMFuncOp::create(builder, loc, "tw_device_clock",
                                     LLVM::LLVMFunctionType::get(i64, ArrayRef<Type>()));
  }
  scalars[op.getResult()] = LLVM::CallOp::create(builder, loc, clock, ValueRange()).getResult();
  return success();
}

LogicalResult SimdFunction::lowerPrint(PrintOp op) {
  Type i8 = builder.getI8Type(), i32 = builder.getI32Type(), i64 = builder.getI64Type();
  if (op.getValues().empty()) {
    Value zero = constantOf(i64, 0);
    callHost("tw_device_print", {programArgument, stringAddress(op.getPrefix()), shapeAddress({}),
                                 constantOf(i8, 'n'), constantOf(i32, 0), zero, zero});
  }
  for (auto [operand, value] : llvm::enumerate(op.getValues())) {
    ArrayRef<int64_t> shape = op.printedExtents(operand);
    Value prefix = stringAddress(op.prefixOf(operand)), extents = shapeAddress(shape);
    unsigned digits = op.hexDigitsOf(operand);
    bool isSigned = op.getIsSigned()[operand];
    forEachElement(*this, shape, [&, value = value](const Coordinates &at) {
      auto [bits, kind] = encodeElement(*this, evaluate(value, at), isSigned, digits > 0);
      callHost("tw_device_print", {programArgument, prefix, extents, constantOf(i8, kind),
                                   constantOf(i32, digits), elementIndex(shape, at), bits});
    });
  }
  return success();
}
