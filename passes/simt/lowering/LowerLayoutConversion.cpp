// Lowers conversions of layouts inside a warp: by renaming registers, or by shuffles.
#include "ir/Diagnostic.h"
#include "passes/simt/lowering/thread/LayoutConversion.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "passes/simt/lowering/thread/ThreadBits.h"
#include "passes/simt/layout/LaneExchange.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static bool isZeroMap(ArrayRef<uint32_t> images) {
  return llvm::all_of(images, [](uint32_t image) { return image == 0; });
}

static Registers exchangeLanes(SimtFunction &f, ArrayRef<Value> registers,
                               const LaneExchange &plan) {
  OffsetChoice sent(f, plan.sent, plan.sentByWarp, [&](uint32_t reg) { return registers[reg]; });
  Value variable;
  if (!plan.keepsLanes())
    variable = f.placeIndex(plan.lane, f.lane, ~0u);
  if (!isZeroMap(plan.laneOfWarp))
    variable = xorOf(f, variable, f.placeIndex(plan.laneOfWarp, f.warp, ~0u));
  ShuffleMode mode = plan.keepsLanes() ? ShuffleMode::Xor : ShuffleMode::Index;

  uint32_t numRounds = 1u << plan.laneOfRound.size();
  SmallVector<uint32_t> lanes;
  for (uint32_t round = 0; round < numRounds; ++round)
    lanes.push_back(applyImages(plan.laneOfRound, round));
  // What arrives in each round, for each register that lanes may want instead of the one sent.
  std::map<uint32_t, SmallVector<Value>> arrived;
  auto arrivedInRound = [&](uint32_t round, uint32_t missed) {
    SmallVector<Value> &values = arrived[missed];
    if (values.empty()) {
      for (uint32_t each = 0; each < numRounds; ++each)
        values.push_back(sent.at(applyImages(plan.sentInRound, each) ^ missed));
      values = shuffleAll(f, values, mode, variable, lanes);
    }
    return values[round];
  };
  OffsetChoice received(f, plan.received, {}, [&](uint32_t round) {
    OffsetChoice wanted(f, plan.missed, {},
                        [&](uint32_t missed) { return arrivedInRound(round, missed); });
    return wanted.at(0);
  });
  Registers result;
  for (uint32_t reg = 0; reg < numRounds; ++reg)
    result.push_back(received.at(reg));
  return result;
}

FailureOr<Registers> tw::simt::convertWithinWarp(SimtFunction &f, ArrayRef<Value> registers,
                                                 const LinearLayout &from, const LinearLayout &to) {
  if (std::optional<SmallVector<uint32_t>> renamed = to.registersFrom(from)) {
    Registers result;
    for (uint32_t reg : *renamed)
      result.push_back(registers[reg]);
    return result;
  }
  std::optional<LaneExchange> plan = planLaneExchange(from, to);
  if (!plan)
    return failure();
  return exchangeLanes(f, registers, *plan);
}

LogicalResult SimtFunction::lowerConvertLayout(ConvertLayoutOp op) {
  FailureOr<Registers> result =
      convertWithinWarp(*this, registersOf(op.getSource()), layoutOf(op.getSource().getType()),
                        layoutOf(op.getType()));
  if (failed(result))
    return emitCoded(op, Code::CompilerFault)
           << "a conversion between warps must go through shared memory";
  setRegisters(op, *result);
  return success();
}
