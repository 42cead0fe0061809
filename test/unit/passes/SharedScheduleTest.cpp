// Offsets and barriers of random kernels: run thread by thread, no two accesses race, every read
// finds what its buffer was written last, and no barrier of straight code could go.
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/unit/DrawnSeed.h"
#include "test/unit/passes/TileContext.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static constexpr unsigned kElements = 128, kNumLayouts = 4;
static constexpr llvm::StringLiteral kAliases = R"(
#l0 = #tile.layout<[128] register = [[64]] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
#l1 = #tile.layout<[128] register = [[64]] lane = [[4], [2], [1], [8], [16]] warp = [[32]]>
#l2 = #tile.layout<[128] register = [[32]] lane = [[1], [2], [4], [8], [16]] warp = [[64]]>
#l3 = #tile.layout<[128] register = [[1], [64], [32]] lane = [[2], [4], [8], [16], [0]] warp = [[0]]>
#flat = #tile.layout<[128] offset = [[1], [2], [4], [8], [16], [32], [64]]>
!buffer = !simt.shared<[128], f64, #flat>
module attributes {simt.num_warps = 2 : i32} {
func.func @kernel(%n: i32, %c: i1, %x0: tensor<128xf64, #l0>, %x1: tensor<128xf64, #l1>,
                  %x2: tensor<128xf64, #l2>, %x3: tensor<128xf64, #l3>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
)";

namespace {
/// Writes random kernels that store to and load from buffers, in loops and branches or without.
struct KernelWriter {
  std::mt19937_64 &random;
  bool isStraight;
  std::string text = kAliases.str();
  unsigned numNames = 0;

  uint64_t below(uint64_t bound) { return random() % bound; }
  std::string name(char kind) { return "%" + std::string(1, kind) + std::to_string(numNames++); }

  void store(const std::string &buffer) {
    std::string layout = std::to_string(below(kNumLayouts));
    text += "simt.store_shared %x" + layout + ", " + buffer + " : tensor<128xf64, #l" + layout +
            ">, !buffer\n";
  }
  void load(const std::string &buffer) {
    text += name('v') + " = simt.load_shared " + buffer + " : !buffer -> tensor<128xf64, #l" +
            std::to_string(below(kNumLayouts)) + ">\n";
  }
  std::string allocate() {
    std::string buffer = name('b');
    text += buffer + " = simt.alloc_shared \"b\" : !buffer\n";
    store(buffer);
    return buffer;
  }
  void nest(unsigned depth, const std::vector<std::string> &scope) {
    if (below(2)) {
      text += "scf.for " + name('i') + " = %zero to %n step %one : i32 {\n";
      block(depth + 1, scope);
    } else {
      text += "scf.if %c {\n";
      block(depth + 1, scope);
      if (below(2)) {
        text += "} else {\n";
        block(depth + 1, scope);
      }
    }
    text += "}\n";
  }
  void block(unsigned depth, std::vector<std::string> scope) {
    for (uint64_t count = 1 + below(6); count > 0; --count) {
      uint64_t kind = below(10);
      if (scope.empty() || kind < 2)
        scope.push_back(allocate());
      else if (kind < 4 && depth < 3 && !isStraight)
        nest(depth, scope);
      else if (kind < 6)
        store(scope[below(scope.size())]);
      else
        load(scope[below(scope.size())]);
    }
    if (isStraight) // all hold data to the end: no memory is shared
      for (const std::string &buffer : scope)
        load(buffer);
  }
  std::string write() {
    block(0, {});
    return text + "return\n}\n}\n";
  }
};

/// One access of eight bytes by a thread, and how many barriers it had passed.
struct Access {
  unsigned thread = 0;
  bool isWrite = false;
  unsigned warpBarriers = 0;
};

/// Runs a scheduled kernel on 64 threads and checks each access against those since the last
/// barrier.
struct TrackedRun {
  explicit TrackedRun(std::mt19937_64 &random, Operation *ignored)
      : random(random), ignored(ignored) {}
  std::mt19937_64 &random;
  Operation *ignored; // a barrier that is left out
  std::map<uint64_t, std::vector<Access>> accesses;
  std::map<uint64_t, Operation *> writer; // whose data the bytes are: a buffer
  unsigned warpBarriers = 0, races = 0, lost = 0;

  void access(AllocSharedOp buffer, Type tile, bool isWrite) {
    const LinearLayout &layout = layoutOf(tile);
    for (unsigned thread = 0; thread < 64; ++thread) {
      unsigned lane = thread % 32, warp = thread / 32;
      if (isWrite &&
          ((lane & layout.freeBits(Place::Lane)) || (warp & layout.freeBits(Place::Warp))))
        continue;
      for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg)
        touch(buffer, *buffer.getOffset() + 8 * layout.element(reg, lane, warp), thread, isWrite);
    }
  }
  void touch(AllocSharedOp buffer, uint64_t byte, unsigned thread, bool isWrite) {
    std::vector<Access> &earlier = accesses[byte];
    for (const Access &other : earlier) {
      bool isOrdered = other.thread == thread ||
                       (other.thread / 32 == thread / 32 && other.warpBarriers != warpBarriers);
      races += (isWrite || other.isWrite) && !isOrdered;
    }
    earlier.push_back({thread, isWrite, warpBarriers});
    if (isWrite)
      writer[byte] = buffer;
    else
      lost += writer[byte] != buffer.getOperation();
  }
  void run(Block &block) {
    for (Operation &op : block)
      run(&op);
  }
  void run(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (uint64_t count = random() % 4; count > 0; --count)
        run(*loop.getBody());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (random() % 2)
        run(*branch.thenBlock());
      else if (branch.elseBlock())
        run(*branch.elseBlock());
    } else if (auto barrier = dyn_cast<simt::BarrierOp>(op)) {
      if (op == ignored)
        return;
      if (barrier.getWarp())
        ++warpBarriers;
      else
        accesses.clear();
    } else if (auto store = dyn_cast<StoreSharedOp>(op)) {
      access(store.getBuffer().getDefiningOp<AllocSharedOp>(), store.getValue().getType(), true);
    } else if (auto load = dyn_cast<LoadSharedOp>(op)) {
      access(load.getBuffer().getDefiningOp<AllocSharedOp>(), load.getType(), false);
    }
  }
};

class SharedSchedule : public ::testing::Test {
protected:
  unsigned seed = test::drawnSeed();
  std::mt19937_64 random{seed};
  ::testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::unique_ptr<MLIRContext> context = test::makeTileContext();

  void SetUp() override {
    context->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  }
  OwningOpRef<ModuleOp> schedule(const std::string &text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
    PassManager passes(context.get());
    passes.addPass(createAllocateShared());
    passes.addPass(createInsertBarriers());
    if (!module || failed(passes.run(*module)))
      return nullptr;
    return module;
  }
  TrackedRun execute(ModuleOp module, Operation *ignored = nullptr) {
    TrackedRun run(random, ignored);
    run.run((*module.getOps<func::FuncOp>().begin()).getBody().front());
    return run;
  }
};
} // namespace

TEST_F(SharedSchedule, HasNoRacesAndKeepsEveryBuffer) {
  unsigned numBarriers = 0, numShared = 0;
  for (unsigned round = 0; round < 150; ++round) {
    std::string text = KernelWriter{random, false}.write();
    OwningOpRef<ModuleOp> module = schedule(text);
    ASSERT_TRUE(module) << text;
    module->walk([&](simt::BarrierOp) { ++numBarriers; });
    int64_t bytes = (*module)->getAttrOfType<IntegerAttr>(kSharedBytes).getInt();
    auto buffers = (*module)->getAttrOfType<ArrayAttr>(kSharedBuffers);
    numShared += bytes < int64_t(buffers.size() * kElements * 8);
    for (unsigned path = 0; path < 6; ++path) {
      TrackedRun run = execute(*module);
      ASSERT_EQ(run.races, 0u) << text;
      ASSERT_EQ(run.lost, 0u) << text;
    }
  }
  EXPECT_GT(numBarriers, 100u);
  EXPECT_GT(numShared, 10u);
}

TEST_F(SharedSchedule, NeedsEachBarrierOfStraightCode) {
  unsigned numBarriers = 0;
  for (unsigned round = 0; round < 150; ++round) {
    std::string text = KernelWriter{random, true}.write();
    OwningOpRef<ModuleOp> module = schedule(text);
    ASSERT_TRUE(module) << text;
    ASSERT_EQ(execute(*module).races, 0u) << text;
    SmallVector<Operation *> barriers;
    module->walk([&](simt::BarrierOp barrier) { barriers.push_back(barrier); });
    for (Operation *barrier : barriers)
      EXPECT_GT(execute(*module, barrier).races, 0u) << text;
    numBarriers += barriers.size();
  }
  EXPECT_GT(numBarriers, 100u);
}
