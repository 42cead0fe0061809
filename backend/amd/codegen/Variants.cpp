// The passes of ours around LLVM's for AMD's GPUs: which run, in which order, in which variant.
#include "backend/amd/codegen/Variants.h"
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/codegen/Passes.h"
#include "backend/codegen/ModulePasses.h"
#include "llvm/IR/Module.h"

using namespace tw;
using namespace tw::amd;

static void setCodeObjectVersion(llvm::Module &module) {
  module.setModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", 500);
}

static constexpr tw::ModulePass
    kJoinLoopVectors = {"join-loop-vectors", "loops carry accumulators as vectors",
                        joinLoopVectors},
    kSetVersion = {"set-code-object-version", "code objects are of version 5",
                   setCodeObjectVersion},
    kMarkAtomics = {"mark-atomics", "adding floats to memory is one instruction", markAtomics},
    kExpandDifferences = {"expand-saturating-differences",
                          "saturating differences become a maximum and a difference",
                          expandSaturatingDifferences},
    kSeparateCopies = {"separate-direct-copies",
                       "direct copies do not meet other accesses of shared memory",
                       separateDirectCopies},
    kSerialize = {"serialize-branches", "branches of loops do not hold accumulators twice",
                  serializeBranches},
    kAlternateWaves = {"alternate-waves", "waves of a SIMD take turns at memory and products",
                       alternateWaves},
    kScheduleSteps = {"schedule-steps", "steps of loops start direct copies first", scheduleSteps},
    kStoreBehind = {"store-behind-products", "steps of loops store tiles behind their products",
                    storeBehindProducts},
    kSplitBarriers = {"split-barriers", "waves signal before their last products", splitBarriers},
    kMixHalves = {"mix-halves", "f32 + f16 becomes a fused product with 1", mixHalves},
    kExchangeHalves = {"exchange-halves", "words of halves of others are made by v_perm",
                       exchangeHalves},
    kPreferClauses = {"prefer-clauses", "blocks of many loads have clauses of them", preferClauses},
    kAfterProducts = {"rematerialize-after-large-products",
                      "addresses are rematerialized behind loops that fill the registers",
                      rematerializeAfterLargeProducts},
    kForOccupancy = {"rematerialize-for-occupancy",
                     "addresses are rematerialized behind loops that more waves execute then",
                     rematerializeForOccupancy},
    kBeforeLoops = {"rematerialize-before-loops",
                    "addresses are rematerialized behind loops with products",
                    rematerializeBeforeLoops},
    kInLoops = {"rematerialize-in-loops", "addresses are rematerialized in each iteration of loops",
                rematerializeInLoops},
    kGroupReads = {"group-matrix-reads", "operands are read right before their products",
                   groupMatrixReads},
    kShareOffsets = {"share-offsets", "offsets that differ by constants are one value",
                     shareOffsets};

static constexpr tw::ModulePass kBeforeLlvm[] = {kSinkOffsets};
// Where code has 256 registers and no more, some of it spills with such vectors alone.
static constexpr tw::ModulePass kBeforeLlvmWithAccumulation[] = {kJoinLoopVectors, kSinkOffsets};

static constexpr PlacedPass kInCodeGenerator[] = {
    {"repeat-conditions", "branches compare scalars themselves",
     "AMDGPU DAG->DAG Pattern Instruction Selection", createRepeatConditions},
    {"narrow-fences", "barriers wait for no copy that goes on beyond them",
     "AMDGPU DAG->DAG Pattern Instruction Selection", createNarrowFences},
    {"sink-copy-offsets", "offsets of asynchronous copies are widened beside them",
     "AMDGPU DAG->DAG Pattern Instruction Selection", createSinkCopyOffsets},
    {"join-scalar-words", "words of buffer resources are copied in pairs",
     "Finalize ISel and expand pseudo-instructions", createJoinScalarWords},
    {"fold-zero-sums", "products that add to nothing add to the constant 0",
     "Finalize ISel and expand pseudo-instructions", createFoldZeroSums},
    {"limit-scheduler", "many loads leave registers for vectors of neighbours",
     "Machine Instruction Scheduler", createLimitScheduler},
    {"unlimit-allocation", "registers are allocated without the scheduler's limit",
     "Greedy Register Allocator", createUnlimitAllocation},
    {"hoist-scalar-copies", "loops copy no constant words of resources",
     "SI insert wait instructions", createHoistScalarCopies},
    {"branch-on-carry", "loops count down by one instruction",
     "Insert required mode register values", createBranchOnCarry},
    {"merge-waits", "loads that come back together are waited for once",
     "Insert required mode register values", createMergeWaits},
};

//===-- With accumulation registers. Left alone, LLVM keeps accumulators there and moves them when
//===-- anything else uses them. The others do, up to 256.

static constexpr tw::ModulePass kPlain[] = {
    kSetVersion,     kSerialize,     kMarkAtomics, kExpandDifferences, kSeparateCopies,
    kAlternateWaves, kScheduleSteps, kStoreBehind, kMixHalves,         kForOccupancy};
static constexpr FunctionAttribute kNoAccumulation[] = {{"amdgpu-agpr-alloc", "0"}};
static constexpr CodeVariant kWithAccumulation[] = {
    {"vector-registers", kPlain, kNoAccumulation, {}},
    {"accumulation-registers", kPlain, {}, {}},
};

//===-- Without: fewer registers at a higher and higher cost in time.

static constexpr tw::ModulePass kFirst[] = {kSetVersion,        kSerialize,      kMarkAtomics,
                                            kExpandDifferences, kSeparateCopies, kScheduleSteps,
                                            kSplitBarriers,     kMixHalves,      kExchangeHalves,
                                            kPreferClauses,     kAfterProducts};
static constexpr tw::ModulePass kRematerialized[] = {
    kSetVersion, kSerialize,      kMarkAtomics,  kExpandDifferences, kSeparateCopies,
    kMixHalves,  kExchangeHalves, kShareOffsets, kBeforeLoops,       kGroupReads};
static constexpr tw::ModulePass kRematerializedInLoops[] = {
    kSetVersion, kSerialize,      kMarkAtomics,  kExpandDifferences, kSeparateCopies,
    kMixHalves,  kExchangeHalves, kShareOffsets, kInLoops,           kGroupReads};
static constexpr FunctionAttribute kFewestRegisters[] = {
    {"amdgpu-sched-strategy", "iterative-minreg"}};
// It would take shared offsets apart again.
static constexpr llvm::StringLiteral kMotionOutOfLoops[] = {"Loop Invariant Code Motion"};
static constexpr CodeVariant kWithoutAccumulation[] = {
    {"default", kFirst, {}, {}},
    {"rematerialized", kRematerialized, {}, kMotionOutOfLoops},
    {"rematerialized-in-loops", kRematerializedInLoops, {}, kMotionOutOfLoops},
    {"fewest-registers", kRematerializedInLoops, kFewestRegisters, kMotionOutOfLoops},
};

// For exceptions, instrumentation, calls of C's library, images, variables of debuggers (there are
// lines only), constructors and handles of the host's languages: kernels have none of them.
// Strength reduction is left out by `emitLlvm` but asks for an analysis.
static constexpr llvm::StringLiteral kUnusedPasses[] = {
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Straight line strength reduction",
    "AMDGPU Printf lowering",
    "Lower ctors and dtors for AMDGPU",
    "AMDGPU Image Intrinsic Optimizer",
    "Externalize enqueued block runtime handles",
    "AMDGPU Software lowering of LDS",
    "Lower invoke and unwind, for unwindless code generators",
    "ObjC ARC contraction",
    "Safe Stack instrumentation pass",
    "GCN NSA Reassign",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Fixup Statepoint Caller Saved",
    "Insert fentry calls",
    "Insert XRay ops",
    "Remove Loads Into Fake Uses",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
};

void amd::addPasses(LlvmMachine &machine, const AmdArch &arch) {
  machine.unusedPasses = kUnusedPasses;
  machine.ownPasses = kInCodeGenerator;
  machine.prepare = kBeforeLlvm;
  machine.variants = kWithoutAccumulation;
  if (arch.hasAccumulationRegisters) {
    machine.prepare = kBeforeLlvmWithAccumulation;
    machine.variants = kWithAccumulation;
  }
}
