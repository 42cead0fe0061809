// griddepcontrol.wait: launches that begin early use global memory behind it (PTX ISA,
// "griddepcontrol").
#include "backend/warpsim/core/state/Machine.h"
#include "backend/warpsim/core/state/Ordering.h"

using namespace tw::warpsim;

static bool isBulkStore(Op op) {
  return op == Op::BulkStore || op == Op::BulkReduce || op == Op::TensorStore ||
         op == Op::TensorReduce;
}

static bool writesGlobal(const Instruction &instruction) {
  bool isWrite =
      instruction.op == Op::St || instruction.op == Op::Atom || instruction.op == Op::Red;
  return (isWrite && instruction.space == Space::Global) || isBulkStore(instruction.op);
}

static bool readsGlobal(const Instruction &instruction) {
  return (instruction.op == Op::Ld && instruction.space == Space::Global) ||
         instruction.op == Op::AsyncCopy || instruction.op == Op::BulkLoad ||
         instruction.op == Op::TensorLoad || instruction.op == Op::TensorToShared;
}

void tw::warpsim::noteLaunchOrder(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                  LaneMask active) {
  if (instruction.op == Op::AwaitLaunches)
    warp.awaited |= active;
  bool isWrite = writesGlobal(instruction);
  if (active && warp.globalPc < 0 && (isWrite || readsGlobal(instruction)))
    warp.globalPc = pc;
  if (LaneMask early = isWrite ? active & ~warp.awaited : 0)
    cta.report(Kind::LaunchOrder, warp, unsigned(__builtin_ctz(early)), pc, [](Finding &finding) {
      finding.message = "global memory is written before griddepcontrol.wait: the launches before "
                        "this one may still use it";
    });
}

void tw::warpsim::reportLaunchOrder(Cta &cta) {
  for (Warp &warp : cta.warps)
    if (warp.globalPc >= 0 && !warp.awaited)
      cta.report(Kind::LaunchOrder, warp, 0, warp.globalPc, [](Finding &finding) {
        finding.message = "the warp uses global memory and never executes griddepcontrol.wait: "
                          "the launches before this one may still write there";
      });
}
