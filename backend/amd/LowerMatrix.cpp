// Matrix instructions, and reads that transpose their operands, as intrinsics.
#include "backend/amd/LowerAmd.h"
#include "backend/amd/machine/AmdMatrices.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// ds_read_b64_tr_b16 and _b8 ("CDNA 4 Instruction Set Architecture", transpose loads from LDS):
/// the half n of lane l of 16 is half l % 4 of what lane 4 n + l / 4 addresses, the byte n is byte
/// l % 8 of what lane 2 n + l / 8 does. Of ds_load_tr16_b128, it is half l of what lane n
/// addresses, of 8; of ds_load_tr8_b64, byte l % 8 of what lane 8 (n / 4) + 4 (l / 8) + n % 4 does
/// (rocjitsu, ds_transpose.h; as in Triton's queryLDSTransLoadParams).
void tw::amd::lowerLoadTransposed(Lowering &lowering, simt::LoadTransposedOp op) {
  OpBuilder &b = lowering.builder;
  int64_t numWords = op.getNumResults();
  auto halves = VectorType::get({2 * numWords}, b.getI16Type()),
       words = VectorType::get({numWords}, b.getI32Type());
  Value all;
  if (op.getBits() == 8) {
    const char *name =
        op.getSplit() ? "amdgcn.ds.load.tr8.b64.v2i32" : "amdgcn.ds.read.tr8.b64.v2i32";
    all = callIntrinsic(lowering, name, words, {op.getAddress()});
  } else {
    const char *name =
        numWords == 4 ? "amdgcn.ds.load.tr16.b128.v8i16" : "amdgcn.ds.read.tr16.b64.v4i16";
    Value read = callIntrinsic(lowering, name, halves, {op.getAddress()});
    all = LLVM::BitcastOp::create(b, lowering.loc, words, read);
  }
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    result.replaceAllUsesWith(LLVM::ExtractElementOp::create(
        b, lowering.loc, all, constantI32(lowering, int64_t(index))));
}

/// An operand's registers as the intrinsic has them.
static Value operandOf(Lowering &lowering, const MatrixInstruction &row, ValueRange registers,
                       Type element) {
  OpBuilder &b = lowering.builder;
  Value all = joinRegisters(lowering.builder, lowering.loc, registers);
  unsigned bits = element.getIntOrFloatBitWidth();
  if (isa<FloatTF32Type>(element) || bits >= 32 || row.form == OperandForm::Words)
    return all;
  Type part = row.form == OperandForm::Elements ? element : Type(b.getI16Type());
  Type type = row.form == OperandForm::Long ? Type(b.getI64Type())
                                            : VectorType::get(int64_t(registers.size()) * 2, part);
  return LLVM::BitcastOp::create(b, lowering.loc, type, all);
}

/// The types that the name of an overloaded intrinsic ends with: ".v8f32.v16f16".
static std::string vectorSuffix(Type type) {
  auto vector = cast<VectorType>(type);
  Type element = vector.getElementType();
  std::string kind = isa<IntegerType>(element) ? "i" : element.isBF16() ? "bf" : "f";
  return ".v" + std::to_string(vector.getNumElements()) + kind +
         std::to_string(element.getIntOrFloatBitWidth());
}

static Value callMfma(Lowering &lowering, const MatrixInstruction &row, Value first, Value second,
                      Value sums) {
  Value none = constantI32(lowering, 0); // no broadcast, no permutation
  return callIntrinsic(lowering, Twine("amdgcn.") + row.intrinsic, sums.getType(),
                       {first, second, sums, none, none, none});
}

/// The number by which the instructions with scales know a format ("CDNA 4 Instruction Set
/// Architecture", "MFMA instructions with f8, f6 and f4": 2 and 3 are formats of 6 bits).
static int64_t formatOf(MatrixType type) {
  return type == MatrixType::E4M3 ? 0 : type == MatrixType::E5M2 ? 1 : 4;
}

/// With 0 for both scales, LLVM takes the instruction that has none.
static Value callScaledMfma(Lowering &lowering, const MatrixInstruction &row, Value first,
                            Value second, Value sums, simt::MmaFragmentOp op) {
  Value none = constantI32(lowering, 0);
  SmallVector<Value> arguments = {first, second, sums, constantI32(lowering, formatOf(row.b)),
                                  constantI32(lowering, formatOf(row.a))};
  for (unsigned operand : {1u, 0u}) { // B comes first
    bool isScaled = !op.getScales().empty();
    int64_t byte = isScaled ? op.getScaleBytes()[operand] : 0;
    arguments.append({constantI32(lowering, byte), isScaled ? op.getScales()[operand] : none});
  }
  return callIntrinsic(lowering,
                       "amdgcn." + row.intrinsic + vectorSuffix(first.getType()) +
                           vectorSuffix(second.getType()),
                       sums.getType(), arguments);
}

static Value callWmma(Lowering &lowering, const MatrixInstruction &row, Value first, Value second,
                      Value sums) {
  Type i1 = lowering.builder.getI1Type();
  std::string name = ("amdgcn." + row.intrinsic).str() + vectorSuffix(sums.getType()) +
                     vectorSuffix(first.getType());
  if (row.sum != MatrixType::I32)
    return callIntrinsic(lowering, name, sums.getType(), {first, second, sums});
  Value yes = constantOf(lowering, i1, 1), no = constantOf(lowering, i1, 0);
  return callIntrinsic(lowering, name, sums.getType(), {yes, first, yes, second, sums, no});
}

/// Calls the instruction of gfx1250: factors with signs or negations before each, of bytes of
/// floats without; no hints that operands are used again, nothing saturates.
static Value callWmmaOfCdna5(Lowering &lowering, const MatrixInstruction &row, Value first,
                             Value second, Value sums) {
  OpBuilder &b = lowering.builder;
  std::string name = ("amdgcn." + row.intrinsic).str() + vectorSuffix(sums.getType()) +
                     vectorSuffix(first.getType());
  Value no = constantOf(lowering, b.getI1Type(), 0), yes = constantOf(lowering, b.getI1Type(), 1);
  Value plain = constantOf(lowering, b.getI16Type(), 0); // the sums as they are
  SmallVector<Value> operands;
  if (row.sum == MatrixType::I32)
    operands = {yes, first, yes, second, sums, no, no, no};
  else if (row.form == OperandForm::Words)
    operands = {first, second, plain, sums, no, no};
  else
    operands = {no, first, no, second, plain, sums, no, no};
  return callIntrinsic(lowering, name, sums.getType(), operands);
}

/// Calls the instruction of gfx1250 with scales, of which each lane has all of its row in a word.
static Value callScaledWmma(Lowering &lowering, const MatrixInstruction &row, Value first,
                            Value second, Value sums, simt::MmaFragmentOp op) {
  OpBuilder &b = lowering.builder;
  Value no = constantOf(lowering, b.getI1Type(), 0),
        plain = constantOf(lowering, b.getI16Type(), 0);
  SmallVector<Value> arguments = {constantI32(lowering, formatOf(row.b)),
                                  first,
                                  constantI32(lowering, formatOf(row.a)),
                                  second,
                                  plain,
                                  sums};
  Value lowerHalf = constantI32(lowering, 0), powersOfTwo = constantI32(lowering, 0);
  for (Value scales : llvm::reverse(op.getScales())) // B comes first
    arguments.append({lowerHalf, powersOfTwo, scales});
  arguments.append({no, no});
  std::string suffix =
      vectorSuffix(sums.getType()) + vectorSuffix(first.getType()) + vectorSuffix(second.getType());
  return callIntrinsic(lowering, "amdgcn." + row.intrinsic + suffix, sums.getType(), arguments);
}

LogicalResult tw::amd::lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op) {
  tile::MmaAttr instruction = op.getInstruction();
  const MatrixInstruction *row = findMatrix(lowering.arch, instruction);
  if (!row)
    return op.emitOpError("names a matrix instruction that the machine does not have");
  OpBuilder &b = lowering.builder;
  // The sums are those of the transposed product, so that lanes hold neighbours along the columns.
  Value first = operandOf(lowering, *row, op.getB(), instruction.getB());
  Value second = operandOf(lowering, *row, op.getA(), instruction.getA());
  Value sums = joinRegisters(lowering.builder, lowering.loc, op.getAcc());
  bool isMfma = row->intrinsic.starts_with("mfma");
  if (!isMfma && row->scales.empty() != op.getScales().empty())
    return op.emitOpError("has scales exactly where the instruction has them");
  auto call = isMfma                                     ? callMfma
              : lowering.arch.matrix == AmdMatrix::Wmma5 ? callWmmaOfCdna5
                                                         : callWmma;
  auto callScaled = isMfma ? callScaledMfma : callScaledWmma;
  Value result = row->scales.empty() ? call(lowering, *row, first, second, sums)
                                     : callScaled(lowering, *row, first, second, sums, op);
  replaceByJoined(b, lowering.loc, op.getResults(), result);
  return success();
}
