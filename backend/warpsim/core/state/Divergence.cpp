// The stack that a warp's lanes part and meet on: they meet at the immediate post-dominator.
#include "backend/warpsim/core/state/Warp.h"
#include <algorithm>

using namespace tw::warpsim;

namespace {
struct Path {
  int32_t pc;
  LaneMask mask;
};
} // namespace

bool tw::warpsim::settle(Warp &warp) {
  while (!warp.stack.empty()) {
    const StackEntry &top = warp.stack.back();
    if (top.mask != 0 && top.pc != top.reconverge)
      break;
    warp.stack.pop_back();
  }
  if (warp.stack.empty()) {
    warp.state = WarpState::Done;
    return false;
  }
  while (warp.frames.size() > warp.stack.back().depth + 1)
    warp.frames.pop_back();
  return true;
}

void tw::warpsim::exitLanes(Warp &warp, LaneMask lanes) {
  warp.exited |= lanes;
  for (StackEntry &entry : warp.stack)
    entry.mask &= ~lanes;
}

/// A branch to the kernel's end is the end: assemblers make it so, and lanes that have left must
/// not count as diverged at the barriers of the others.
static bool isEnd(const Program &program, const Warp &warp, int32_t pc) {
  const Instruction &instruction = program.code[pc];
  if (instruction.guard.kind != Operand::Kind::None)
    return false;
  return instruction.op == Op::Exit || (instruction.op == Op::Ret && warp.stack.back().depth == 0);
}

/// Ends the lanes whose path is the kernel's end, and forgets their path.
static void endLanes(Warp &warp, const Program &program, std::vector<Path> &paths) {
  std::erase_if(paths, [&](const Path &path) {
    bool isOver = isEnd(program, warp, path.pc);
    if (isOver)
      exitLanes(warp, path.mask);
    return isOver;
  });
}

/// Leaves the meeting point on top of the stack, below the paths that are to come; answers where it
/// is. Without one the paths go on to the parent's. At the parent's own the entry below already has
/// all lanes, so loops do not make the stack grow.
static int32_t placeMeeting(Warp &warp, int32_t reconverge) {
  int32_t ofParent = warp.stack.back().reconverge;
  if (reconverge < 0 || reconverge == ofParent) {
    warp.stack.pop_back();
    return ofParent;
  }
  warp.stack.back().pc = reconverge;
  return reconverge;
}

static void diverge(Warp &warp, const Program &program, std::vector<Path> paths,
                    int32_t reconverge) {
  endLanes(warp, program, paths);
  if (paths.size() == 1)
    warp.stack.back().pc = paths.front().pc;
  if (paths.size() <= 1)
    return;
  // The halves of a wave take turns by place: see wave/.
  if (program.isAmdgcn)
    std::ranges::sort(paths, std::greater(), &Path::pc);
  uint32_t depth = warp.stack.back().depth;
  reconverge = placeMeeting(warp, reconverge);
  for (const Path &path : paths)
    if (path.pc != reconverge)
      warp.stack.push_back({path.pc, reconverge, path.mask, depth, -1});
}

void tw::warpsim::branch(Warp &warp, const Program &program, int32_t pc, LaneMask active,
                         LaneMask taken) {
  const Instruction &instruction = program.code[pc];
  StackEntry &top = warp.stack.back();
  LaneMask others = top.mask & ~taken;
  if (!taken)
    top.pc = pc + 1;
  else if (!others)
    top.pc = instruction.target;
  else
    diverge(warp, program, {{pc + 1, others}, {instruction.target, taken}}, instruction.reconverge);
}

void tw::warpsim::branchIndexed(Warp &warp, const Program &program, int32_t pc, LaneMask active) {
  const Instruction &instruction = program.code[pc];
  std::map<int32_t, LaneMask> lanesByTarget;
  if (LaneMask idle = warp.stack.back().mask & ~active)
    lanesByTarget[pc + 1] = idle;
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t index = uint32_t(readLane(instruction.sources[0], warp.registers(), lane));
    // An index past the list is reported; the last target is as good as any.
    index = std::min<uint64_t>(index, instruction.targets.size() - 1);
    lanesByTarget[instruction.targets[index]] |= 1u << lane;
  }
  std::vector<Path> paths;
  for (auto [target, lanes] : lanesByTarget)
    paths.push_back({target, lanes});
  if (paths.size() == 1)
    warp.stack.back().pc = paths[0].pc;
  else
    diverge(warp, program, std::move(paths), instruction.reconverge);
}

static Operand operandOf(Register reg) {
  Operand operand;
  operand.kind = Operand::Kind::Register;
  operand.reg = reg;
  return operand;
}

/// Hands an argument or a result on to another frame.
static void copyLanes(const Operand &from, WarpRegisters &source, const Operand &to,
                      WarpRegisters &target, LaneMask lanes) {
  LaneMask set = setLanes(from, source);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    writeLane(to, target, lane, readLane(from, source, lane), set >> lane & 1);
  }
  if (wholeLanes(from, source) != set)
    markBytes(to, target, lanes, missingBytes(from, source), 8);
}

void tw::warpsim::callFunction(Warp &warp, const Program &program, int32_t pc, LaneMask active) {
  const Instruction &instruction = program.code[pc];
  const Function &callee = program.functions[instruction.callee];
  warp.stack.back().pc = pc + 1;
  auto frame = std::make_unique<Frame>(callee);
  frame->callPc = pc;
  size_t count = std::min(callee.arguments.size(), instruction.sources.size());
  for (size_t i = 0; i < count; ++i)
    copyLanes(instruction.sources[i], warp.registers(), operandOf(callee.arguments[i]),
              frame->registers, active);
  warp.frames.push_back(std::move(frame));
  warp.stack.push_back({callee.begin, -1, active, uint32_t(warp.frames.size() - 1), -1});
}

void tw::warpsim::returnLanes(Warp &warp, const Program &program, LaneMask lanes) {
  uint32_t depth = warp.stack.back().depth;
  if (depth == 0)
    return exitLanes(warp, lanes);
  Frame &frame = *warp.frames[depth], &caller = *warp.frames[depth - 1];
  const Instruction &call = program.code[frame.callPc];
  size_t count = std::min(frame.function->results.size(), call.results.size());
  for (size_t i = 0; i < count; ++i)
    copyLanes(operandOf(frame.function->results[i]), frame.registers, call.results[i],
              caller.registers, lanes);
  for (StackEntry &entry : warp.stack)
    if (entry.depth == depth)
      entry.mask &= ~lanes;
}

bool tw::warpsim::rotate(Warp &warp) {
  StackEntry top = warp.stack.back();
  for (size_t i = warp.stack.size() - 1; i-- > 0;) {
    StackEntry &entry = warp.stack[i];
    LaneMask waiting = entry.mask & ~top.mask;
    if (!waiting || entry.depth != top.depth)
      continue;
    // Entries above hold none of these lanes: they have arrived at entry.pc.
    StackEntry next = entry;
    if (waiting != entry.mask) {
      // They go on without the lanes on top, and meet them at the next post-dominator.
      entry.mask &= ~waiting;
      next.mask = waiting;
    } else {
      warp.stack.erase(warp.stack.begin() + long(i));
    }
    warp.stack.push_back(next);
    if (next.parkedAt < 0)
      return true;
    top.mask |= next.mask;
  }
  return false;
}
