// Bugs behind passes, for the test that `check` finds each and names its pass. Linked into a native
// module of the tests only: the linker sends calls of `tw::runPasses` here (--wrap), so no source
// of the compiler knows of it.
#include "backend/compile/PassRun.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include <cstdlib>

using namespace mlir;
using namespace tw;

//===-- Bugs: each changes the first operation that it fits, and returns whether there was one
//------------===//

/// Calls `change` for the operations of a name, in order, until one was changed.
static bool changeFirst(ModuleOp module, StringRef name, function_ref<bool(Operation *)> change) {
  return module
      .walk<WalkOrder::PreOrder>([&](Operation *op) {
        return op->getName().getStringRef() == name && change(op) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool swapOperands(Operation *op, unsigned first, unsigned second) {
  Value value = op->getOperand(first);
  op->setOperand(first, op->getOperand(second));
  op->setOperand(second, value);
  return true;
}

static bool swapDifference(ModuleOp module) {
  return changeFirst(module, "arith.subf", [](Operation *op) { return swapOperands(op, 0, 1); });
}

/// Compares by <= where < was meant, in masks.
static bool loosenMask(ModuleOp module) {
  return changeFirst(module, "arith.cmpi", [](Operation *op) {
    auto compare = cast<arith::CmpIOp>(op);
    bool isMask = isa<RankedTensorType>(op->getOperand(0).getType());
    bool isSigned = compare.getPredicate() == arith::CmpIPredicate::slt;
    if (!isMask || (!isSigned && compare.getPredicate() != arith::CmpIPredicate::ult))
      return false;
    compare.setPredicate(isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule);
    return true;
  });
}

/// Takes the second load of a type for the first.
static bool mergeLoads(ModuleOp module) {
  Operation *first = nullptr;
  return changeFirst(module, "tile.load", [&](Operation *op) {
    if (!first || first->getBlock() != op->getBlock() ||
        first->getResultTypes() != op->getResultTypes()) {
      first = op;
      return false;
    }
    op->replaceAllUsesWith(first);
    op->erase();
    return true;
  });
}

/// Takes a loop's index, where it becomes a tile, for the index of the first iteration.
static bool hoistIndex(ModuleOp module) {
  return changeFirst(module, "tile.splat", [](Operation *op) {
    auto loop = op->getParentOfType<scf::ForOp>();
    if (!loop || op->getOperand(0) != loop.getInductionVar())
      return false;
    op->setOperand(0, loop.getLowerBound());
    return true;
  });
}

/// Has a carried number of a loop stay what it is, as if its step were 0.
static bool loseStep(ModuleOp module) {
  return changeFirst(module, "scf.for", [](Operation *op) {
    auto loop = cast<scf::ForOp>(op);
    for (auto [argument, yielded] :
         llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValuesMutable().value()))
      if (argument.getType().isInteger(64)) {
        yielded.set(argument);
        return true;
      }
    return false;
  });
}

/// Begins a product with 0 in place of the sum before.
static bool loseSum(ModuleOp module) {
  return changeFirst(module, "tile.dot", [](Operation *op) {
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op->getResultTypes().front());
    op->setOperand(2, arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type)));
    return true;
  });
}

/// Leaves the iterations out that masks are for: those of the second of two loops.
static bool loseRest(ModuleOp module) {
  unsigned number = 0;
  return changeFirst(module, "scf.for", [&](Operation *op) {
    if (++number < 2)
      return false;
    op->setOperand(1, op->getOperand(0));
    return true;
  });
}

/// Gives the last call of a shared nest a buffer of the first call's.
static bool mixBuffers(ModuleOp module) {
  Operation *first = nullptr, *last = nullptr;
  changeFirst(module, "llvm.call", [&](Operation *op) {
    auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee");
    if (callee && callee.getValue().contains(".nest")) {
      first = first ? first : op;
      last = op;
    }
    return false;
  });
  for (unsigned index = last ? last->getNumOperands() : 0; index-- > 0;)
    if (isa<LLVM::LLVMPointerType>(last->getOperand(index).getType()) &&
        last->getOperand(index) != first->getOperand(index)) {
      last->setOperand(index, first->getOperand(index));
      return true;
    }
  return false;
}

/// Takes the larger of two bounds for one that holds for both.
static bool widenBound(ModuleOp module) {
  return changeFirst(module, "arith.minsi", [](Operation *op) {
    if (!isa<RankedTensorType>(op->getResultTypes().front()))
      return false;
    OpBuilder builder(op);
    op->replaceAllUsesWith(
        arith::MaxSIOp::create(builder, op->getLoc(), op->getOperand(0), op->getOperand(1)));
    op->erase();
    return true;
  });
}

/// Loses the value of masked elements: they are 0.
static bool loseOther(ModuleOp module) {
  return changeFirst(module, "tile.load", [](Operation *op) {
    Value other = op->getOperand(op->getNumOperands() - 1);
    if (op->getNumOperands() < 3)
      return false;
    OpBuilder builder(op);
    op->setOperand(
        op->getNumOperands() - 1,
        arith::ConstantOp::create(builder, op->getLoc(),
                                  cast<TypedAttr>(builder.getZeroAttr(other.getType()))));
    return true;
  });
}

/// Reads the slot of a ring that the copies of the same iteration are written to.
static bool readOtherSlot(ModuleOp module) {
  Value written;
  return changeFirst(module, "simt.slot", [&](Operation *op) {
    bool isWritten = llvm::any_of(op->getUsers(), [](Operation *user) {
      return user->getName().getStringRef() == "simt.async_copy";
    });
    Value slot = op->getOperand(1);
    if (isWritten && isa<BlockArgument>(slot))
      written = slot;
    if (isWritten || !written || written == slot || written.getParentBlock() != op->getBlock())
      return false;
    op->setOperand(1, written);
    return true;
  });
}

/// Waits for fewer copies than are read behind the wait.
static bool shortenWait(ModuleOp module) {
  return changeFirst(module, "simt.async_wait", [](Operation *op) {
    if (!op->getParentOfType<scf::ForOp>())
      return false;
    for (NamedAttribute attribute : op->getAttrs())
      if (auto count = dyn_cast<IntegerAttr>(attribute.getValue())) {
        op->setAttr(attribute.getName(), IntegerAttr::get(count.getType(), count.getInt() + 1));
        return true;
      }
    return false;
  });
}

static bool eraseBarrier(ModuleOp module) {
  return changeFirst(module, "simt.barrier", [](Operation *op) {
    op->erase();
    return true;
  });
}

namespace {
struct SeededBug {
  StringLiteral name, pass;
  bool (*seed)(ModuleOp);
};
} // namespace

static constexpr SeededBug kBugs[] = {
    {"mask-off-by-one", "combine-ops", loosenMask},
    {"swapped-difference", "canonicalize", swapDifference},
    {"merged-loads", "cse", mergeLoads},
    {"hoisted-index", "loop-invariant-code-motion", hoistIndex},
    {"lost-step", "raise-pointers", loseStep},
    {"lost-sum", "merge-products", loseSum},
    {"lost-rest", "split-loops-by-mask", loseRest},
    {"mixed-buffers", "share-nests", mixBuffers},
    {"swapped-lowered", "clean-lowered", swapDifference},
    {"wide-bound", "merge-comparisons", widenBound},
    {"lost-other", "coalesce-accesses", loseOther},
    {"other-slot", "pipeline-loops", readOtherSlot},
    {"short-wait", "pipeline-loops", shortenWait},
    {"missing-barrier", "insert-barriers", eraseBarrier},
    {"loose-box", "expand-descriptors", loosenMask},
    {"swapped-vectors", "lower-simd", swapDifference},
};

//===-- Where they are put
//----------------------------------------------------------------------------------===//

/// Runs the passes with a bug behind the first run of its pass that has a place for it: in what
/// dumps show of the pass, and not where it is left out.
static bool runSeeded(const SeededBug &bug, ModuleOp module, const PassRunOptions &options,
                      function_ref<bool(const PassRunOptions &)> run) {
  bool isSeeded = false;
  PassRunOptions seeded = options;
  seeded.afterPass = [&](unsigned number, const Pass &pass) {
    if (!isSeeded && pass.getArgument() == bug.pass)
      isSeeded = bug.seed(module);
    if (options.afterPass)
      options.afterPass(number, pass);
  };
  return run(seeded);
}

extern "C" {
bool __real__ZN2tw9runPassesERN4mlir11PassManagerENS0_8ModuleOpERSt6vectorINS_10DiagnosticESaIS5_EERKNS_14PassRunOptionsE(
    PassManager &, ModuleOp, std::vector<tw::Diagnostic> &, const PassRunOptions &);

/// Takes the place of `tw::runPasses`; the environment variable SEEDED_BUG names the bug.
bool __wrap__ZN2tw9runPassesERN4mlir11PassManagerENS0_8ModuleOpERSt6vectorINS_10DiagnosticESaIS5_EERKNS_14PassRunOptionsE(
    PassManager &pm, ModuleOp module, std::vector<tw::Diagnostic> &diagnostics,
    const PassRunOptions &options) {
  auto run = [&](const PassRunOptions &chosen) {
    return __real__ZN2tw9runPassesERN4mlir11PassManagerENS0_8ModuleOpERSt6vectorINS_10DiagnosticESaIS5_EERKNS_14PassRunOptionsE(
        pm, module, diagnostics, chosen);
  };
  const char *name = std::getenv("SEEDED_BUG");
  for (const SeededBug &bug : kBugs)
    if (name && bug.name == name)
      return runSeeded(bug, module, options, run);
  return run(options);
}
}
