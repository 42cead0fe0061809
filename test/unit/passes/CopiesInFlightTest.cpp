// Copies in flight: random kernels are executed beside the counts, which never let a wait leave a
// copy incomplete that it is for, and beside the verifier, which finds every access of a slot into
// which a copy is in flight; and loops beside each other do not share their counts.
#include "passes/analysis/CopiesInFlight.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/DrawnSeed.h"
#include "test/unit/passes/TileContext.h"
#include "llvm/ADT/TypeSwitch.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tw;
using namespace tw::simt;
using namespace mlir;

namespace {
/// A kernel as text: copies, commits and waits in random loops and branches.
class Programs {
public:
  explicit Programs(unsigned seed) : random(seed) {}
  virtual ~Programs() = default;
  virtual std::string make() { return header() + block(3) + "return\n}\n"; }
  unsigned pick(unsigned count) { return random() % count; }
  static std::string header() {
    return "func.func @f(%from: !llvm.ptr<1>, %to: !llvm.ptr<3>, %c: i1, %n: index, %w: i32, "
           "%pitch: i64) {\n"
           "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n";
  }
  static std::string copies(unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += "simt.global_to_shared %from, %to, 16 : !llvm.ptr<1>, !llvm.ptr<3>\n";
    return text;
  }
  static std::string arrayCopy() {
    return "simt.copy_array %from, %to of %w x %w pitch %pitch box 8 x 8 of 2 pad 0 every "
           "0 : "
           "!llvm.ptr<1>, !llvm.ptr<3>\n";
  }
  static std::string loop(const std::string &body) {
    static unsigned number = 0;
    return "scf.for %i" + std::to_string(number++) + " = %zero to %n step %one {\n" + body + "}\n";
  }

protected:
  virtual std::string someCopies(unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += pick(2) ? copies(1) : arrayCopy();
    return text;
  }
  virtual std::string access() { return ""; }
  std::string block(unsigned depth) {
    std::string text;
    for (unsigned i = 0, count = 1 + pick(5); i < count; ++i)
      text += statement(depth);
    return text;
  }
  std::string statement(unsigned depth) {
    switch (pick(depth ? 7 : 5)) {
    case 0:
      return someCopies(1 + pick(3));
    case 1:
      return someCopies(pick(3)) + "simt.async_commit\n";
    case 2:
      return "simt.async_wait " + std::to_string(pick(4)) + "\n";
    case 3:
      return "simt.async_commit\n";
    case 4:
      return access();
    case 5:
      return loop(block(depth - 1));
    default:
      return "scf.if %c {\n" + block(depth - 1) + (pick(2) ? "} else {\n" + block(depth - 1) : "") +
             "}\n";
    }
  }
  std::mt19937 random;
};

/// Before lowering: copies into the slots of a ring, and reads of them.
class SlotPrograms : public Programs {
public:
  using Programs::Programs;
  std::string make() override {
    std::string text =
        "#line = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = []>\n"
        "#flat = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>\n"
        "func.func @f(%from: tensor<32x!tile.ptr<f32>, #line>, %c: i1, %n: index) {\n"
        "%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
        "%ring = simt.alloc_shared \"ring\" slots 3 : " +
        buffer();
    for (unsigned i = 0; i < kSlots; ++i) {
      std::string number = std::to_string(i);
      text += "%number" + number + " = arith.constant " + number + " : i32\n%slot" + number +
              " = simt.slot %ring[%number" + number + "] : " + buffer();
    }
    return text + block(3) + (pick(2) ? "simt.async_wait 0\n" : "") + "return\n}\n";
  }

private:
  static constexpr unsigned kSlots = 3;
  static std::string buffer() { return "!simt.shared<[32], f32, #flat>\n"; }
  std::string slot() { return "%slot" + std::to_string(pick(kSlots)); }
  std::string someCopies(unsigned count) override {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += "simt.async_copy %from, " + slot() +
              " pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, " + buffer();
    return text;
  }
  std::string access() override {
    static unsigned number = 0;
    return "%x" + std::to_string(number++) + " = simt.load_shared " + slot() +
           " : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>\n";
  }
};

/// Executes a kernel whose loops and branches go where chance says.
struct Path {
  std::mt19937 &random;

  explicit Path(std::mt19937 &random) : random(random) {}
  virtual ~Path() = default;
  void run(Block &block) {
    for (Operation &op : block)
      run(&op);
  }
  void run(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](scf::ForOp loop) {
          for (unsigned i = random() % 4; i > 0; --i)
            run(*loop.getBody());
        })
        .Case([&](scf::IfOp branch) {
          if (random() % 2)
            run(*branch.thenBlock());
          else if (branch.elseBlock())
            run(*branch.elseBlock());
        })
        .Default([&](Operation *other) { execute(other); });
  }
  virtual void execute(Operation *op) = 0;
};

struct Execution : Path {
  const CopiesInFlight &copies;
  CopyCounts open = {};
  std::vector<CopyCounts> groups = {}; // the copies of each, newest first

  Execution(const CopiesInFlight &copies, std::mt19937 &random) : Path(random), copies(copies) {}
  void execute(Operation *op) override {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](GlobalToSharedOp) { ++open.ofLanes; })
        .Case([&](CopyArrayOp) { ++open.ofArrays; })
        .Case([&](AsyncCommitOp) { groups.insert(groups.begin(), std::exchange(open, {})); })
        .Case([&](AsyncWaitOp wait) { check(wait); });
  }
  void check(AsyncWaitOp wait) {
    if (groups.size() <= wait.getPending())
      return; // for no group
    CopyCounts started = open;
    for (unsigned group = 0; group < wait.getPending(); ++group) {
      started.ofLanes += groups[group].ofLanes;
      started.ofArrays += groups[group].ofArrays;
    }
    EXPECT_LE(copies.startedAfter(wait).ofLanes, started.ofLanes);
    EXPECT_LE(copies.startedAfter(wait).ofArrays, started.ofArrays);
  }
};

/// Finds accesses of slots into which a copy is in flight.
struct SlotExecution : Path {
  std::set<Operation *> &early;
  std::vector<Value> open = {};
  std::vector<std::vector<Value>> groups = {}; // newest first

  SlotExecution(std::set<Operation *> &early, std::mt19937 &random) : Path(random), early(early) {}
  void execute(Operation *op) override {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](AsyncCopyOp copy) {
          access(op, copy.getBuffer());
          open.push_back(copy.getBuffer());
        })
        .Case([&](LoadSharedOp load) { access(op, load.getBuffer()); })
        .Case([&](func::ReturnOp) {
          bool isAny = !open.empty();
          for (const std::vector<Value> &group : groups)
            isAny |= !group.empty();
          if (isAny)
            early.insert(op);
        })
        .Case([&](AsyncCommitOp) { groups.insert(groups.begin(), std::exchange(open, {})); })
        .Case([&](AsyncWaitOp wait) {
          groups.resize(std::min<size_t>(groups.size(), wait.getPending()));
        });
  }
  void access(Operation *op, Value slot) {
    bool isInFlight = llvm::is_contained(open, slot);
    for (const std::vector<Value> &group : groups)
      isInFlight |= llvm::is_contained(group, slot);
    if (isInFlight)
      early.insert(op);
  }
};

SmallVector<unsigned> countsOf(const std::string &body) {
  auto context = test::makeTileContext<LLVM::LLVMDialect>();
  auto module =
      parseSourceString<ModuleOp>(Programs::header() + body + "return\n}\n", context.get());
  SmallVector<unsigned> counts;
  CopiesInFlight copies(*module->getOps<func::FuncOp>().begin());
  module->walk([&](AsyncWaitOp wait) { counts.push_back(copies.startedAfter(wait).ofLanes); });
  return counts;
}
} // namespace

TEST(CopiesInFlight, NeverLeavesAnAwaitedCopyIncomplete) {
  unsigned seed = test::drawnSeed();
  auto context = test::makeTileContext<LLVM::LLVMDialect>();
  for (unsigned round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    Programs programs(seed + round);
    std::string text = programs.make();
    auto module = parseSourceString<ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
    CopiesInFlight copies(kernel);
    std::mt19937 random(seed + round);
    for (unsigned execution = 0; execution < 20; ++execution)
      Execution(copies, random).run(kernel.getBody().front());
    if (testing::Test::HasFailure())
      ADD_FAILURE() << text;
  }
}

TEST(CopiesInFlight, EveryAccessOfWhatIsInFlightIsAnError) {
  unsigned seed = test::drawnSeed(), numRight = 0, numWrong = 0;
  auto context = test::makeTileContext<LLVM::LLVMDialect>();
  for (unsigned round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    std::string text = SlotPrograms(seed + round).make();
    auto module = parseSourceString<ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
    SetVector<Operation *> reported = reachedInFlight(kernel);
    ++(reported.empty() ? numRight : numWrong);
    std::set<Operation *> early;
    std::mt19937 random(seed + round);
    for (unsigned execution = 0; execution < 20; ++execution)
      SlotExecution(early, random).run(kernel.getBody().front());
    for (Operation *op : early)
      EXPECT_TRUE(reported.contains(op)) << text;
  }
  EXPECT_GT(numRight, 100u);
  EXPECT_GT(numWrong, 100u);
}

/// A loop that copies `distance` iterations ahead into a ring of `slots`, waiting for all groups
/// but `pending`; within another loop if `isInner`.
static std::string ringLoop(int slots, int distance, int pending, bool isInner) {
  auto number = [](int value) { return "%n" + std::to_string(value); };
  const std::string tile = "tensor<32x!tile.ptr<f32>, #line>";
  const std::string buffer = "!simt.shared<[32], f32, #flat>\n";
  auto copy = [&](const std::string &slot) {
    return "simt.async_copy %from, " + slot + " pieces 1 along 0 : " + tile + ", " + buffer +
           "simt.async_commit\n";
  };
  auto next = [&](const std::string &from, const std::string &to) {
    return to + "_up = arith.addi " + from + ", %n1 : i32\n" + to + "_end = arith.cmpi eq, " + to +
           "_up, %slots : i32\n" + to + " = arith.select " + to + "_end, %n0, " + to +
           "_up : i32\n";
  };
  std::string text =
      "#line = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = []>\n"
      "#flat = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>\n"
      "func.func @f(%from: " +
      tile + ", %n: i32) {\n%slots = arith.constant " + std::to_string(slots) + " : i32\n";
  for (int i = 0; i < slots; ++i)
    text += number(i) + " = arith.constant " + std::to_string(i) + " : i32\n";
  text += "%ring = simt.alloc_shared \"ring\" slots " + std::to_string(slots) + " : " + buffer;
  text += isInner ? "scf.for %outer = %n0 to %n step %n1 : i32 {\n" : "";
  for (int i = 0; i < distance; ++i)
    text += "%ahead" + std::to_string(i) + " = simt.slot %ring[" + number(i) + "] : " + buffer +
            copy("%ahead" + std::to_string(i));
  text += "%end:2 = scf.for %i = %n0 to %n step %n1 iter_args(%read = %n0, %written = " +
          number(distance) + ") -> (i32, i32) : i32 {\nsimt.async_wait " + std::to_string(pending) +
          "\n%to = simt.slot %ring[%written] phase " + std::to_string(distance) + " : " + buffer +
          copy("%to") + "%at = simt.slot %ring[%read] phase 0 : " + buffer +
          "%x = simt.load_shared %at : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>\n" +
          next("%read", "%read_next") + next("%written", "%written_next") +
          "scf.yield %read_next, %written_next : i32, i32\n}\nsimt.async_wait 0\n";
  return text + (isInner ? "}\n" : "") + "return\n}\n";
}

TEST(CopiesInFlight, ARingIsRightWithItsWaitAndWrongWithAWeakerOne) {
  auto context = test::makeTileContext<LLVM::LLVMDialect>();
  for (int slots = 2; slots <= 5; ++slots)
    for (int distance = 1; distance < slots; ++distance)
      for (int pending = 0; pending <= distance; ++pending)
        for (bool isInner : {false, true}) {
          std::string text = ringLoop(slots, distance, pending, isInner);
          auto module = parseSourceString<ModuleOp>(text, context.get());
          ASSERT_TRUE(module) << text;
          EXPECT_EQ(reachedInFlight(*module).empty(), pending < distance) << text;
        }
}

TEST(CopiesInFlight, LoopsDoNotShareTheWorseCount) {
  auto pipeline = [](unsigned count) {
    std::string group = Programs::copies(count) + "simt.async_commit\n";
    return group + group + Programs::loop("simt.async_wait 1\n" + group) + "simt.async_wait 0\n";
  };
  EXPECT_EQ(countsOf(pipeline(4) + pipeline(1)), (SmallVector<unsigned>{4, 0, 1, 0}));
}

TEST(CopiesInFlight, CopiesOfOneSideOfABranchDoNotCount) {
  std::string commit = "simt.async_commit\n";
  EXPECT_EQ(countsOf(Programs::copies(1) + commit + "scf.if %c {\n" + Programs::copies(2) + "}\n" +
                     Programs::copies(1) + commit + "simt.async_wait 1\n"),
            (SmallVector<unsigned>{1}));
}

TEST(CopiesInFlight, CopiesSinceTheLastCommitCount) {
  EXPECT_EQ(countsOf(Programs::copies(3) + "simt.async_commit\n" + Programs::copies(2) +
                     "simt.async_wait 0\n"),
            (SmallVector<unsigned>{2}));
}
