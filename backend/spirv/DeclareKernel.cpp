// The kernel's function as OpenCL wants it.
#include "backend/spirv/LowerSpirv.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::spirv;

static LLVM::LLVMFuncOp kernelOf(Lowering &lowering) {
  return cast<LLVM::LLVMFuncOp>(lowering.kernel);
}

void tw::spirv::addFailureWord(Lowering &lowering) {
  bool hasAssert = lowering.kernel->walk([](simt::AssertOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
  if (!hasAssert || lowering.runner != SpirvRunner::Driver)
    return;
  LLVM::LLVMFuncOp kernel = kernelOf(lowering);
  OpBuilder &b = lowering.builder;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.push_back(pointer);
  kernel.setFunctionType(
      LLVM::LLVMFunctionType::get(kernel.getFunctionType().getReturnType(), types));
  if (ArrayAttr attributes = kernel.getArgAttrsAttr()) {
    SmallVector<Attribute> extended(attributes.begin(), attributes.end());
    extended.push_back(b.getDictionaryAttr({}));
    kernel.setArgAttrsAttr(b.getArrayAttr(extended));
  }
  lowering.failureWord = kernel.getBody().front().addArgument(pointer, kernel.getLoc());
  lowering.module->setAttr(kFailureWord, b.getUnitAttr());
}

/// Kernels have no parameters of one bit, nor of bf16 (OpenCL SPIR-V environment, "Kernels").
static Type typeOfParameter(Builder &b, Type type) {
  if (type.isInteger(1))
    return b.getI8Type();
  return type.isBF16() ? Type(b.getI16Type()) : type;
}

static void retypeParameters(LLVM::LLVMFuncOp kernel) {
  OpBuilder b(kernel.getContext());
  b.setInsertionPointToStart(&kernel.getBody().front());
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getArguments()) {
    Type type = argument.getType(), passed = typeOfParameter(b, type);
    types.push_back(passed);
    if (passed == type)
      continue;
    argument.setType(passed);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    Value value = type.isInteger(1)
                      ? Value(LLVM::TruncOp::create(b, kernel.getLoc(), type, argument))
                      : Value(LLVM::BitcastOp::create(b, kernel.getLoc(), type, argument));
    for (OpOperand *use : uses)
      use->set(value);
  }
  kernel.setFunctionType(
      LLVM::LLVMFunctionType::get(kernel.getFunctionType().getReturnType(), types));
}

/// Makes the function a kernel of so many subgroups.
void tw::spirv::declareKernel(Lowering &lowering) {
  LLVM::LLVMFuncOp kernel = kernelOf(lowering);
  Builder b(kernel.getContext());
  kernel.setCConv(LLVM::cconv::CConv::SPIR_KERNEL);
  kernel.setReqdWorkGroupSize(
      ArrayRef<int32_t>{int32_t(lowering.numWarps * lowering.arch.warpSize), 1, 1});
  kernel.setIntelReqdSubGroupSize(int32_t(lowering.arch.warpSize));
  retypeParameters(kernel);
  gpu::dropArgumentFacts(kernel);
}
