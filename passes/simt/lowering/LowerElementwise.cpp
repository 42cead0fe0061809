// Operations that act on each element alone: one copy per register.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/MaskNumbers.h"
#include "passes/math/ExpandArith.h"
#include "passes/simt/lowering/thread/ByteWords.h"
#include "passes/simt/lowering/thread/Counting.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// The type that pointer arithmetic steps by; i1 is not a pointee.
static Type stepType(Type pointee) {
  if (isa<PtrType>(pointee))
    return IntegerType::get(pointee.getContext(), 64);
  return IntegerType::get(pointee.getContext(), elementBytes(pointee) * 8);
}

/// The result of an operation of `tile` or `arith` on one element.
static Value lowerElement(SimtFunction &f, Operation *op, ArrayRef<Value> operands) {
  Type type = f.lowerType(elementTypeOf(op->getResult(0).getType()));
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddPtrOp add) -> Value {
        auto pointer = cast<PtrType>(elementTypeOf(add.getType()));
        return f.create<LLVM::GEPOp>(type, stepType(pointer.getPointee()), operands[0],
                                     ValueRange{operands[1]});
      })
      .Case<PtrCastOp, HintOp>([&](Operation *) { return operands[0]; })
      .Case([&](PtrToIntOp) -> Value { return f.create<LLVM::PtrToIntOp>(type, operands[0]); })
      .Case([&](IntToPtrOp) -> Value { return f.create<LLVM::IntToPtrOp>(type, operands[0]); })
      .Default([&](Operation *other) -> Value {
        Operation *copy = f.cloneScalar(other, operands);
        if (!isa<arith::MulFOp>(op) || !llvm::any_of(op->getOperands(), mayHoldMaskNumber))
          f.allowContraction(copy);
        return copy->getResult(0);
      });
}

/// The bits of a tile's element indices that the operation's result does not depend on: neighbours
/// that are known to be equal, such as the masks of a vector that a bound never divides.
static uint32_t irrelevantBits(SimtFunction &f, Value result) {
  const LinearLayout &layout = layoutOf(result.getType());
  const IndexFact &facts = f.facts.of(result);
  uint32_t bits = 0;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    bits |=
        (uint32_t(facts.axes[dim].constancy - 1) << layout.firstBitOf(dim)) & layout.maskOf(dim);
  return bits;
}

/// For each register the one that is computed for it: the first with the same value.
static SmallVector<uint32_t> computedRegisters(SimtFunction &f, Operation *op) {
  if (op->getNumResults() == 0 || !hasLayout(op->getResult(0).getType()))
    return {0};
  const LinearLayout &layout = layoutOf(op->getResult(0).getType());
  uint32_t repeating = 0;
  uint32_t irrelevant = op->getNumResults() == 1 ? irrelevantBits(f, op->getResult(0)) : 0;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Place::Register)))
    if ((basis & ~irrelevant) == 0)
      repeating |= 1u << bit;
  SmallVector<uint32_t> registers;
  for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg)
    registers.push_back(reg & ~repeating);
  return registers;
}

/// A constant of every element, or nothing.
static TypedAttr elementConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.getValue();
  return elements.isSplat() ? cast<TypedAttr>(elements.getSplatValue<Attribute>()) : TypedAttr();
}

static LogicalResult lowerConstant(SimtFunction &f, arith::ConstantOp op) {
  TypedAttr value = elementConstant(op);
  if (!value)
    return emitCoded(op, Code::UnsupportedOperation)
           << "a tile constant must have one value in all elements";
  Value scalar = f.create<arith::ConstantOp>(value);
  uint32_t count = hasLayout(op.getType()) ? layoutOf(op.getType()).size(Place::Register) : 1;
  f.setRegisters(op.getResult(), Registers(count, scalar));
  return success();
}

static bool isFloat8Cast(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
         (isFloat8(elementTypeOf(op->getOperand(0).getType())) ||
          isFloat8(elementTypeOf(op->getResult(0).getType())));
}

/// Bytes become f16 in words of four, by instructions on pairs of f16.
static bool isByteToHalfCast(Operation *op) {
  return isa<arith::SIToFPOp, arith::UIToFPOp>(op) &&
         elementTypeOf(op->getOperand(0).getType()).isInteger(8) &&
         elementTypeOf(op->getResult(0).getType()).isF16();
}

/// Conversions of 8-bit floats take two registers at a time, as the machines' instructions do, or
/// the four that make a word to store; those of bytes take four.
static LogicalResult lowerPackedCast(SimtFunction &f, Operation *op) {
  OpBuilder &b = f.builder;
  Type to = elementTypeOf(op->getResult(0).getType());
  Value source = op->getOperand(0);
  if (isFloat8(to))
    source = withoutFloat8Bound(source, to);
  Registers registers = f.registersOf(source);
  llvm::SetVector<Value> distinct(registers.begin(), registers.end());
  SmallVector<Value> ordered = distinct.takeVector();
  bool takesWords = isByteToHalfCast(op);
  if (takesWords)
    ordered = inWordsOfBytes(ordered);
  llvm::DenseMap<Value, Value> converted;
  for (ArrayRef<Value> rest = ordered; !rest.empty();) {
    int64_t count = takesWords || (isFloat8(to) && rest.size() >= 4) ? 4 : 2;
    SmallVector<Value> group(rest.take_front(count));
    rest = rest.drop_front(group.size());
    group.resize(count, group.front());
    Value packed =
        f.create<vector::FromElementsOp>(VectorType::get(count, group.front().getType()), group);
    OperationState state(f.loc, op->getName(), packed, VectorType::get(count, to), op->getAttrs());
    Value result = b.create(state)->getResult(0);
    for (int64_t i = count; i-- > 0;) // the first of what stands twice
      converted[group[i]] = f.create<vector::ExtractOp>(result, i);
  }
  for (Value &value : registers)
    value = converted.lookup(value);
  f.setRegisters(op->getResult(0), registers);
  return success();
}

/// Returns true if an operation acts on each element by itself, or on scalars alone.
static bool actsOnElements(Operation *op) {
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<AddPtrOp, PtrCastOp, HintOp, PtrToIntOp, IntToPtrOp, ub::PoisonOp>(op))
    return true;
  bool hasTiles = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) ||
                  llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  return !hasTiles && op->getNumRegions() == 0 && !isa<TileDialect>(op->getDialect());
}

LogicalResult SimtFunction::lowerElementwise(Operation *op) {
  if (lowerInByteWords(*this, op))
    return success();
  if (isFloat8Cast(op) || (isByteToHalfCast(op) && registersOf(op->getOperand(0)).size() > 1))
    return lowerPackedCast(*this, op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return lowerConstant(*this, constant);
  if (!actsOnElements(op))
    return emitCoded(op, Code::CompilerFault)
           << "lower-simt cannot lower '" << op->getName() << "'";

  SmallVector<Registers> sources;
  auto comparison = dyn_cast<arith::CmpIOp>(op);
  if (auto counted = comparison ? countedOperands(*this, comparison) : std::nullopt)
    sources.assign(counted->begin(), counted->end());
  else
    for (Value operand : op->getOperands())
      sources.push_back(registersOf(operand));
  SmallVector<Registers> results(op->getNumResults());
  // Registers whose operands are the same values hold the same result: it is computed once.
  std::map<std::vector<void *>, SmallVector<Value>> computed;
  for (uint32_t reg : computedRegisters(*this, op)) {
    SmallVector<Value> operands;
    std::vector<void *> key;
    for (const Registers &registers : sources) {
      operands.push_back(registers.size() == 1 ? registers.front() : registers[reg]);
      key.push_back(operands.back().getAsOpaquePointer());
    }
    SmallVector<Value> &values = computed[key];
    if (values.empty()) {
      if (op->getNumResults() == 1)
        values.push_back(lowerElement(*this, op, operands));
      else
        llvm::append_range(values, cloneScalar(op, operands)->getResults());
    }
    for (auto [result, value] : llvm::zip(results, values))
      result.push_back(value);
  }
  for (auto [result, registers] : llvm::zip(op->getResults(), results))
    setRegisters(result, registers);
  return success();
}
