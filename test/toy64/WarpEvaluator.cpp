// Evaluates the operations that lower-simt makes of tiles: integers and floats in registers,
// shuffles, shared memory, loops and branches.
#include "test/toy64/WarpEvaluator.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cstring>

using namespace mlir;
using namespace tw;

static Type elementOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

static unsigned bitsOf(Type type) {
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

static uint64_t truncated(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

static llvm::APFloat floatOf(Type type, uint64_t bits) {
  auto format = cast<FloatType>(type);
  return llvm::APFloat(format.getFloatSemantics(), llvm::APInt(format.getWidth(), bits));
}

static uint64_t bitsOfFloat(const llvm::APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

static uint64_t converted(Type from, Type to, uint64_t bits) {
  bool losesInfo = false;
  llvm::APFloat value = floatOf(from, bits);
  value.convert(cast<FloatType>(to).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return bitsOfFloat(value);
}

static uint64_t arithmetic(Operation *op, Type type, ArrayRef<uint64_t> in) {
  llvm::APFloat left = floatOf(type, in[0]), right = floatOf(type, in[1]);
  auto nearest = llvm::APFloat::rmNearestTiesToEven;
  if (isa<arith::AddFOp>(op))
    left.add(right, nearest);
  else if (isa<arith::SubFOp>(op))
    left.subtract(right, nearest);
  else if (isa<arith::MulFOp>(op))
    left.multiply(right, nearest);
  else
    left = isa<arith::MaxNumFOp>(op) ? llvm::maxnum(left, right) : llvm::minnum(left, right);
  return bitsOfFloat(left);
}

static bool compare(arith::CmpIPredicate predicate, unsigned bits, uint64_t a, uint64_t b) {
  return arith::applyCmpPredicate(predicate, llvm::APInt(bits, a), llvm::APInt(bits, b));
}

/// One element of an operation that acts on each alone, or nothing.
static std::optional<uint64_t> evaluateElement(Operation &op, ArrayRef<uint64_t> in) {
  Type type = elementOf(op.getResult(0).getType());
  unsigned bits = bitsOf(type),
           fromBits = op.getNumOperands() ? bitsOf(elementOf(op.getOperand(0).getType())) : 0;
  using Result = std::optional<uint64_t>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](arith::AndIOp) { return in[0] & in[1]; })
      .Case([&](arith::OrIOp) { return in[0] | in[1]; })
      .Case([&](arith::XOrIOp) { return in[0] ^ in[1]; })
      .Case([&](arith::AddIOp) { return truncated(in[0] + in[1], bits); })
      .Case([&](arith::SubIOp) { return truncated(in[0] - in[1], bits); })
      .Case([&](arith::MulIOp) { return truncated(in[0] * in[1], bits); })
      .Case([&](arith::ShLIOp) { return truncated(in[0] << in[1], bits); })
      .Case([&](arith::ShRUIOp) { return in[0] >> in[1]; })
      .Case([&](arith::SelectOp) { return in[0] ? in[1] : in[2]; })
      .Case<arith::ExtUIOp, arith::BitcastOp>([&](Operation *) { return in[0]; })
      .Case([&](arith::TruncIOp) { return truncated(in[0], bits); })
      .Case([&](arith::ExtSIOp) {
        return truncated(uint64_t(llvm::SignExtend64(in[0], fromBits)), bits);
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *cast) {
        return converted(elementOf(cast->getOperand(0).getType()), type, in[0]);
      })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::MaxNumFOp, arith::MinNumFOp>(
          [&](Operation *op) { return arithmetic(op, type, in); })
      .Case([&](math::FmaOp) {
        llvm::APFloat value = floatOf(type, in[0]);
        value.fusedMultiplyAdd(floatOf(type, in[1]), floatOf(type, in[2]),
                               llvm::APFloat::rmNearestTiesToEven);
        return bitsOfFloat(value);
      })
      .Case([&](arith::CmpIOp compare) -> Result {
        return ::compare(compare.getPredicate(), fromBits, in[0], in[1]);
      })
      .Case([&](LLVM::GEPOp address) -> Result {
        int64_t offset = address.getRawConstantIndices().front();
        if (!address.getDynamicIndices().empty())
          offset = llvm::SignExtend64(in[1], bitsOf(address.getDynamicIndices().front().getType()));
        return in[0] + offset * (bitsOf(address.getElemType()) / 8);
      })
      .Default([](Operation *) { return Result(); });
}

void WarpEvaluator::run(Block &block) {
  for (Operation &op : block.getOperations())
    if (error.empty())
      runOperation(op);
}

/// Writes to shared memory, zeros where `from` is null.
void WarpEvaluator::write(size_t thread, uint64_t address, const uint8_t *from, unsigned bytes) {
  for (unsigned byte = 0; byte < bytes; ++byte) {
    shared[address + byte] = from ? from[byte] : 0;
    if (writers[address + byte] != -1)
      return fail("two writes to one element");
    writers[address + byte] = int(thread);
  }
}

void WarpEvaluator::loadOrStore(Operation &op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  auto store = dyn_cast<LLVM::StoreOp>(op);
  Value pointer = load ? load.getAddr() : store.getAddr();
  Type type = load ? load.getType() : store.getValue().getType();
  uint64_t alignment = load ? *load.getAlignment() : *store.getAlignment();
  unsigned bytes = bitsOf(elementOf(type)) / 8;
  unsigned count = isa<VectorType>(type) ? cast<VectorType>(type).getNumElements() : 1;
  (load ? numLoads : numStores)++;
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    result[thread].assign(count, 0);
    if (!isActive[thread])
      continue;
    uint64_t address = at(pointer)[thread].front();
    if (address % alignment != 0 || alignment != count * bytes ||
        address + count * bytes > shared.size())
      return fail("misaligned or out of bounds");
    for (unsigned index = 0; index < count; ++index) {
      uint64_t place = address + index * bytes;
      if (load)
        std::memcpy(&result[thread][index], &shared[place], bytes);
      else
        write(thread, place,
              reinterpret_cast<const uint8_t *>(&at(store.getValue())[thread][index]), bytes);
    }
  }
  if (load)
    values[load.getResult()] = result;
}

void WarpEvaluator::shuffle(Operation &op) {
  auto shuffle = cast<simt::ShuffleOp>(op);
  ++numShuffles;
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    uint64_t lane = operand(op, 1, thread);
    size_t from = thread % warpSize;
    from = shuffle.getMode() == simt::ShuffleMode::Xor ? from ^ lane : lane;
    if (!isActive[thread] || from >= warpSize)
      return fail("a shuffle reads no active lane");
    result[thread] = at(shuffle.getValue())[thread / warpSize * warpSize + from];
  }
  values[shuffle.getResult()] = result;
}

/// Whether a thread may access the bytes at once; else the error.
bool WarpEvaluator::isInGlobalMemory(const uint8_t *address, size_t bytes) {
  bool isInside = llvm::any_of(buffers, [&](ArrayRef<uint8_t> buffer) {
    return address >= buffer.begin() && address + bytes <= buffer.end();
  });
  if (!isInside || reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail("an access to global memory is out of bounds or misaligned");
  return error.empty();
}

/// The data moves when its warp waits for it: as late as a machine may.
void WarpEvaluator::startCopy(Operation &operation) {
  auto op = cast<simt::GlobalToSharedOp>(operation);
  ++numCopies;
  for (size_t warp = 0; warp < copies.size(); ++warp) {
    std::vector<LaneCopy> lanes;
    for (size_t thread = warp * warpSize; thread < (warp + 1) * warpSize; ++thread) {
      if (!isActive[thread])
        continue;
      auto *from = reinterpret_cast<const uint8_t *>(operand(operation, 0, thread));
      if (op.getMask() && !at(op.getMask())[thread].front())
        from = nullptr;
      if (from && !isInGlobalMemory(from, op.getBytes()))
        return;
      lanes.push_back({thread, from, operand(operation, 1, thread), op.getBytes()});
    }
    if (!lanes.empty())
      copies[warp].push_back(lanes);
  }
}

void WarpEvaluator::finishCopies(unsigned left) {
  for (std::vector<std::vector<LaneCopy>> &ofWarp : copies)
    for (; ofWarp.size() > left; ofWarp.erase(ofWarp.begin()))
      for (const LaneCopy &copy : ofWarp.front())
        write(copy.thread, copy.to, copy.from, copy.bytes);
}

void WarpEvaluator::loadOrStoreGlobal(Operation &op) {
  auto load = dyn_cast<simt::GlobalLoadOp>(op);
  auto store = dyn_cast<simt::GlobalStoreOp>(op);
  Value mask = load ? load.getMask() : store.getMask();
  Value other = load ? load.getOther() : Value();
  Type type = load ? load.getResult().getType() : store.getValue().getType();
  unsigned bytes = bitsOf(elementOf(type)) / 8;
  unsigned count = isa<VectorType>(type) ? cast<VectorType>(type).getNumElements() : 1;
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    result[thread] = other ? at(other)[thread] : std::vector<uint64_t>(count, 0);
    if (!isActive[thread] || (mask && !at(mask)[thread].front()))
      continue;
    auto *address = reinterpret_cast<uint8_t *>(operand(op, 0, thread));
    if (!isInGlobalMemory(address, count * bytes))
      return;
    for (unsigned index = 0; index < count; ++index)
      if (load)
        std::memcpy(&(result[thread][index] = 0), address + index * bytes, bytes);
      else
        std::memcpy(address + index * bytes, &at(store.getValue())[thread][index], bytes);
  }
  if (load)
    values[load.getResult()] = result;
}

namespace {
/// One operand of a matrix instruction, as registers of a warp's lanes hold it.
struct FragmentView {
  FragmentView(simt::MmaFragmentOp op, simt::MmaOperand operand, Type element)
      : layout(simt::mmaFragment(op.getInstruction(), operand)), element(element),
        perWord(std::max(1u, 32 / bitsOf(element))) {}

  /// All elements of a warp in row-major order, from the words of its lanes.
  std::vector<double> read(ValueRange words, const WarpEvaluator &machine,
                           size_t firstThread) const {
    std::vector<double> elements(layout.numElements());
    for (uint32_t lane = 0; lane < layout.size(Place::Lane); ++lane)
      for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg) {
        uint64_t word = machine.at(words[reg / perWord])[firstThread + lane].front();
        elements[layout.element(reg, lane, 0)] =
            valueOf(truncated(word >> (reg % perWord * bitsOf(element)), bitsOf(element)));
      }
    return elements;
  }
  double valueOf(uint64_t bits) const {
    if (element.isInteger())
      return double(llvm::SignExtend64(bits, bitsOf(element)));
    return floatOf(element, bits).convertToDouble();
  }
  uint64_t bitsFor(double value) const {
    if (element.isInteger())
      return truncated(uint64_t(int64_t(value)), bitsOf(element));
    return converted(Float64Type::get(element.getContext()), element,
                     llvm::bit_cast<uint64_t>(value));
  }

  LinearLayout layout;
  Type element;
  unsigned perWord;
};
} // namespace

/// Sums in double precision: exact for the small whole numbers of tests.
void WarpEvaluator::multiply(Operation &operation) {
  auto op = cast<simt::MmaFragmentOp>(operation);
  tile::MmaAttr row = op.getInstruction();
  ++numProducts;
  FragmentView a(op, simt::MmaOperand::A, row.getA()), b(op, simt::MmaOperand::B, row.getB()),
      sum(op, simt::MmaOperand::Accumulator, row.getAccumulator());
  std::vector<ThreadValues> results(op.getNumResults(), ThreadValues(numThreads(), {0}));
  for (size_t warp = 0; warp < numThreads(); warp += warpSize) {
    std::vector<double> left = a.read(op.getA(), *this, warp),
                        right = b.read(op.getB(), *this, warp),
                        products = sum.read(op.getAcc(), *this, warp);
    for (unsigned i = 0; i < row.getM(); ++i)
      for (unsigned j = 0; j < row.getN(); ++j)
        for (unsigned k = 0; k < row.getK(); ++k)
          products[i * row.getN() + j] += left[i * row.getK() + k] * right[k * row.getN() + j];
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      for (uint32_t reg = 0; reg < sum.layout.size(Place::Register); ++reg)
        results[reg / sum.perWord][warp + lane].front() |=
            sum.bitsFor(products[sum.layout.element(reg, lane, 0)])
            << (reg % sum.perWord * bitsOf(sum.element));
  }
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    values[result] = value;
}

void WarpEvaluator::evaluateVector(Operation &op) {
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
      result[thread] = {at(extract.getSource())[thread][extract.getStaticPosition().front()]};
    } else if (isa<vector::BitCastOp, LLVM::BitcastOp>(op)) {
      Value from = op.getOperand(0), to = op.getResult(0);
      unsigned fromBytes = bitsOf(elementOf(from.getType())) / 8;
      unsigned toBytes = bitsOf(elementOf(to.getType())) / 8;
      std::vector<uint8_t> bytes(128);
      const std::vector<uint64_t> &source = at(from)[thread];
      for (size_t index = 0; index < source.size(); ++index)
        std::memcpy(&bytes[index * fromBytes], &source[index], fromBytes);
      result[thread].assign(source.size() * fromBytes / toBytes, 0);
      for (size_t index = 0; index < result[thread].size(); ++index)
        std::memcpy(&result[thread][index], &bytes[index * toBytes], toBytes);
    } else {
      for (Value element : op.getOperands())
        result[thread].push_back(at(element)[thread].front());
    }
  }
  values[op.getResult(0)] = result;
}

void WarpEvaluator::runFor(Operation &op) {
  auto loop = cast<scf::ForOp>(op);
  uint64_t first = operand(op, 0, 0), end = operand(op, 1, 0), step = operand(op, 2, 0);
  std::vector<ThreadValues> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(at(init));
  for (uint64_t iteration = first; iteration < end; iteration += step) {
    values[loop.getInductionVar()] = ThreadValues(numThreads(), {iteration});
    for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      values[argument] = value;
    run(*loop.getBody());
    if (!error.empty())
      return;
    for (auto [value, yielded] : llvm::zip(carried, loop.getBody()->getTerminator()->getOperands()))
      value = at(yielded);
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    values[result] = value;
}

void WarpEvaluator::runIf(Operation &op) {
  auto branch = cast<scf::IfOp>(op);
  std::vector<bool> before = isActive;
  std::vector<ThreadValues> results(op.getNumResults(), ThreadValues(numThreads(), {0}));
  for (bool side : {true, false}) {
    Block *block = side ? branch.thenBlock() : branch.elseBlock();
    for (size_t thread = 0; thread < numThreads(); ++thread)
      isActive[thread] = before[thread] && (operand(op, 0, thread) != 0) == side;
    if (!block || llvm::none_of(isActive, [](bool active) { return active; }))
      continue;
    run(*block);
    for (auto [result, yielded] : llvm::zip(results, block->getTerminator()->getOperands()))
      for (size_t thread = 0; error.empty() && thread < numThreads(); ++thread)
        if (isActive[thread])
          result[thread] = at(yielded)[thread];
  }
  isActive = before;
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    values[result] = value;
}

/// All threads of a program go on together.
void WarpEvaluator::runWhile(Operation &op) {
  auto loop = cast<scf::WhileOp>(op);
  auto assign = [&](ValueRange to, ValueRange from) {
    std::vector<ThreadValues> moved;
    for (Value value : from)
      moved.push_back(at(value));
    for (auto [value, now] : llvm::zip(to, moved))
      values[value] = now;
  };
  assign(loop.getBeforeArguments(), loop.getInits());
  while (error.empty()) {
    run(*loop.getBeforeBody());
    auto condition = loop.getConditionOp();
    bool goesOn = error.empty() && at(condition.getCondition())[0].front() != 0;
    assign(goesOn ? ValueRange(loop.getAfterArguments()) : ValueRange(loop.getResults()),
           condition.getArgs());
    if (!goesOn)
      return;
    run(*loop.getAfterBody());
    assign(loop.getBeforeArguments(), loop.getYieldOp()->getOperands());
  }
}

void WarpEvaluator::runOperation(Operation &op) {
  if (isa<LLVM::ReturnOp, scf::YieldOp, scf::ConditionOp, LLVM::AssumeOp>(op))
    return;
  if (isa<scf::ForOp>(op))
    return runFor(op);
  if (isa<scf::IfOp>(op))
    return runIf(op);
  if (isa<scf::WhileOp>(op))
    return runWhile(op);
  if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
    return loadOrStore(op);
  if (isa<simt::GlobalLoadOp, simt::GlobalStoreOp>(op))
    return loadOrStoreGlobal(op);
  if (isa<simt::GlobalToSharedOp>(op))
    return startCopy(op);
  if (auto wait = dyn_cast<simt::CopiesWaitOp>(op))
    return finishCopies(wait.getLeft());
  if (isa<simt::MmaFragmentOp>(op))
    return multiply(op);
  if (isa<simt::ShuffleOp>(op))
    return shuffle(op);
  if (isa<vector::ExtractOp, vector::BitCastOp, LLVM::BitcastOp, vector::FromElementsOp>(op))
    return evaluateVector(op);
  if (isa<simt::BarrierOp>(op)) {
    writers.assign(writers.size(), -1);
    return;
  }
  numSelects += isa<arith::SelectOp>(op);
  auto vector = dyn_cast<VectorType>(op.getResult(0).getType());
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread)
    for (int64_t index = 0; index < (vector ? vector.getNumElements() : 1); ++index) {
      std::optional<uint64_t> value = evaluate(op, thread, index);
      if (!value)
        return fail("unknown operation " + op.getName().getStringRef().str());
      result[thread].push_back(*value);
    }
  values[op.getResult(0)] = result;
}

static std::optional<uint64_t> constantOf(Attribute value, size_t index) {
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getValue().getZExtValue();
  if (auto real = dyn_cast<FloatAttr>(value))
    return bitsOfFloat(real.getValue());
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    return constantOf(elements.getValues<Attribute>()[index], 0);
  return std::nullopt;
}

std::optional<uint64_t> WarpEvaluator::evaluate(Operation &op, size_t thread, size_t index) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantOf(constant.getValue(), index);
  if (isa<simt::ThreadIdOp>(op))
    return thread;
  if (auto id = dyn_cast<simt::ProgramIdOp>(op))
    return program[id.getAxis()];
  if (auto count = dyn_cast<simt::NumProgramsOp>(op))
    return numPrograms[count.getAxis()];
  if (auto address = dyn_cast<simt::SharedAddressOp>(op))
    return address.getOffset();
  SmallVector<uint64_t> operands;
  for (Value value : op.getOperands()) {
    const std::vector<uint64_t> &elements = at(value)[thread];
    operands.push_back(elements.size() == 1 ? elements.front() : elements[index]);
  }
  return evaluateElement(op, operands);
}
