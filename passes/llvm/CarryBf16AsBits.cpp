// The pass `carry-bf16-as-bits`: bf16 are held, moved and chosen as i16. LLVM 22 carries a single
// bf16 through loops and selects of x86 as an f32, and narrows it with `vcvtneps2bf16`, which
// flushes subnormals; shuffles of some bf16 vectors it cannot select at all.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_CARRYBF16ASBITS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;

static bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// The type of the bits, as one integer for each bf16.
static Type bitsOf(Type type) {
  Type bits = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(bits)) : bits;
}

static bool hasBf16(Operation &op) {
  return llvm::any_of(op.getOperandTypes(), isBf16) || llvm::any_of(op.getResultTypes(), isBf16);
}

/// Returns true if an operation moves its operands, chooses one, or flips its sign, as integers do.
static bool movesBits(Operation &op) {
  if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
    return isa<FloatAttr, DenseElementsAttr>(constant.getValue());
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::SelectOp, LLVM::FreezeOp, LLVM::BitcastOp,
             LLVM::FNegOp, LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp, LLVM::ConstantOp,
             LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp, LLVM::ExtractElementOp,
             LLVM::InsertElementOp, LLVM::ShuffleVectorOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp,
             LLVM::masked_gather, LLVM::masked_scatter, LLVM::masked_expandload,
             LLVM::masked_compressstore>(op);
}

static Attribute bitsOf(Attribute value) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    return elements.bitcast(IntegerType::get(value.getContext(), 16));
  auto number = cast<FloatAttr>(value);
  return IntegerAttr::get(bitsOf(number.getType()), number.getValue().bitcastToAPInt());
}

namespace {
/// The conversion of one function. Types differ between an operation and its operands while it
/// runs.
class Conversion {
public:
  explicit Conversion(LLVM::LLVMFuncOp function) {
    SmallVector<Operation *> onNumbers;
    function.walk([&](Operation *op) {
      if (hasBf16(*op))
        (movesBits(*op) ? movers : onNumbers).push_back(op);
    });
    for (BlockArgument argument : function.getArguments())
      if (isBf16(argument.getType()))
        copy(argument, OpBuilder::atBlockBegin(argument.getOwner()));
    for (Operation *op : onNumbers)
      surround(*op);
    for (Block &block : llvm::drop_begin(function.getBlocks()))
      for (BlockArgument argument : block.getArguments())
        if (isBf16(argument.getType()))
          argument.setType(bitsOf(argument.getType()));
    for (Operation *op : movers)
      retype(*op);
  }

private:
  /// Has all users of a bf16 take a copy, which becomes the conversion to bits.
  void copy(Value value, OpBuilder builder) {
    auto copy = LLVM::BitcastOp::create(builder, value.getLoc(), value.getType(), value);
    value.replaceAllUsesExcept(copy, copy);
    movers.push_back(copy);
  }

  /// Surrounds an operation on numbers with conversions from bits, and to them.
  void surround(Operation &op) {
    OpBuilder builder(&op);
    for (OpOperand &operand : op.getOpOperands())
      if (Type type = operand.get().getType(); isBf16(type))
        operand.set(LLVM::BitcastOp::create(builder, op.getLoc(), type, operand.get()));
    builder.setInsertionPointAfter(&op);
    for (Value result : op.getResults())
      if (isBf16(result.getType()))
        copy(result, builder);
  }

  /// Gives an operation that moves bits their type.
  static void retype(Operation &op) {
    if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
      constant.setValueAttr(bitsOf(constant.getValue()));
    for (Value result : op.getResults())
      if (isBf16(result.getType()))
        result.setType(bitsOf(result.getType()));
    if (auto negation = dyn_cast<LLVM::FNegOp>(op)) {
      flipSign(negation);
    } else if (isa<LLVM::BitcastOp>(op) &&
               op.getOperand(0).getType() == op.getResult(0).getType()) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
  }

  static void flipSign(LLVM::FNegOp negation) {
    OpBuilder builder(negation);
    Type type = negation.getType();
    auto sign = builder.getI16IntegerAttr(int16_t(0x8000));
    Attribute signs = sign;
    if (auto vector = dyn_cast<VectorType>(type))
      signs = DenseElementsAttr::get(vector, sign.getValue());
    Value mask = LLVM::ConstantOp::create(builder, negation.getLoc(), type, cast<TypedAttr>(signs));
    Value flipped =
        LLVM::XOrOp::create(builder, negation.getLoc(), type, negation.getOperand(), mask);
    negation.replaceAllUsesWith(flipped);
    negation.erase();
  }

  SmallVector<Operation *> movers;
};

struct CarryBf16AsBits : tw::impl::CarryBf16AsBitsBase<CarryBf16AsBits> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        Conversion{function};
  }
};
} // namespace
