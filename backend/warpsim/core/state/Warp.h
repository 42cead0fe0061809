// A warp: its lanes' stack, registers and state, and how its lanes part and meet.
#ifndef BACKEND_WARPSIM_CORE_WARP_H
#define BACKEND_WARPSIM_CORE_WARP_H
#include "backend/warpsim/core/clocks/SyncObjects.h"
#include "backend/warpsim/core/memory/Memory.h"

namespace tw::warpsim {

/// Lanes that run together. They stop at `reconverge`, where the entry below has them again.
struct StackEntry {
  int32_t pc = 0, reconverge = -1;
  LaneMask mask = 0;
  uint32_t depth = 0;   // number of the frame that they run in
  int8_t parkedAt = -1; // barrier that these lanes have arrived at and wait for
};

struct Frame {
  explicit Frame(const Function &function)
      : registers(function.numRegisters), function(&function) {}
  WarpRegisters registers;
  const Function *function;
  int32_t callPc = -1;
};

/// Tells a spinning warp: it reads the same values at the same place again and again.
struct PollState {
  std::array<int32_t, 4> pc = {-1, -1, -1, -1};
  std::array<uint64_t, 4> seen = {};
  uint32_t fruitless = 0, turns = 0;
};

enum class WarpState : uint8_t { Ready, Waiting, Done };

struct Warp {
  unsigned index = 0;
  LaneMask lanes = 0, exited = 0; // of `lanes`, those that exist in the CTA
  LaneMask notedExits = 0;        // of `exited`, those that barriers have been told of
  WarpState state = WarpState::Ready;
  int8_t barrier = -1;          // waited for
  int32_t mbarrier = -1;        // waited for: its offset in shared memory
  bool awaitsWarpgroup = false; // which has yet to issue a product that the warp waits for
  // The barrier of its cluster: lanes that have arrived in the phase in progress, and what comes of
  // it for the warp.
  LaneMask clusterArrived = 0;
  uint32_t clusterPhase = 0; // in which it arrived last
  bool hasArrivedAtCluster = false, awaitsCluster = false, hasMetCluster = false;
  int32_t waitPc = -1;
  int32_t meetsAt = -1; // of a wave of two warps: where it waits for the other one
  LaneMask meeting = 0; // with these lanes
  // Of launches that begin early: who has waited for earlier ones, and the first global access.
  LaneMask awaited = 0;
  int32_t globalPc = -1;
  uint64_t steps = 0;
  bool passesSync = false; // may execute one instruction that others see
  std::vector<StackEntry> stack;
  std::vector<std::unique_ptr<Frame>> frames;
  PollState poll;
  TrackedBytes local;             // lane after lane
  std::vector<FenceState> fences; // by lane; empty until there is a fence

  LaneMask present() const { return lanes & ~exited; }
  WarpRegisters &registers() { return frames.back()->registers; }
};

void branch(Warp &warp, const Program &program, int32_t pc, LaneMask active, LaneMask taken);
void branchIndexed(Warp &warp, const Program &program, int32_t pc, LaneMask active);
void exitLanes(Warp &warp, LaneMask lanes);
void callFunction(Warp &warp, const Program &program, int32_t pc, LaneMask active);
void returnLanes(Warp &warp, const Program &program, LaneMask lanes);
/// Drops entries that are empty or have arrived. False when the warp has ended.
bool settle(Warp &warp);
/// Lets other lanes run than those on top, which wait for them. False where there are none.
bool rotate(Warp &warp);

} // namespace tw::warpsim
#endif
