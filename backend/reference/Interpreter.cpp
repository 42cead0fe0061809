// Runs blocks of Tile IR operation by operation and says where a program failed.
#include "backend/reference/Interpreter.h"
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "backend/reference/Memory.h"
#include "backend/reference/Turns.h"
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using namespace tw::reference;

MeaningTable::MeaningTable() {
  addConversionMeanings(meanings);
  addIntegerMeanings(meanings);
  addFloatMeanings(meanings);
  addMultipleResultMeanings(meanings);
  addShapeMeanings(meanings);
  addMemoryMeanings(meanings);
  addAtomicMeanings(meanings);
  addReduceMeanings(meanings);
  addControlFlowMeanings(meanings);
  addDebugMeanings(meanings);
}

int64_t Program::integerOf(Value value) const {
  return signExtend(valueOf(value)[0].bits, elementWidth(value.getType()));
}

bool InterruptPoll::look() {
  constexpr int kOperationsPerLook = 64;
  auto now = std::chrono::steady_clock::now();
  untilLook = now - lastLook > std::chrono::milliseconds(10) ? 1 : kOperationsPerLook;
  lastLook = now;
  return clock.ask();
}

bool Launch::isStopped(const Program &program) const {
  if (overlay && overlay->isUndecided())
    return true;
  return turns ? !turns->step(program.number) : poll->isDue();
}

void LoopLimit::noteRead(Operation *op, uint64_t program, uint64_t digest) {
  auto [place, isNew] = lastRead.try_emplace({op, program}, digest);
  if (isNew || std::exchange(place->second, digest) != digest)
    noteEffect();
}

uint64_t tw::reference::numberOf(std::array<int32_t, 3> id, const LaunchGrid &grid) {
  return id[0] + uint64_t(grid.programs[0]) * (id[1] + uint64_t(grid.programs[1]) * id[2]);
}

LogicalResult tw::reference::runBlock(Program &program, Block &block) {
  for (Operation &op : block) {
    if (program.launch.isStopped(program)) {
      program.error = interruptError(program.launch.name);
      return failure();
    }
    Meaning meaning = program.meanings.find(op.getName());
    LogicalResult ran = failure();
    if (meaning.elementwise)
      ran = runElementwise(program, op, meaning.elementwise);
    else if (meaning.structured)
      ran = meaning.structured(program, op);
    else
      return failAt(program, op, Code::UnknownMeaning,
                    "operation " + op.getName().getStringRef().str() + " has no meaning here");
    if (failed(ran))
      return failure();
  }
  return success();
}

void tw::reference::assignValues(Program &program, ValueRange targets, ValueRange sources) {
  llvm::SmallVector<TileValue> copies;
  for (Value source : sources)
    copies.push_back(program.valueOf(source));
  for (auto [target, copy] : llvm::zip(targets, copies))
    program.set(target, std::move(copy));
}

static std::string formatSpan(const SourceSpan &span) {
  return llvm::formatv("{0}:{1}:{2}", span.file, span.line, span.column);
}

LogicalResult tw::reference::failAt(Program &program, Operation &op, Code code,
                                    const std::string &message, int64_t position,
                                    ArrayRef<int64_t> shape) {
  RuntimeError &error = program.error;
  error.kind = rowOfCode(code).kind;
  error.code = code;
  error.message = llvm::formatv("{0} [program ({1}, {2}, {3})", message, program.id[0],
                                program.id[1], program.id[2]);
  if (position >= 0 && !shape.empty())
    error.message += ", tile index " + formatIndex(position, shape);
  error.message += "]";
  if (SourceSpan span = spanOf(op.getLoc()); span.isKnown())
    error.message += "\n  at " + formatSpan(span);
  for (const SourceLabel &call : callStackOf(op.getLoc()))
    if (call.span.isKnown())
      error.message += "\n  called from " + formatSpan(call.span);
  return failure();
}

static bool isSupportedType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return isSupportedElement(type);
  return tensor.hasStaticShape() && tensor.getNumElements() > 0 &&
         isSupportedElement(tensor.getElementType());
}

std::string tw::reference::findUnknown(const MeaningTable &meanings, Operation *root) {
  std::string unknown;
  auto describeType = [&](Type type) {
    llvm::raw_string_ostream(unknown) << "type " << type << " has no meaning here";
  };
  root->walk([&](Operation *op) {
    if (op == root)
      return WalkResult::advance();
    Meaning meaning = meanings.find(op->getName());
    if (!meaning.structured && !meaning.elementwise)
      unknown = "operation " + op->getName().getStringRef().str() + " has no meaning here";
    for (Type type : op->getResultTypes())
      if (unknown.empty() && !isSupportedType(type))
        describeType(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (unknown.empty() && !isSupportedType(type))
            describeType(type);
    return unknown.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return unknown;
}
