// The meaning of prints, assertions and promises.
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdio>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

static std::string formatElement(Type type, uint64_t bits, bool isHex, bool isSigned) {
  unsigned width = elementWidth(type);
  if (isa<tile::PtrType>(type))
    return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true, /*Width=*/16);
  if (isa<FloatType>(type)) {
    char text[40];
    std::snprintf(text, sizeof text, isHex ? "%a" : "%.9g", toDouble(type, bits));
    return text;
  }
  if (isHex)
    return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true);
  if (width == 1)
    return bits ? "True" : "False";
  return isSigned ? std::to_string(signExtend(bits, width)) : std::to_string(bits);
}

/// Prints a line per element: `pid (x, y, z) idx (i, j) prefix value`.
static LogicalResult runPrint(Program &program, Operation &op) {
  auto print = cast<tile::PrintOp>(op);
  std::string programId =
      llvm::formatv("pid ({0}, {1}, {2})", program.id[0], program.id[1], program.id[2]);
  if (print.getValues().empty())
    std::printf("%s idx () %s\n", programId.c_str(), print.getPrefix().str().c_str());
  for (auto [operand, value] : llvm::enumerate(print.getValues())) {
    Type element = tile::elementTypeOf(value.getType());
    ArrayRef<int64_t> shape = tile::shapeOf(value.getType());
    bool isSigned = operand >= print.getIsSigned().size() || print.getIsSigned()[operand];
    for (auto [position, content] : llvm::enumerate(program.valueOf(value)))
      std::printf("%s idx %s %s %s\n", programId.c_str(), formatIndex(position, shape).c_str(),
                  print.getPrefix().str().c_str(),
                  formatElement(element, content.bits, print.getHex(), isSigned).c_str());
  }
  std::fflush(stdout);
  return success();
}

static LogicalResult runAssert(Program &program, Operation &op) {
  auto assertion = cast<tile::AssertOp>(op);
  const TileValue &condition = program.valueOf(assertion.getCondition());
  const TileValue *mask = assertion.getMask() ? &program.valueOf(assertion.getMask()) : nullptr;
  for (auto [position, element] : llvm::enumerate(condition)) {
    bool isActive = !mask || (*mask)[position].bits != 0;
    if (isActive && !element.bits)
      return failAt(program, op, "TW0602", "device_assert failed: " + assertion.getMessage().str(),
                    position, tile::shapeOf(assertion.getCondition().getType()));
  }
  return success();
}

static LogicalResult runAssume(Program &program, Operation &op) {
  if (program.isTrue(cast<tile::AssumeOp>(op).getCondition()))
    return success();
  return failAt(program, op, "TW0603", "an assumption does not hold");
}

/// Programs run in order on one thread: memory accesses are in order already.
static LogicalResult runBarrier(Program &, Operation &) { return success(); }

void tw::reference::addDebugMeanings(Meanings &meanings) {
  meanings["tile.print"].structured = runPrint;
  meanings["tile.assert"].structured = runAssert;
  meanings["tile.assume"].structured = runAssume;
  meanings["tile.barrier"].structured = runBarrier;
}
