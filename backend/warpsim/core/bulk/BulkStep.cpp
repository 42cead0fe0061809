// Addresses of mbarriers and bulk copies, and the dispatch of both.
#include "backend/warpsim/core/bulk/BulkStep.h"
#include "backend/warpsim/core/state/Origins.h"

using namespace tw::warpsim;

uint64_t BulkStep::read(const Operand &operand, const char *what) const {
  reportUnset(cta, warp, operand, pc, LaneMask(1) << lane, what);
  return readLane(operand, warp.registers(), lane);
}

std::optional<uint64_t> tw::warpsim::readAddress(const BulkStep &step, const Address &address,
                                                 const char *what) {
  if (address.base.kind != Operand::Kind::Register)
    return uint64_t(address.offset);
  if (!(wholeLanes(address.base, step.warp.registers()) >> step.lane & 1)) {
    step.read(address.base, what);
    return std::nullopt;
  }
  uint64_t at = readLane(address.base, step.warp.registers(), step.lane) + uint64_t(address.offset);
  return address.base.reg.file == RegisterFile::Word ? uint32_t(at) : at;
}

std::optional<uint32_t> tw::warpsim::resolveShared(const BulkStep &step, const Address &address,
                                                   uint64_t bytes, uint32_t alignment,
                                                   const char *what) {
  std::optional<uint64_t> at = readAddress(step, address, what);
  if (!at)
    return std::nullopt;
  if ((*at & kWindowMask) == kSharedWindow)
    *at &= ~kWindowMask;
  if (*at % alignment) {
    step.report(Kind::Misaligned, std::string(what) + " " + std::to_string(*at) +
                                      " is not a multiple of " + std::to_string(alignment) +
                                      " bytes");
    return std::nullopt;
  }
  // A CTA reaches its own memory by either kind of address.
  if (uint64_t rank = *at >> kRankShift; rank && rank == step.cta.rank + 1)
    *at &= (uint64_t(1) << kRankShift) - 1;
  uint64_t offset = *at - step.cta.launch.program.sharedBase, end = step.cta.launch.sharedBytes;
  if (offset > end || end - offset < bytes) {
    step.report(Kind::OutOfBoundsShared, std::string(what) + " leads to " + std::to_string(bytes) +
                                             " bytes outside shared memory (" +
                                             std::to_string(end) + " bytes)");
    return std::nullopt;
  }
  return uint32_t(offset);
}

/// Marks the barriers that the lanes have initialized as known to the asynchronous proxy.
static void fenceInits(Cta &cta, const Warp &warp, LaneMask active) {
  for (auto &[offset, barrier] : cta.bulk.barriers)
    if (barrier.initWarp == warp.index && (active >> barrier.initLane & 1))
      barrier.isFenced = true;
}

static void commit(Cta &cta, const Warp &warp, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1)
    ++cta.bulk.numCommitted[warp.index][__builtin_ctz(rest)];
}

void tw::warpsim::executeBulk(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                              LaneMask active) {
  cta.bulk.isUsed = true;
  switch (instruction.op) {
  case Op::MbarrierInitFence:
    return fenceInits(cta, warp, active);
  case Op::MaxRegistersUp:
  case Op::MaxRegistersDown:
    return executeRegisterShare(cta, warp, instruction, pc, active);
  case Op::BulkCommit:
    return commit(cta, warp, active);
  case Op::BulkWait:
  case Op::BulkWaitRead:
    return waitForStores(cta, warp, instruction, active);
  default:
    break;
  }
  if (instruction.op < Op::BulkLoad)
    return executeMbarrier(cta, warp, instruction, pc, active);
  for (LaneMask rest = active; rest; rest &= rest - 1)
    executeCopy({cta, warp, instruction, pc, unsigned(__builtin_ctz(rest))});
}
