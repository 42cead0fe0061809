// Matrix instructions of warpgroups, which read shared memory by descriptors: wgmma.
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

namespace {
/// An operand of wgmma: registers of each block and step, or a descriptor for each.
struct GroupOperand {
  SmallVector<std::string> names;
  std::string preparation; // the text that computes descriptors, by names of its own
  bool isAcross = false;
};
} // namespace

/// The fields of a matrix descriptor but its address (PTX ISA, "Matrix Descriptor Format"). The
/// strides are in units of 16 bytes; without a swizzle they change places along m and n.
static uint64_t descriptorFields(simt::SlabsAttr slabs) {
  uint64_t swizzle = slabs.getSpanBytes() == 128  ? 1
                     : slabs.getSpanBytes() == 64 ? 2
                     : slabs.getSpanBytes() == 32 ? 3
                                                  : 0;
  uint64_t leading = slabs.getSlabBytes() / 16, stride = slabs.getGroupBytes() / 16;
  if (swizzle == 0 && slabs.getAcross())
    std::swap(leading, stride);
  return (leading & 0x3fff) << 16 | (stride & 0x3fff) << 32 | swizzle << 62;
}

/// Returns true if a value is computed of nothing that loops carry, as places in rings are.
static bool isFixed(Value value) {
  llvm::SetVector<Value> reached; // each once: values are used more than once
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(reached[i])) {
      Block *block = argument.getOwner();
      if (!block->isEntryBlock() || !isa<LLVM::LLVMFuncOp>(block->getParentOp()))
        return false;
    } else {
      reached.insert_range(reached[i].getDefiningOp()->getOperands());
    }
  }
  return true;
}

/// Returns the text that adds to the address of a descriptor: to the descriptor, or to its lower
/// word alone. None has a carry.
static std::string sumOf(StringRef name, StringRef first, int64_t offset, bool isOfWords) {
  std::string declared = (".reg .b64 " + name + ";\n\t").str(), number = std::to_string(offset);
  if (!isOfWords)
    return (declared + "add.s64 " + name + ", " + first + ", " + number + ";\n\t").str();
  return (declared + "{\n\t.reg .b32 low, high;\n\tmov.b64 {low, high}, " + first +
          ";\n\tadd.u32 low, low, " + number + ";\n\tmov.b64 " + name + ", {low, high};\n\t}\n\t")
      .str();
}

/// Returns what a product is a multiple of 16 by; none where it is not known to be one.
static std::optional<int64_t> sixteenthsOf(Value bytes) {
  auto product = bytes.getDefiningOp<arith::MulIOp>();
  std::optional<int64_t> factor = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  return factor && *factor % 16 == 0 ? std::optional(*factor / 16) : std::nullopt;
}

/// Adds an offset in bytes to an address in groups of 16, which both are multiples of (lower-simt
/// checks it): a slot's or a row's number is multiplied by as many groups, and nothing is divided.
/// Where no addend of a sum is known to be such a multiple, only their sum is divided.
static Value addSixteenths(Lowering &lowering, Value address, Value bytes) {
  OpBuilder &b = lowering.builder;
  auto sum = bytes.getDefiningOp<arith::AddIOp>();
  if (sum && (sixteenthsOf(sum.getLhs()) || sixteenthsOf(sum.getRhs())))
    return addSixteenths(lowering, addSixteenths(lowering, address, sum.getLhs()), sum.getRhs());
  Value groups;
  if (std::optional<int64_t> factor = sixteenthsOf(bytes))
    groups = LLVM::MulOp::create(b, lowering.loc, bytes.getDefiningOp<arith::MulIOp>().getLhs(),
                                 constantI32(lowering, int32_t(*factor)));
  else
    groups = LLVM::LShrOp::create(b, lowering.loc, bytes, constantI32(lowering, 4));
  return LLVM::AddOp::create(b, lowering.loc, address, groups);
}

/// Returns the descriptor of an address: what loops do not change of its lower word comes first.
static Value descriptorOf(Lowering &lowering, Value address, simt::SlabsAttr slabs) {
  OpBuilder &b = lowering.builder;
  uint64_t fields = descriptorFields(slabs);
  Value offset;
  if (auto gep = address.getDefiningOp<LLVM::GEPOp>();
      gep && gep.getElemType().isInteger(8) && gep.getDynamicIndices().size() == 1) {
    address = gep.getBase();
    offset = gep.getDynamicIndices().front();
  }
  Value low = LLVM::PtrToIntOp::create(b, lowering.loc, b.getI32Type(), address);
  low = LLVM::LShrOp::create(b, lowering.loc, low, constantI32(lowering, 4));
  low = LLVM::OrOp::create(b, lowering.loc, low, constantI32(lowering, int32_t(uint32_t(fields))));
  if (offset)
    low = addSixteenths(lowering, low, offset);
  Value high = constantOf(lowering, b.getI64Type(), fields & ~uint64_t(UINT32_MAX));
  return LLVM::OrOp::create(b, lowering.loc,
                            LLVM::ZExtOp::create(b, lowering.loc, b.getI64Type(), low), high);
}

/// Adds the descriptors of an operand to the code, as sums that begin there: LLVM would compute
/// those of all steps ahead of loops and keep them in registers. At a fixed
/// place the assembler would divide the sums into words with a carry, two instructions more each.
static GroupOperand addDescriptors(Lowering &lowering, InlinePtx &code, StringRef name,
                                   Value address, simt::SlabsAttr slabs,
                                   ArrayRef<int64_t> offsets) {
  GroupOperand operand;
  operand.isAcross = slabs.getAcross();
  std::string first = code.addOperand(descriptorOf(lowering, address, slabs));
  const bool isOfWords = isFixed(address);
  for (auto [number, offset] : llvm::enumerate(offsets)) {
    operand.names.push_back(offset == 0 ? first : (name + Twine(number)).str());
    if (offset != 0)
      operand.preparation += sumOf(operand.names.back(), first, offset / 16, isOfWords);
  }
  return operand;
}

static std::string listOf(ArrayRef<std::string> names) {
  return "{" + llvm::join(names, ", ") + "}";
}

/// Adds a left operand in registers to the code: words are of 32 bits, whatever they hold.
static GroupOperand addWords(Lowering &lowering, InlinePtx &code, simt::GroupMmaOp op) {
  OpBuilder &b = lowering.builder;
  constexpr size_t wordsOfFragment = 4; // 16 rows of 32 bytes over 32 lanes
  GroupOperand operand;
  for (ValueRange words = op.getA(); !words.empty(); words = words.drop_front(wordsOfFragment)) {
    SmallVector<std::string> names;
    for (Value word : words.take_front(wordsOfFragment)) {
      if (!word.getType().isInteger(32))
        word = LLVM::BitcastOp::create(b, lowering.loc, b.getI32Type(), word);
      names.push_back(code.addOperand(word));
    }
    operand.names.push_back(listOf(names));
  }
  return operand;
}

/// The operands that follow the descriptors: the sign of each factor, and which way it lies.
static std::string immediatesOf(tile::MmaAttr mma, const GroupOperand &a, const GroupOperand &b,
                                bool isAInRegisters) {
  Type element = mma.getA();
  if (isa<IntegerType>(element))
    return "";
  std::string text = ", 1, 1";
  if (!element.isF16() && !element.isBF16())
    return text;
  if (!isAInRegisters)
    text += a.isAcross ? ", 1" : ", 0";
  return text + (b.isAcross ? ", 1" : ", 0");
}

/// One asynchronous group. Its text is one piece, so that nothing comes between the fence, which
/// orders what threads did to the registers, and the instructions.
void tw::nvidia::lowerGroupMma(Lowering &lowering, simt::GroupMmaOp op) {
  tile::MmaAttr mma = op.getInstruction().getMma();
  InlinePtx code(lowering.builder, lowering.loc);
  SmallVector<std::string> registers;
  bool isZero = op.getAcc().empty() || op.getZeroed();
  for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
    registers.push_back(
        code.addEarlyResult(type, op.getAcc().empty() ? Value() : op.getAcc()[index]));
  simt::SlabsAttr slabsOfA = op.getASlabs().value_or(nullptr);
  GroupOperand a =
      slabsOfA ? addDescriptors(lowering, code, "a", op.getA().front(), slabsOfA, op.getAOffsets())
               : addWords(lowering, code, op);
  GroupOperand b = addDescriptors(lowering, code, "b", op.getB(), op.getBSlabs(), op.getBOffsets());
  size_t steps = op.getSteps(), numColumnBlocks = b.names.size() / steps;
  size_t numBlocks = a.names.size() / steps * numColumnBlocks, words = registers.size() / numBlocks;
  std::string name = ("wgmma.mma_async.sync.aligned.m64n" + Twine(op.getColumns()) + "k" +
                      Twine(mma.getK()) + "." + ptxName(mma.getAccumulator()) + "." +
                      ptxName(mma.getA()) + "." + ptxName(mma.getB()) + " ")
                         .str();
  std::string signs = immediatesOf(mma, a, b, !slabsOfA);
  std::string text = "{\n\t.reg .pred yes, no;\n\tsetp.eq.b32 yes, 0, 0;\n\t"
                     "setp.ne.b32 no, 0, 0;\n\t" +
                     a.preparation + b.preparation + "wgmma.fence.sync.aligned;\n\t";
  for (size_t step = 0; step < steps; ++step)
    for (size_t block = 0; block < numBlocks; ++block) {
      const std::string &left = a.names[block / numColumnBlocks * steps + step],
                        &right = b.names[block % numColumnBlocks * steps + step];
      text += name + listOf(ArrayRef(registers).slice(block * words, words)) + ", " + left + ", " +
              right + (isZero && step == 0 ? ", no" : ", yes") + signs + ";\n\t";
    }
  text += "wgmma.commit_group.sync.aligned;\n\t}";
  replaceAll(op, code.emit(text, /*hasEffects=*/true));
}

/// The accumulators go through the text, so that nothing that needs them comes before it.
void tw::nvidia::lowerGroupWait(Lowering &lowering, simt::GroupWaitOp op) {
  InlinePtx code(lowering.builder, lowering.loc);
  for (Value acc : op.getAccs())
    code.addResult(acc.getType(), acc);
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";";
  SmallVector<Value> done = code.emit(text, /*hasEffects=*/true);
  if (!op.getAccs().empty())
    replaceAll(op, done);
}

/// Each group has a named barrier, which it awaits and at which the group before it arrives.
void tw::nvidia::lowerTurn(Lowering &lowering, simt::TurnOp op) {
  OpBuilder &b = lowering.builder;
  constexpr unsigned first = 2; // behind those of all warps
  unsigned last = lowering.numWarps / op.getWarps() - 1;
  bool takes = op.getStep() == simt::TurnStep::Take || op.getStep() == simt::TurnStep::End;
  auto isGroup = [&](unsigned number) -> Value {
    return LLVM::ICmpOp::create(b, lowering.loc, LLVM::ICmpPredicate::eq, op.getGroup(),
                                constantI32(lowering, number));
  };
  auto behindFirst = [&](unsigned count) -> Value {
    return LLVM::AddOp::create(b, lowering.loc, op.getGroup(),
                               constantI32(lowering, first + count));
  };
  InlinePtx code(b, lowering.loc);
  std::string text, barrier = std::to_string(first);
  if (op.getStep() == simt::TurnStep::Take)
    barrier = code.addOperand(behindFirst(0));
  else if (op.getStep() == simt::TurnStep::Pass)
    barrier = code.addOperand(LLVM::SelectOp::create(b, lowering.loc, isGroup(last),
                                                     constantI32(lowering, first), behindFirst(1)));
  else
    text = "@" + code.addOperand(isGroup(takes ? 0 : last)) + " ";
  text += (takes ? "bar.sync " : "bar.arrive ") + barrier + ", " +
          std::to_string(2 * 32 * op.getWarps()) + ";";
  code.emit(text, /*hasEffects=*/true);
}
