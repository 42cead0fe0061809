// Evaluates the operations that lower-simt makes of tiles: integers and floats in registers,
// shuffles, shared memory, loops and branches.
#include "WarpEvaluator.h"
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

static constexpr unsigned kWarpSize = 32;

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

/// One element of an operation that acts on each alone, or nothing.
static std::optional<uint64_t> evaluateElement(Operation &op, ArrayRef<uint64_t> in) {
  Type type = op.getResult(0).getType();
  unsigned bits = bitsOf(type),
           fromBits = op.getNumOperands() ? bitsOf(op.getOperand(0).getType()) : 0;
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
      .Case([&](arith::ExtFOp extend) {
        bool losesInfo = false;
        llvm::APFloat value = floatOf(extend.getIn().getType(), in[0]);
        value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                      &losesInfo);
        return bitsOfFloat(value);
      })
      .Case([&](math::FmaOp) {
        llvm::APFloat value = floatOf(type, in[0]);
        value.fusedMultiplyAdd(floatOf(type, in[1]), floatOf(type, in[2]),
                               llvm::APFloat::rmNearestTiesToEven);
        return bitsOfFloat(value);
      })
      .Case([&](arith::CmpIOp compare) -> Result {
        if (compare.getPredicate() == arith::CmpIPredicate::eq)
          return in[0] == in[1];
        if (compare.getPredicate() == arith::CmpIPredicate::ne)
          return in[0] != in[1];
        return std::nullopt;
      })
      .Case([&](LLVM::GEPOp address) -> Result {
        int64_t offset = 0;
        if (!address.getDynamicIndices().empty())
          offset = llvm::SignExtend64<32>(in[1]);
        else
          offset = address.getRawConstantIndices().front();
        return in[0] + offset;
      })
      .Default([](Operation *) { return Result(); });
}

void WarpEvaluator::run(Block &block) {
  for (Operation &op : block.getOperations())
    if (error.empty())
      runOperation(op);
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
      uint8_t *memory = &shared[address + index * bytes];
      if (load) {
        std::memcpy(&result[thread][index], memory, bytes);
        continue;
      }
      std::memcpy(memory, &at(store.getValue())[thread][index], bytes);
      int &writer = writers[address + index * bytes];
      if (writer != -1)
        return fail("two writes to one element");
      writer = int(thread);
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
    size_t from = thread % kWarpSize;
    from = shuffle.getMode() == simt::ShuffleMode::Xor ? from ^ lane : lane;
    if (!isActive[thread] || from >= kWarpSize)
      return fail("a shuffle reads no active lane");
    result[thread] = at(shuffle.getValue())[thread / kWarpSize * kWarpSize + from];
  }
  values[shuffle.getResult()] = result;
}

void WarpEvaluator::evaluateVector(Operation &op) {
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
      result[thread] = {at(extract.getSource())[thread][extract.getStaticPosition().front()]};
    } else if (auto cast = dyn_cast<vector::BitCastOp>(op)) {
      unsigned from = bitsOf(elementOf(cast.getSource().getType())) / 8;
      unsigned to = bitsOf(elementOf(cast.getType())) / 8;
      std::vector<uint8_t> bytes(128);
      const std::vector<uint64_t> &source = at(cast.getSource())[thread];
      for (size_t index = 0; index < source.size(); ++index)
        std::memcpy(&bytes[index * from], &source[index], from);
      result[thread].assign(source.size() * from / to, 0);
      for (size_t index = 0; index < result[thread].size(); ++index)
        std::memcpy(&result[thread][index], &bytes[index * to], to);
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
    for (auto [value, yielded] : llvm::zip(carried, loop.getBody()->getTerminator()->getOperands()))
      value = at(yielded);
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    values[result] = value;
}

void WarpEvaluator::runIf(Operation &op) {
  std::vector<bool> before = isActive;
  for (size_t thread = 0; thread < numThreads(); ++thread)
    isActive[thread] = before[thread] && operand(op, 0, thread) != 0;
  run(*cast<scf::IfOp>(op).thenBlock());
  isActive = before;
}

void WarpEvaluator::runOperation(Operation &op) {
  if (isa<LLVM::ReturnOp, scf::YieldOp>(op))
    return;
  if (isa<scf::ForOp>(op))
    return runFor(op);
  if (isa<scf::IfOp>(op))
    return runIf(op);
  if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
    return loadOrStore(op);
  if (isa<simt::ShuffleOp>(op))
    return shuffle(op);
  if (isa<vector::ExtractOp, vector::BitCastOp, vector::FromElementsOp>(op))
    return evaluateVector(op);
  if (isa<simt::BarrierOp>(op)) {
    writers.assign(writers.size(), -1);
    return;
  }
  numSelects += isa<arith::SelectOp>(op);
  ThreadValues result(numThreads());
  for (size_t thread = 0; thread < numThreads(); ++thread) {
    std::optional<uint64_t> value;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
        value = number.getValue().getZExtValue();
      else if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
        value = bitsOfFloat(real.getValue());
    } else if (isa<simt::ThreadIdOp>(op)) {
      value = thread;
    } else if (auto address = dyn_cast<simt::SharedAddressOp>(op)) {
      value = address.getOffset();
    } else {
      SmallVector<uint64_t> operands;
      for (unsigned number = 0; number < op.getNumOperands(); ++number)
        operands.push_back(operand(op, number, thread));
      value = evaluateElement(op, operands);
    }
    if (!value)
      return fail("unknown operation " + op.getName().getStringRef().str());
    result[thread] = {*value};
  }
  values[op.getResult(0)] = result;
}
