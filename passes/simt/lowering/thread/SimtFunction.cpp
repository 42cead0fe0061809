// What every file of lower-simt builds on: values by register, where this thread is, small pieces
// of code.
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Address spaces of global and shared memory, as LLVM's GPU back ends number them.
static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

SimtFunction::SimtFunction(func::FuncOp source)
    : builder(source.getContext()), loc(source.getLoc()), source(source), target(targetOf(source)),
      machine(machineOf(source)), facts(source) {
  auto module = source->getParentOfType<ModuleOp>();
  if (auto warps = module->getAttrOfType<IntegerAttr>(kNumWarps))
    numWarps = warps.getInt();
}

Type SimtFunction::lowerType(Type element) const {
  if (isa<tile::PtrType>(element))
    return LLVM::LLVMPointerType::get(element.getContext(), kGlobalSpace);
  return element;
}

Type SimtFunction::memoryType(Type element) const {
  if (isa<tile::PtrType, LLVM::LLVMPointerType>(element))
    return IntegerType::get(element.getContext(), 64);
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

const Registers &SimtFunction::registersOf(Value value) {
  auto found = known.find(value);
  assert(found != known.end() && "a value is used before it is lowered");
  return found->second;
}

void SimtFunction::setRegisters(Value value, Registers registers) {
  assert((!isa<RankedTensorType>(value.getType()) ||
          registers.size() == layoutOf(value.getType()).size(Place::Register)) &&
         "a tile has one value per register of its layout");
  known[value] = std::move(registers);
}

//===-- Where this thread is ------------------------------------------------------------------===//

/// One shift of masked bits: bits b of the coordinate whose basis is the bit b + shift.
namespace {
struct ShiftedBits {
  uint32_t mask = 0; // of the coordinate
  int shift = 0;
};
} // namespace

/// Groups the bases that are single bits by their distance, and returns the others by number.
static SmallVector<ShiftedBits> groupByShift(ArrayRef<uint32_t> bases, uint32_t elementMask,
                                             SmallVectorImpl<unsigned> &others) {
  SmallVector<ShiftedBits> groups;
  for (auto [bit, whole] : llvm::enumerate(bases)) {
    uint32_t basis = whole & elementMask;
    if (basis == 0)
      continue;
    if (!llvm::isPowerOf2_32(basis)) {
      others.push_back(bit);
      continue;
    }
    int shift = int(llvm::Log2_32(basis)) - int(bit);
    auto *group = llvm::find_if(groups, [&](const ShiftedBits &g) { return g.shift == shift; });
    if (group == groups.end())
      group = &groups.emplace_back(ShiftedBits{0, shift});
    group->mask |= 1u << bit;
  }
  return groups;
}

static Value emitShift(OpBuilder &builder, Location loc, Value value, int shift) {
  if (shift == 0)
    return value;
  Value amount =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(std::abs(shift)));
  return shift > 0 ? Value(arith::ShLIOp::create(builder, loc, value, amount))
                   : Value(arith::ShRUIOp::create(builder, loc, value, amount));
}

Value SimtFunction::emitInPrologue(llvm::function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(prologueEnd);
  Value value = emit();
  prologueEnd = &*std::prev(builder.getInsertionPoint());
  return value;
}

Value SimtFunction::placeIndex(ArrayRef<uint32_t> bases, Value coordinate, uint32_t elementMask) {
  PlaceIndexKey key = {bases.vec(), coordinate.getAsOpaquePointer(), elementMask};
  auto [slot, isNew] = placeIndices.try_emplace(std::move(key));
  if (!isNew)
    return slot->second;
  slot->second = emitInPrologue([&] {
    SmallVector<unsigned> others;
    Value sum;
    auto add = [&](Value term) { sum = sum ? Value(create<arith::XOrIOp>(sum, term)) : term; };
    uint32_t coordinateMask = (1u << bases.size()) - 1;
    for (const ShiftedBits &group : groupByShift(bases, elementMask, others)) {
      Value bits = coordinate;
      if (group.mask != coordinateMask)
        bits = create<arith::AndIOp>(bits, constantI32(group.mask));
      add(emitShift(builder, loc, bits, group.shift));
    }
    for (unsigned bit : others) {
      Value one =
          create<arith::AndIOp>(emitShift(builder, loc, coordinate, -int(bit)), constantI32(1));
      add(create<arith::MulIOp>(one, constantI32(bases[bit] & elementMask)));
    }
    return sum ? sum : constantI32(0);
  });
  return slot->second;
}

/// lane or warp part + constant: `or` where they share no bits, so that LLVM sees an addition of a
/// constant; else xor.
static Value combineIndex(SimtFunction &f, Value variable, uint32_t variableMask,
                          uint32_t constant) {
  if (constant == 0)
    return variable;
  Value number = f.constantI32(constant);
  if (variableMask & constant)
    return f.create<arith::XOrIOp>(variable, number);
  if (variableMask == 0)
    return number;
  return f.create<arith::AddIOp>(
      variable, number, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
}

static uint32_t unionOf(ArrayRef<uint32_t> bases, uint32_t mask) {
  uint32_t bits = 0;
  for (uint32_t basis : bases)
    bits |= basis & mask;
  return bits;
}

/// The bits of `mask` of the element in `reg`, as a number.
static Value indexUnder(SimtFunction &f, const LinearLayout &layout, uint32_t reg, uint32_t mask) {
  ArrayRef<uint32_t> lanes = layout.bases(Place::Lane), warps = layout.bases(Place::Warp);
  uint32_t laneBits = unionOf(lanes, mask), warpBits = unionOf(warps, mask);
  Value variable;
  if (laneBits)
    variable = f.placeIndex(lanes, f.lane, mask);
  if (warpBits) {
    Value part = f.placeIndex(warps, f.warp, mask);
    if (!variable)
      variable = part;
    else if (laneBits & warpBits)
      variable = f.create<arith::XOrIOp>(variable, part);
    else
      variable = f.create<arith::AddIOp>(
          variable, part, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
  }
  uint32_t constant = layout.apply(Place::Register, reg) & mask;
  if (!variable)
    return f.constantI32(constant);
  return combineIndex(f, variable, laneBits | warpBits, constant);
}

Value SimtFunction::coordinate(const LinearLayout &layout, unsigned dim, uint32_t reg) {
  Value index = indexUnder(*this, layout, reg, layout.maskOf(dim));
  return emitShift(builder, loc, index, -int(layout.firstBitOf(dim)));
}

Value SimtFunction::elementIndex(const LinearLayout &layout, uint32_t reg) {
  return indexUnder(*this, layout, reg, layout.numElements() - 1);
}

Value SimtFunction::isOwner(const LinearLayout &layout) {
  uint32_t freeLanes = layout.freeBits(Place::Lane), freeWarps = layout.freeBits(Place::Warp);
  Value copy;
  for (auto [mask, coordinate, place] :
       {std::tuple{freeLanes, lane, Place::Lane}, std::tuple{freeWarps, warp, Place::Warp}}) {
    if (mask == 0)
      continue;
    Value bits = coordinate;
    if (mask != layout.size(place) - 1)
      bits = create<arith::AndIOp>(bits, constantI32(mask));
    copy = copy ? Value(create<arith::OrIOp>(copy, bits)) : bits;
  }
  return copy ? isZero(copy) : Value();
}

Value SimtFunction::isOwnerOf(Value value) {
  if (hasLayout(value.getType()))
    return isOwner(layoutOf(value.getType()));
  return isZero(thread);
}

Value SimtFunction::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return create<arith::AndIOp>(lhs, rhs);
}

//===-- Small pieces of code ------------------------------------------------------------------===//

Value SimtFunction::constantI32(int64_t value) { return constantOf(builder.getI32Type(), value); }

Value SimtFunction::constantOf(Type type, int64_t value) {
  TypedAttr attribute = isa<FloatType>(type)
                            ? TypedAttr(builder.getFloatAttr(type, double(value)))
                            : TypedAttr(IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(),
                                                                     uint64_t(value), true,
                                                                     /*implicitTrunc=*/true)));
  return create<arith::ConstantOp>(attribute);
}

Value SimtFunction::isZero(Value integer) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::eq, integer, constantOf(integer.getType(), 0));
}

Value SimtFunction::sharedAddress(uint64_t bytes, Value offsetBytes) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = create<SharedAddressOp>(pointer, bytes);
  if (!offsetBytes)
    return base;
  return create<LLVM::GEPOp>(pointer, builder.getI8Type(), base, ValueRange{offsetBytes});
}

Value SimtFunction::shuffle(ShuffleMode mode, Value value, Value lane) {
  return create<ShuffleOp>(value.getType(), mode, value, lane);
}

Operation *SimtFunction::cloneScalar(Operation *op, ArrayRef<Value> operands) {
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(lowerType(tile::elementTypeOf(type)));
  OperationState state(loc, op->getName(), operands, types, op->getAttrs());
  return builder.create(state);
}

void SimtFunction::allowContraction(Operation *op) const {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) ||
      hasFeature(target, tile::Feature::SeparateRounding))
    return;
  auto math = cast<arith::ArithFastMathInterface>(op);
  auto flags = math.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::contract;
  op->setAttr(math.getFastMathAttrName(), arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

Registers SimtFunction::combine(Region &region, ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                                bool mayContract) {
  Block &block = region.front();
  SmallVector<Value> arguments(lhs);
  arguments.append(rhs.begin(), rhs.end());
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  // Regions of control flow are copied as they are, so that what they use from outside is mapped.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(region, captured);
  for (Value value : captured)
    mapping.map(value, scalarOf(value));
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(mapping.contains(operand) ? mapping.lookup(operand) : scalarOf(operand));
    if (op.getNumRegions() != 0) { // control flow of scalars
      Operation *copy = builder.clone(op, mapping);
      mapping.map(op.getResults(), copy->getResults());
      continue;
    }
    Operation *copy = cloneScalar(&op, operands);
    if (mayContract)
      allowContraction(copy);
    mapping.map(op.getResults(), copy->getResults());
  }
  Registers results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.contains(value) ? mapping.lookup(value) : scalarOf(value));
  return results;
}
