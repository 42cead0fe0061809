// One thread's mbarrier operation or bulk copy under execution.
#ifndef BACKEND_WARPSIM_CORE_BULKSTEP_H
#define BACKEND_WARPSIM_CORE_BULKSTEP_H
#include "backend/warpsim/TensorMap.h"
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/bulk/Bulk.h"

namespace tw::warpsim {

struct BulkStep {
  Cta &cta;
  Warp &warp;
  const Instruction &instruction;
  int32_t pc;
  unsigned lane;

  void report(Kind kind, const std::string &message, int32_t otherPc = -1) const {
    cta.report(kind, warp, lane, pc, [&](Finding &finding) { finding.message = message; }, otherPc);
  }
  uint64_t read(const Operand &operand, const char *what) const;
};

// BulkStep.cpp.
/// Returns the offset of `bytes` bytes in shared memory, or nothing where they are not aligned or
/// not there, which is reported.
std::optional<uint32_t> resolveShared(const BulkStep &step, const Address &address, uint64_t bytes,
                                      uint32_t alignment, const char *what);
/// Returns the address that a register of 64 bits holds.
std::optional<uint64_t> readAddress(const BulkStep &step, const Address &address, const char *what);
/// Calls `visit(MemoryStep, Request)` for each 16 bytes or less of a piece, in shared or global
/// memory, as the step's thread accesses it.
template <typename Visit>
void forEachAccess(const BulkStep &step, const BulkPiece &piece, Space space, bool isWrite,
                   bool isProbe, Visit visit) {
  bool isShared = space == Space::Shared;
  uint64_t first = isShared ? piece.offset : piece.address;
  unsigned unit = first % 16 == 0 ? 16 : first % 4 == 0 ? 4 : first % 2 == 0 ? 2 : 1;
  for (uint32_t done = 0; done < piece.bytes; done += unit) {
    MemoryStep memory = {step.cta, step.warp, step.instruction, step.pc, isWrite, unit};
    memory.isProbe = isProbe;
    Request request;
    request.space = space;
    request.lanes = LaneMask(1) << step.lane;
    request.bytes = std::min(unit, piece.bytes - done);
    request.at[step.lane] = first + done;
    request.host[step.lane] =
        isShared ? step.cta.shared.bytes.data() + first + done : piece.host + done;
    request.region = isShared ? nullptr : piece.region;
    visit(memory, request);
  }
}

// Mbarriers.cpp.
/// Returns the barrier at an offset that the thread may use, or null, which is reported.
Mbarrier *findMbarrier(const BulkStep &step, uint32_t offset);
void executeMbarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
/// Arrives at a barrier of the CTA of `there`, which is the step as a guest of another CTA or
/// itself.
void arrive(const BulkStep &step, const BulkStep &there, uint32_t offset, Mbarrier &barrier);
/// Counts bytes that have come, with what was known when they were asked for.
void addBytes(Cta &cta, uint32_t offset, int64_t bytes, const SharedKnowledge &known);

// TensorBox.cpp.
/// Finds the pieces of the instruction's box, and what a load fills outside of the tensor with.
bool findBox(const BulkStep &step, bool isLoad, BulkCopy &copy);

// BulkIssue.cpp, BulkMoves.cpp.
void executeCopy(const BulkStep &step);
void waitForStores(Cta &cta, Warp &warp, const Instruction &instruction, LaneMask active);
/// Moves the next `count` pieces of a load.
void movePieces(Cta &cta, BulkCopy &copy, size_t count);
/// The store reads its source; what it writes is held until then.
void readSource(Cta &cta, BulkCopy &copy);
void writeDestination(Cta &cta, BulkCopy &copy);
bool isReduction(const Instruction &instruction);
/// Adds to memory, or whatever the reduction does, element by element (BulkReduction.cpp).
void reduceInto(const Instruction &instruction, TensorElement element, const BulkPiece &piece,
                const uint8_t *values);
TensorElement elementOf(const Instruction &instruction, const BulkCopy &copy);

// RegisterShares.cpp.
void executeRegisterShare(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                          LaneMask active);
void reportRegisterShares(Cta &cta);

} // namespace tw::warpsim
#endif
