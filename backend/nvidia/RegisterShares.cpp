// How warpgroups hand registers to each other: a loader needs few, the program's warps more than
// an equal share (PTX ISA, "setmaxnreg").
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/assemble/RegisterLimit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

/// Warps that change their registers together.
static constexpr unsigned kWarpsOfGroup = 4;
/// Registers of a loader's threads, and the most that `setmaxnreg` may leave the others beside it.
static constexpr unsigned kOfLoader = 24, kMostOfOthers = 240;

/// Returns what threads of the program have when a warpgroup of loaders keeps few, and no more than
/// a limit of the user's; 0 stands for none.
static unsigned registersOfProgram(unsigned numWarps, unsigned limit) {
  unsigned left = kRegisterFile - kOfLoader * 32 * kWarpsOfGroup;
  unsigned share = std::min<unsigned>(kMostOfOthers, left / (32 * numWarps));
  return llvm::alignDown(limit == 0 ? share : std::min(share, limit), 8);
}

void tw::nvidia::chooseLoaderWarps(Lowering &lowering) {
  unsigned numWarps = lowering.numWarps, needed = lowering.maxRegisters;
  lowering.kernel->walk([&](simt::ShareRegistersOp share) {
    if (needed == 0)
      needed = share.getNeeded().value_or(0);
  });
  // One warp more takes as many registers as four: those of each part go to the most warps there.
  unsigned equal = shareOf(32 * (numWarps + 1));
  if (simt::extraWarpsOf(lowering.kernel) == 0 || numWarps % kWarpsOfGroup != 0 ||
      32 * (numWarps + kWarpsOfGroup) > 1024 || needed <= equal ||
      registersOfProgram(numWarps, lowering.maxRegisters) <= equal)
    return;
  lowering.module->setAttr(simt::kLoaderWarps, lowering.builder.getI32IntegerAttr(kWarpsOfGroup));
}

bool tw::nvidia::sharesRegisters(Operation *kernel) {
  return simt::extraWarpsOf(kernel) == kWarpsOfGroup;
}

void tw::nvidia::lowerShareRegisters(Lowering &lowering, simt::ShareRegistersOp op) {
  if (!sharesRegisters(lowering.kernel))
    return;
  std::string text =
      op.getNeeded()
          ? "setmaxnreg.inc.sync.aligned.u32 " +
                std::to_string(registersOfProgram(lowering.numWarps, lowering.maxRegisters))
          : "setmaxnreg.dec.sync.aligned.u32 " + std::to_string(kOfLoader);
  InlinePtx(lowering.builder, lowering.loc).emit(text + ";", /*hasEffects=*/true);
}
