// The bytes of bulk copies move, and threads wait for their stores.
#include "backend/warpsim/core/bulk/BulkStep.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

void tw::warpsim::movePieces(Cta &cta, BulkCopy &copy, size_t count) {
  size_t end = std::min(copy.pieces.size(), copy.numMoved + count);
  for (; copy.numMoved < end; ++copy.numMoved) {
    const BulkPiece &piece = copy.pieces[copy.numMoved];
    uint8_t *to = cta.shared.bytes.data() + piece.offset;
    if (piece.host)
      memcpy(to, piece.host, piece.bytes);
    for (uint32_t i = 0; !piece.host && i < piece.bytes; ++i)
      to[i] = uint8_t(copy.fill >> (i % std::min(copy.elementBytes, 4u)) * 8);
    cta.shared.markWritten(piece.offset, piece.bytes, !copy.isSourceUndefined);
  }
}

void tw::warpsim::readSource(Cta &cta, BulkCopy &copy) {
  if (copy.isRead)
    return;
  copy.isRead = true;
  for (const BulkPiece &piece : copy.pieces) {
    const uint8_t *from = cta.shared.bytes.data() + piece.offset;
    copy.held.insert(copy.held.end(), from, from + piece.bytes);
  }
}

TensorElement tw::warpsim::elementOf(const Instruction &instruction, const BulkCopy &copy) {
  switch (instruction.type) {
  case Type::B32:
  case Type::U32:
    return TensorElement::U32;
  case Type::S32:
    return TensorElement::S32;
  case Type::B64:
  case Type::U64:
    return TensorElement::U64;
  case Type::S64:
    return TensorElement::S64;
  case Type::F16:
    return TensorElement::F16;
  case Type::BF16:
    return TensorElement::BF16;
  case Type::F32:
    return TensorElement::F32;
  case Type::F64:
    return TensorElement::F64;
  default:
    return copy.element;
  }
}

bool tw::warpsim::isReduction(const Instruction &instruction) {
  return instruction.op == Op::BulkReduce || instruction.op == Op::TensorReduce;
}

static void markInitialized(const BulkPiece &piece) {
  if (!piece.region->initialized)
    return;
  for (uint64_t at = piece.address - piece.region->base, i = 0; i < piece.bytes; ++i)
    std::atomic_ref((*piece.region->initialized)[(at + i) >> 6])
        .fetch_or(uint64_t(1) << ((at + i) & 63), std::memory_order_relaxed);
}

void tw::warpsim::writeDestination(Cta &cta, BulkCopy &copy) {
  if (copy.isWritten)
    return;
  readSource(cta, copy);
  copy.isWritten = true;
  cta.timeline.endCopy(copy.number, cta.clock);
  const Instruction &instruction = cta.launch.program.code[copy.pc];
  BulkStep step = {cta, cta.warps[copy.warp], instruction, copy.pc, copy.lane};
  const uint8_t *from = copy.held.data();
  for (const BulkPiece &piece : copy.pieces) {
    if (piece.host && !piece.region->isReadOnly) {
      Strength strength = isReduction(instruction) ? Strength::Gpu : Strength::Weak;
      if (cta.launch.launch.options.checksRaces)
        forEachAccess(step, piece, Space::Global, true, false,
                      [&](const MemoryStep &memory, const Request &request) {
                        checkLane(memory, request, strength, copy.lane, nullptr);
                      });
      if (isReduction(instruction))
        reduceInto(instruction, elementOf(instruction, copy), piece, from);
      else
        memcpy(piece.host, from, piece.bytes);
      markInitialized(piece);
    }
    from += piece.bytes;
  }
  copy.held.clear();
}

void tw::warpsim::waitForStores(Cta &cta, Warp &warp, const Instruction &instruction,
                                LaneMask active) {
  BulkCopies &bulk = cta.bulk;
  uint64_t numLeft = instruction.sources[0].bits;
  for (uint32_t number : bulk.stores) {
    BulkCopy &copy = bulk.copies[number];
    bool isOwn = copy.warp == warp.index && (active >> copy.lane & 1);
    if (!isOwn || copy.group + numLeft >= bulk.numCommitted[warp.index][copy.lane])
      continue;
    readSource(cta, copy);
    copy.waits->push_back({0, cta.clocks.epoch(), cta.clocks.clock(warp.index), warp.index,
                           LaneMask(1) << copy.lane});
    if (instruction.op == Op::BulkWait)
      writeDestination(cta, copy);
  }
  std::erase_if(bulk.stores, [&](uint32_t number) { return bulk.copies[number].isWritten; });
}
