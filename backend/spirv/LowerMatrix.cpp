// Matrix instructions as OpSubgroupMatrixMultiplyAccumulateINTEL, by its function's name.
#include "backend/gpu/RegisterWords.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/machine/SpirvMatrices.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

/// The registers of A as a lane's rows, or one where there is one: 16 or 32 bits of each row.
static Value rowsOf(Lowering &lowering, const MatrixInstruction &row, ValueRange registers) {
  OpBuilder &b = lowering.builder;
  Value all = joinRegisters(b, lowering.loc, registers);
  if (row.componentBits == 32)
    return all;
  Type half = b.getI16Type();
  if (row.attribute.getM() == 1) // the upper half of the word is a copy
    return LLVM::TruncOp::create(b, lowering.loc, half, all);
  auto type = VectorType::get({int64_t(row.attribute.getM())}, half);
  return LLVM::BitcastOp::create(b, lowering.loc, type, all);
}

/// The name of a type in a mangled name: "Dv8_s", or that of an earlier one (Itanium C++ ABI,
/// "Compression").
static std::string mangled(Type type, SmallVectorImpl<Type> &seen) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = vector ? vector.getElementType() : type;
  std::string letter = isa<FloatType>(element) ? "f" : element.isInteger(16) ? "s" : "i";
  if (!vector)
    return letter;
  if (auto *known = llvm::find(seen, type); known != seen.end())
    return known == seen.begin() ? "S_" : "S" + std::to_string(known - seen.begin() - 1) + "_";
  seen.push_back(type);
  return "Dv" + std::to_string(vector.getNumElements()) + "_" + letter;
}

LogicalResult tw::spirv::lowerMmaFragment(Lowering &lowering, simt::MmaFragmentOp op) {
  std::optional<MatrixInstruction> row = findMatrix(lowering.arch, op.getInstruction());
  if (!row)
    return op.emitOpError("names a matrix instruction that the machine does not have");
  OpBuilder &b = lowering.builder;
  Value left = rowsOf(lowering, *row, op.getA()), right = joinRegisters(b, lowering.loc, op.getB()),
        sums = joinRegisters(b, lowering.loc, op.getAcc());
  SmallVector<Type> seen;
  std::string name = "_Z45__spirv_SubgroupMatrixMultiplyAccumulateINTELi";
  for (Value operand : {left, right, sums})
    name += mangled(operand.getType(), seen);
  name += "i";
  Value result = callBuiltin(
      lowering, {name, /*isConvergent=*/true}, sums.getType(),
      {constantI32(lowering, row->k), left, right, sums, constantI32(lowering, row->operands)});
  replaceByJoined(b, lowering.loc, op.getResults(), result);
  return success();
}
