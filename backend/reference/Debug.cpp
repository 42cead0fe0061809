// The meaning of prints, assertions and promises.
#include "backend/inspect/PrintedLine.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include "runtime/codes/Codes.h"
#include <bit>
#include <cstdio>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

static PrintedValue printedValue(Type type, uint64_t bits, unsigned hexDigits, bool isSigned) {
  if (isa<tile::PtrType>(type))
    return {'p', 0, bits};
  if (hexDigits > 0)
    return {'u', hexDigits, bits};
  if (isa<FloatType>(type))
    return {'f', 0, std::bit_cast<uint64_t>(toDouble(type, bits))};
  unsigned width = elementWidth(type);
  if (!isSigned || width == 1)
    return {'u', 0, bits};
  return {'i', 0, uint64_t(signExtend(bits, width))};
}

static void writeLine(const std::string &line) { std::fwrite(line.data(), 1, line.size(), stdout); }

/// The row-major index of an element among those below `extents`; nothing where it is not below.
static std::optional<int64_t> printedIndex(int64_t position, ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> extents) {
  int64_t index = 0, stride = 1;
  for (auto [whole, extent] : llvm::zip(llvm::reverse(shape), llvm::reverse(extents))) {
    if (position % whole >= extent)
      return std::nullopt;
    index += position % whole * stride;
    stride *= extent;
    position /= whole;
  }
  return index;
}

/// Prints a line per element.
static LogicalResult runPrint(Program &program, Operation &op) {
  auto print = cast<tile::PrintOp>(op);
  if (print.getValues().empty())
    writeLine(printedLine(program.id, {}, 0, print.getPrefix(), {}));
  for (auto [operand, value] : llvm::enumerate(print.getValues())) {
    Type element = tile::elementTypeOf(value.getType());
    std::string prefix = print.prefixOf(operand);
    for (auto [position, content] : llvm::enumerate(program.valueOf(value)))
      if (std::optional<int64_t> index =
              printedIndex(position, tile::shapeOf(value.getType()), print.printedExtents(operand)))
        writeLine(printedLine(program.id, print.printedExtents(operand), *index, prefix,
                              printedValue(element, content.bits, print.hexDigitsOf(operand),
                                           print.getIsSigned()[operand])));
  }
  std::fflush(stdout);
  program.launch.loops->noteEffect();
  return success();
}

/// ": a + b" of the element at `position`, where the assertion has values.
static std::string shownValues(Program &program, tile::AssertOp assertion, size_t position) {
  std::string text;
  for (Value value : assertion.getValues()) {
    Type type = tile::elementTypeOf(value.getType());
    uint64_t bits = program.valueOf(value)[position].bits;
    text += text.empty() ? ": " : " " + assertion.getJoint()->str() + " ";
    text += assertion.getIsSigned() ? std::to_string(signExtend(bits, elementWidth(type)))
                                    : std::to_string(bits);
  }
  return text;
}

static LogicalResult runAssert(Program &program, Operation &op) {
  auto assertion = cast<tile::AssertOp>(op);
  const TileValue &condition = program.valueOf(assertion.getCondition());
  const TileValue *mask = assertion.getMask() ? &program.valueOf(assertion.getMask()) : nullptr;
  for (auto [position, element] : llvm::enumerate(condition)) {
    bool isActive = !mask || (*mask)[position].bits != 0;
    if (isActive && !element.bits)
      return failAt(program, op, Code::DeviceAssert,
                    "device-side assert failed: " + assertion.getMessage().str() +
                        shownValues(program, assertion, position),
                    position, tile::shapeOf(assertion.getCondition().getType()));
  }
  return success();
}

static LogicalResult runAssume(Program &program, Operation &op) {
  if (program.isTrue(cast<tile::AssumeOp>(op).getCondition()))
    return success();
  return failAt(program, op, Code::FalseAssumption, "an assumption does not hold");
}

namespace {
/// The elements of a tile in their places.
struct Places {
  const TileValue &values;
  ArrayRef<int64_t> shape;
  uint64_t step; // between consecutive elements: bytes of addresses

  /// Returns true if an element follows its neighbour in front along a dimension.
  bool isContinued(int64_t position, size_t dim) const {
    return index(position, dim) > 0 &&
           values[position].bits == values[position - stride(dim)].bits + step;
  }
  bool isContinued(int64_t position) const {
    return llvm::any_of(llvm::seq(shape.size()),
                        [&](size_t dim) { return isContinued(position, dim); });
  }
  /// Returns true if the next element along a dimension follows this one.
  bool goesOn(int64_t position, size_t dim) const {
    return index(position, dim) + 1 < shape[dim] && isContinued(position + stride(dim), dim);
  }

private:
  int64_t stride(size_t dim) const {
    int64_t product = 1;
    for (int64_t extent : shape.drop_front(dim + 1))
      product *= extent;
    return product;
  }
  int64_t index(int64_t position, size_t dim) const { return position / stride(dim) % shape[dim]; }
};
} // namespace

/// Every element that begins a run of consecutive ones along a dimension is a multiple of what was
/// promised there; of addresses, in bytes. A run of one element is none where another dimension
/// continues it: Triton's tutorial of grouped products promises 16 of row-major matrices along
/// both.
static LogicalResult runHint(Program &program, Operation &op) {
  auto hint = cast<tile::HintOp>(op);
  const TileValue values = program.valueOf(hint.getSource());
  program.set(hint, values);
  Type type = hint.getType(), element = tile::elementTypeOf(type);
  auto pointer = dyn_cast<tile::PtrType>(element);
  ArrayRef<int64_t> shape = tile::shapeOf(type), promised;
  Places places{values, shape, pointer ? tile::elementBytes(pointer.getPointee()) : 1};
  if (hint.getDivisibility())
    promised = *hint.getDivisibility();
  for (size_t dim = 0; dim < promised.size(); ++dim)
    for (int64_t position = 0; position < int64_t(values.size()); ++position) {
      uint64_t bits = values[position].bits;
      int64_t number = pointer ? int64_t(bits) : signExtend(bits, elementWidth(element));
      if (number % promised[dim] == 0)
        continue;
      bool isScalar = shape.empty();
      if (!isScalar && (places.isContinued(position, dim) ||
                        (!places.goesOn(position, dim) && places.isContinued(position))))
        continue;
      return failAt(program, op, Code::FalseAssumption,
                    "a multiple_of does not hold: " + std::to_string(number) +
                        " is not a multiple of " + std::to_string(promised[dim]),
                    position, shape);
    }
  return success();
}

/// Programs run in order on one thread: memory accesses are in order already.
static LogicalResult runBarrier(Program &, Operation &) { return success(); }

void tw::reference::addDebugMeanings(Meanings &meanings) {
  meanings["tile.print"].structured = runPrint;
  meanings["tile.assert"].structured = runAssert;
  meanings["tile.assume"].structured = runAssume;
  meanings["tile.hint"].structured = runHint;
  meanings["tile.barrier"].structured = runBarrier;
  meanings["tile.order_launches"].structured = runBarrier; // launches follow each other
}
