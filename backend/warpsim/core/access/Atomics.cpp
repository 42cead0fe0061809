// Atomic operations.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/state/Ordering.h"
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/exec/Float.h"
#include <bit>

using namespace tw::warpsim;

static bool isFloat(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2 ||
         type == Type::F32 || type == Type::F64;
}

static bool isSigned(Type type) { return type == Type::S32 || type == Type::S64; }

static float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

static double pick(AtomOp op, double a, double b) {
  if (op == AtomOp::Add)
    return a + b;
  if (a == b) // zeros, of which -0 is the lesser
    return std::signbit(a) == (op == AtomOp::Min) ? a : b;
  return op == AtomOp::Min ? std::fmin(a, b) : std::fmax(a, b);
}

static uint64_t combineHalf(AtomOp op, uint16_t a, uint16_t b) {
  return halfFromFloat(float(pick(op, floatFromHalf(a), floatFromHalf(b))));
}
static uint64_t combineBrain(AtomOp op, uint16_t a, uint16_t b) {
  return brainFromFloat(float(pick(op, floatFromBrain(a), floatFromBrain(b))));
}

static uint64_t combineFloat(AtomOp op, Type type, uint64_t a, uint64_t b, bool flushes) {
  switch (type) {
  case Type::F16:
    return combineHalf(op, uint16_t(a), uint16_t(b));
  case Type::F16x2:
    return combineHalf(op, uint16_t(a), uint16_t(b)) |
           combineHalf(op, uint16_t(a >> 16), uint16_t(b >> 16)) << 16;
  case Type::BF16:
    return combineBrain(op, uint16_t(a), uint16_t(b));
  case Type::BF16x2:
    return combineBrain(op, uint16_t(a), uint16_t(b)) |
           combineBrain(op, uint16_t(a >> 16), uint16_t(b >> 16)) << 16;
  case Type::F32: {
    float x = std::bit_cast<float>(uint32_t(a)), y = std::bit_cast<float>(uint32_t(b));
    if (flushes)
      return std::bit_cast<uint32_t>(flush(float(pick(op, flush(x), flush(y)))));
    return std::bit_cast<uint32_t>(op == AtomOp::Add ? x + y : float(pick(op, x, y)));
  }
  default:
    return std::bit_cast<uint64_t>(pick(op, std::bit_cast<double>(a), std::bit_cast<double>(b)));
  }
}

static uint64_t combineInteger(AtomOp op, Type type, uint64_t old, uint64_t value, uint64_t swap) {
  bool isWide = bytesOf(type) == 8;
  int64_t a = isWide ? int64_t(old) : int32_t(old), b = isWide ? int64_t(value) : int32_t(value);
  switch (op) {
  case AtomOp::And:
    return old & value;
  case AtomOp::Or:
    return old | value;
  case AtomOp::Xor:
    return old ^ value;
  case AtomOp::Cas:
    return old == value ? swap : old;
  case AtomOp::Exch:
    return value;
  case AtomOp::Add:
    return old + value;
  case AtomOp::Inc:
    return old >= value ? 0 : old + 1;
  case AtomOp::Dec:
    return old == 0 || old > value ? value : old - 1;
  case AtomOp::Min:
    return isSigned(type) ? uint64_t(std::min(a, b)) : std::min(old, value);
  case AtomOp::Max:
    return isSigned(type) ? uint64_t(std::max(a, b)) : std::max(old, value);
  case AtomOp::None:
    break;
  }
  return old;
}

template <typename T, typename Combine>
static uint64_t exchange(Cta &cta, uint8_t *host, Combine combine) {
  // CTAs may run on other host threads: the host's own atomics keep them apart.
  std::atomic_ref<T> memory(*reinterpret_cast<T *>(host));
  T old = memory.load(), next = T(combine(old));
  while (!memory.compare_exchange_weak(old, next))
    next = T(combine(old));
  cta.numChanges += old != next;
  return old;
}

static uint64_t applyAtomic(Cta &cta, const Instruction &instruction, uint8_t *host, uint64_t value,
                            uint64_t swap, bool isShared) {
  Type type = instruction.type;
  AtomOp op = instruction.atomOp;
  uint64_t mask = bytesOf(type) == 8 ? ~uint64_t(0) : (uint64_t(1) << bytesOf(type) * 8) - 1;
  // PTX ISA, atom: add.f32 flushes subnormals in global memory and keeps them in shared memory.
  auto combine = [&](uint64_t old) {
    if (isFloat(type) && op != AtomOp::Cas && op != AtomOp::Exch)
      return combineFloat(op, type, old, value & mask, !isShared);
    return combineInteger(op, type, old, value & mask, swap & mask);
  };
  switch (bytesOf(type)) {
  case 2:
    return exchange<uint16_t>(cta, host, combine);
  case 4:
    return exchange<uint32_t>(cta, host, combine);
  default:
    return exchange<uint64_t>(cta, host, combine);
  }
}

static void checkOperands(const MemoryStep &step, LaneMask lanes) {
  const Instruction &instruction = step.instruction;
  for (const Operand &source : instruction.sources)
    reportUnset(step.cta, step.warp, source, step.pc, lanes, "an operand of an atomic operation");
}

/// Returns true if an atomic operation writes: a compare-and-swap that fails only reads, and
/// releases nothing.
static bool writes(const Instruction &instruction, uint64_t old, uint64_t compared) {
  uint64_t mask = bytesOf(instruction.type) == 8
                      ? ~uint64_t(0)
                      : (uint64_t(1) << bytesOf(instruction.type) * 8) - 1;
  return instruction.atomOp != AtomOp::Cas || old == (compared & mask);
}

/// Returns what the lane has seen, mixed.
static uint64_t applyLane(const MemoryStep &step, const Request &request, unsigned lane) {
  const Instruction &instruction = step.instruction;
  Cta &cta = step.cta;
  WarpRegisters &registers = step.warp.registers();
  SyncPlace place = {request.at[lane], request.space == Space::Shared};
  unsigned bytes = bytesOf(instruction.type);
  uint64_t seen = request.at[lane];
  bool isWritten = false;
  for (unsigned i = 0; i < instruction.vectorWidth; ++i) {
    uint64_t value = readLane(instruction.sources[i], registers, lane);
    uint64_t swap =
        instruction.atomOp == AtomOp::Cas ? readLane(instruction.sources[1], registers, lane) : 0;
    uint8_t *host = request.host[lane] + i * bytes;
    uint64_t old = applyAtomic(cta, instruction, host, value, swap, place.isShared);
    isWritten |= writes(instruction, old, value);
    seen = seen * 31 + old;
    if (i < instruction.results.size())
      writeLane(instruction.results[i], registers, lane, old, true);
  }
  if (place.isShared)
    cta.shared.markWritten(request.at[lane], request.bytes, true);
  if (isWritten)
    orderBefore(cta, step.warp, instruction, lane, place);
  if (cta.launch.sync.steps[step.pc] == SyncStep::Observe)
    orderAfter(cta, step.warp, instruction, lane, place);
  else
    orderUnobserved(cta, step.warp, instruction, lane, place);
  return seen;
}

/// One lane after the other: several may update the same element.
static void applyLanes(const MemoryStep &step, Request &request) {
  request.expand();
  bool isObserved = step.cta.launch.sync.steps[step.pc] == SyncStep::Observe;
  if (isObserved)
    beginReads(step, request);
  uint64_t seen = 0, changesBefore = step.cta.numChanges;
  bool mayBeUnset = request.space == Space::Shared && step.instruction.atomOp != AtomOp::Exch &&
                    step.cta.launch.launch.options.checksInitialized;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (mayBeUnset && !step.cta.shared.isWritten(request.at[lane], request.bytes))
      reportAccess(step, Kind::UninitShared, request, lane, "has bytes that nothing has written");
    checkLane(step, request, strengthOf(step.instruction), lane, nullptr);
    seen = seen * 31 + applyLane(step, request, lane);
  }
  if (step.instruction.op == Op::Atom)
    notePoll(step.warp, step.pc, seen);
  bool isShared = request.space == Space::Shared;
  if (!isObserved || step.cta.numChanges != changesBefore)
    step.cta.clocksOf(isShared).use(step.warp.index, isShared);
}

void tw::warpsim::executeAtomic(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                LaneMask active) {
  MemoryStep step = {cta, warp, instruction, pc, true, accessBytes(instruction)};
  checkOperands(step, active);
  ++cta.statistics.atomics;
  LaneMask performed =
      forEachMemory(step, active, [&](Request &request) { applyLanes(step, request); });
  for (const Operand &result : instruction.results)
    for (LaneMask rest = active & ~performed; rest; rest &= rest - 1)
      writeLane(result, warp.registers(), unsigned(__builtin_ctz(rest)), 0, false);
}
