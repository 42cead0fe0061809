// Operations that act on each element alone: one copy per register.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simt/lowering/SimtFunction.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// The type that pointer arithmetic steps by; i1 is no pointee.
static Type stepType(Type pointee) {
  if (isa<PtrType>(pointee))
    return IntegerType::get(pointee.getContext(), 64);
  return IntegerType::get(pointee.getContext(), elementBytes(pointee) * 8);
}

/// The result of an operation of `tile` or `arith` on one element.
static Value lowerElement(SimtFunction &f, Operation *op, ArrayRef<Value> operands) {
  OpBuilder &b = f.builder;
  Type type = f.lowerType(elementTypeOf(op->getResult(0).getType()));
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddPtrOp add) -> Value {
        auto pointer = cast<PtrType>(elementTypeOf(add.getType()));
        return LLVM::GEPOp::create(b, f.loc, type, stepType(pointer.getPointee()), operands[0],
                                   ValueRange{operands[1]});
      })
      .Case<PtrCastOp, HintOp>([&](Operation *) { return operands[0]; })
      .Case([&](PtrToIntOp) -> Value {
        return LLVM::PtrToIntOp::create(b, f.loc, type, operands[0]);
      })
      .Case([&](IntToPtrOp) -> Value {
        return LLVM::IntToPtrOp::create(b, f.loc, type, operands[0]);
      })
      .Default(
          [&](Operation *other) -> Value { return f.cloneScalar(other, operands)->getResult(0); });
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
    return op.emitError("[TW0301] a tile constant must have one value in all elements");
  Value scalar = arith::ConstantOp::create(f.builder, f.loc, value);
  uint32_t count = hasLayout(op.getType()) ? layoutOf(op.getType()).size(Place::Register) : 1;
  f.setRegisters(op.getResult(), Registers(count, scalar));
  return success();
}

LogicalResult SimtFunction::lowerElementwise(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return lowerConstant(*this, constant);
  bool isKnown = isa<AddPtrOp, PtrCastOp, HintOp, PtrToIntOp, IntToPtrOp, ub::PoisonOp>(op) ||
                 op->hasTrait<OpTrait::Elementwise>();
  if (op->getNumResults() != 1 && !op->hasTrait<OpTrait::Elementwise>())
    isKnown = false;
  bool isScalar = llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
                  llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  if (!isKnown && !(isScalar && op->getNumRegions() == 0 && !isa<TileDialect>(op->getDialect())))
    return op->emitError("[TW0901] lower-simt cannot lower '") << op->getName() << "'";

  uint32_t count = 1;
  for (Type type : op->getResultTypes())
    if (hasLayout(type))
      count = layoutOf(type).size(Place::Register);
  SmallVector<Registers> results(op->getNumResults());
  // Registers whose operands are the same values hold the same result: it is computed once.
  std::map<std::vector<void *>, SmallVector<Value>> computed;
  for (uint32_t reg = 0; reg < count; ++reg) {
    SmallVector<Value> operands;
    std::vector<void *> key;
    for (Value operand : op->getOperands()) {
      const Registers &registers = registersOf(operand);
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
