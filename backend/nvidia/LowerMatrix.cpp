// Matrix instructions, reads of matrices from shared memory and asynchronous copies, as intrinsics.
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/math/ExpandArith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// Calls an intrinsic that gives one value or a structure of several.
static SmallVector<Value> callForMany(Lowering &lowering, const Twine &name, TypeRange results,
                                      ValueRange operands) {
  OpBuilder &b = lowering.builder;
  if (results.size() == 1)
    return {callIntrinsic(lowering, name, results.front(), operands).getResults()};
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), llvm::to_vector(results));
  Value all = callIntrinsic(lowering, name, type, operands).getResults();
  SmallVector<Value> values;
  for (int64_t index = 0; index < int64_t(results.size()); ++index)
    values.push_back(LLVM::ExtractValueOp::create(b, lowering.loc, all, index));
  return values;
}

void tw::nvidia::replaceAll(Operation *op, ArrayRef<Value> values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    result.replaceAllUsesWith(value);
}

/// One word per matrix (PTX ISA, ldmatrix).
void tw::nvidia::lowerLoadMatrix(Lowering &lowering, simt::LoadMatrixOp op) {
  std::string name = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(op->getNumResults()) +
                     (op.getTransposed() ? ".trans" : "") + ".b16";
  replaceAll(op, callForMany(lowering, name, op->getResultTypes(), op.getAddress()));
}

/// PTX ISA, stmatrix.
void tw::nvidia::lowerStoreMatrix(Lowering &lowering, simt::StoreMatrixOp op) {
  std::string name = "stmatrix.sync.aligned.m8n8.x" + std::to_string(op.getWords().size()) +
                     (op.getTransposed() ? ".trans" : "") + ".b16.p3";
  callIntrinsic(lowering, name, Type(), op->getOperands());
}

//===-- mma.sync -----------------------------------------------------------------------------===//

StringRef tw::nvidia::ptxName(Type type) {
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case<Float16Type>([](auto) { return "f16"; })
      .Case<BFloat16Type>([](auto) { return "bf16"; })
      .Case<FloatTF32Type>([](auto) { return "tf32"; })
      .Case<Float32Type>([](auto) { return "f32"; })
      .Case<Float64Type>([](auto) { return "f64"; })
      .Case<Float8E4M3FNType>([](auto) { return "e4m3"; })
      .Case<Float8E5M2Type>([](auto) { return "e5m2"; })
      .Case<IntegerType>([](IntegerType type) {
        return type.getWidth() != 8 ? "s32" : type.isUnsigned() ? "u8" : "s8";
      })
      .Default([](Type) { return StringRef(); });
}

static std::string extentsOf(tile::MmaAttr instruction) {
  return ("m" + Twine(instruction.getM()) + "n" + Twine(instruction.getN()) + "k" +
          Twine(instruction.getK()) + ".row.col")
      .str();
}

/// LLVM's name of the instruction. It names all types of f16 products, the result's and the
/// accumulator's, of others the operands' only, once where they are equal.
static std::string intrinsicOf(tile::MmaAttr instruction) {
  std::string name = "mma." + extentsOf(instruction) + ".";
  if (instruction.getA() != instruction.getB())
    name += ptxName(instruction.getA()).str() + ".";
  if (!instruction.getA().isF16())
    return name + ptxName(instruction.getB()).str();
  std::string accumulator = ptxName(instruction.getAccumulator()).str();
  return name + accumulator + "." + accumulator;
}

/// Words as the intrinsic has them: pairs of f16 as vectors, all else as they are.
static SmallVector<Value> asIntrinsicTypes(Lowering &lowering, ValueRange words, Type element) {
  SmallVector<Value> values(words);
  if (element.isF16())
    for (Value &value : values)
      value = LLVM::BitcastOp::create(lowering.builder, lowering.loc, VectorType::get(2, element),
                                      value);
  return values;
}

/// No intrinsic: the text, marked as having effects so that no thread alone runs it.
static SmallVector<Value> inlineMma(Lowering &lowering, simt::MmaFragmentOp op) {
  tile::MmaAttr instruction = op.getInstruction();
  InlinePtx code(lowering.builder, lowering.loc);
  auto list = [](ArrayRef<std::string> names) { return "{" + llvm::join(names, ", ") + "}"; };
  SmallVector<std::string> results, operands;
  for (Type type : op->getResultTypes())
    results.push_back(code.addResult(type));
  for (ValueRange words : {op.getA(), op.getB(), op.getAcc()}) {
    SmallVector<std::string> names;
    for (Value word : words)
      names.push_back(code.addOperand(word));
    operands.push_back(list(names));
  }
  StringRef accumulator = ptxName(instruction.getAccumulator());
  std::string text = ("mma.sync.aligned." + extentsOf(instruction) + "." + accumulator + "." +
                      ptxName(instruction.getA()) + "." + ptxName(instruction.getB()) + "." +
                      accumulator + " " + list(results) + ", " + llvm::join(operands, ", ") + ";")
                         .str();
  return code.emit(text, /*hasEffects=*/true);
}

void tw::nvidia::lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op) {
  tile::MmaAttr instruction = op.getInstruction();
  if (isFloat8(instruction.getA()))
    return replaceAll(op, inlineMma(lowering, op));
  Type accumulator = instruction.getAccumulator();
  SmallVector<Value> operands = asIntrinsicTypes(lowering, op.getA(), instruction.getA());
  llvm::append_range(operands, asIntrinsicTypes(lowering, op.getB(), instruction.getB()));
  if (isa<FloatTF32Type>(instruction.getA()))
    for (Value &word : operands)
      word = LLVM::BitcastOp::create(lowering.builder, lowering.loc, lowering.builder.getI32Type(),
                                     word);
  llvm::append_range(operands, asIntrinsicTypes(lowering, op.getAcc(), accumulator));
  SmallVector<Type> results(op->getResultTypes());
  if (accumulator.isF16())
    results.assign(results.size(), VectorType::get(2, accumulator));
  SmallVector<Value> values = callForMany(lowering, intrinsicOf(instruction), results, operands);
  for (auto [value, type] : llvm::zip(values, op->getResultTypes()))
    if (value.getType() != type)
      value = LLVM::BitcastOp::create(lowering.builder, lowering.loc, type, value);
  replaceAll(op, values);
}

//===-- Asynchronous copies ------------------------------------------------------------------===//

/// `cp.async`: 16 bytes go past L1 unless the user asks for it; a size of 0 writes zeros.
void tw::nvidia::lowerGlobalToShared(Lowering &lowering, simt::GlobalToSharedOp op) {
  OpBuilder &b = lowering.builder;
  bool keepsInL1 = op.getBytes() != 16 || op.getCache() == tile::CacheModifier::CA;
  std::string name = std::string("cp.async.") + (keepsInL1 ? "ca" : "cg") + ".shared.global." +
                     std::to_string(op.getBytes());
  Value mask = neededMask(op.getMask());
  SmallVector<Value> operands = {op.getShared(), op.getPtr()};
  if (mask) {
    Value all = constantI32(lowering, op.getBytes()), none = constantI32(lowering, 0);
    operands.push_back(LLVM::SelectOp::create(b, lowering.loc, mask, all, none));
    name += ".s";
  }
  callIntrinsic(lowering, name, Type(), operands);
}
