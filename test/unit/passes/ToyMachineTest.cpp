// The SIMT passes know a machine by its description alone: the made-up one of test/toy64, found by
// its name as every target is, computes what the reference device does, with copies
// that it counts or none.
#include "backend/TargetKind.h"
#include "backend/compile/Stages.h"
#include "ir/RegisterDialects.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/toy64/WarpEvaluator.h"
#include "test/unit/reference/ReferenceHarness.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using namespace tw::test;
using llvm::formatv;

namespace {
/// Lines that define %name: pointers to a tile of rows x columns elements, `stride` apart.
std::string tileOf(const char *name, const char *base, const char *type, int rows, int columns,
                   int stride) {
  return formatv(R"(
  %{0}_r = tile.arange 0 to {3} : tensor<{3}xi32>
  %{0}_rs = tile.expand_dims %{0}_r axis 1 : tensor<{3}xi32> -> tensor<{3}x1xi32>
  %{0}_s = arith.constant dense<{5}> : tensor<{3}x1xi32>
  %{0}_ro = arith.muli %{0}_rs, %{0}_s : tensor<{3}x1xi32>
  %{0}_rb = tile.broadcast %{0}_ro : tensor<{3}x1xi32> -> tensor<{3}x{4}xi32>
  %{0}_c = tile.arange 0 to {4} : tensor<{4}xi32>
  %{0}_cs = tile.expand_dims %{0}_c axis 0 : tensor<{4}xi32> -> tensor<1x{4}xi32>
  %{0}_cb = tile.broadcast %{0}_cs : tensor<1x{4}xi32> -> tensor<{3}x{4}xi32>
  %{0}_o = arith.addi %{0}_rb, %{0}_cb : tensor<{3}x{4}xi32>
  %{0}_p = tile.splat {1} : !tile.ptr<{2}> -> tensor<{3}x{4}x!tile.ptr<{2}>>
  %{0} = tile.addptr %{0}_p, %{0}_o : tensor<{3}x{4}x!tile.ptr<{2}>>, tensor<{3}x{4}xi32>)",
                 name, base, type, rows, columns, stride)
      .str();
}

std::string lineOf(const char *name, const char *base, const char *type, int count) {
  return formatv(R"(
  %{0}_i = tile.arange 0 to {3} : tensor<{3}xi32>
  %{0}_p = tile.splat {1} : !tile.ptr<{2}> -> tensor<{3}x!tile.ptr<{2}>>
  %{0} = tile.addptr %{0}_p, %{0}_i : tensor<{3}x!tile.ptr<{2}>>, tensor<{3}xi32>)",
                 name, base, type, count)
      .str();
}

struct ToyMachine : testing::Test {
  ToyMachine() {
    mlir::DialectRegistry registry;
    registerTileDialects(registry);
    registry.insert<simt::SimtDialect, mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  static std::unique_ptr<Target> targetOf(const char *name) {
    RuntimeError error;
    return std::move(makeTarget(targetKinds(), name, /*settings=*/{}, error)->target);
  }

  /// The text's module after all passes of the target; null when one fails.
  mlir::OwningOpRef<mlir::ModuleOp> lower(const std::string &text, unsigned numWarps,
                                          unsigned numStages, const char *name) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    CompileOptions options;
    options.numWarps = int(numWarps);
    options.numStages = int(numStages);
    mlir::PassManager pm(&context);
    StagedPasses passes(pm);
    addAllPasses(passes, *targetOf(name), options);
    if (module && mlir::failed(pm.run(*module)))
      return nullptr;
    return module;
  }

  /// Runs @kernel on a number of warps; what it wrote is in the buffers.
  void run(const std::string &text, std::vector<std::vector<float> *> arguments, unsigned numWarps,
           unsigned numStages, const char *name) {
    auto module = lower(text, numWarps, numStages, name);
    ASSERT_TRUE(module) << text;
    auto kernel = *module->getOps<mlir::LLVM::LLVMFuncOp>().begin();
    machine = std::make_unique<WarpEvaluator>(64 * numWarps, 64);
    for (auto [argument, buffer] : llvm::zip_equal(kernel.getArguments(), arguments)) {
      machine->set(argument, std::bit_cast<uint64_t>(buffer->data()));
      machine->buffers.emplace_back(reinterpret_cast<uint8_t *>(buffer->data()),
                                    buffer->size() * sizeof(float));
    }
    machine->run(kernel.getBody().front());
    ASSERT_EQ(machine->error, "") << text;
  }

  /// The same on the reference device, and on 1 to 4 warps of the machine: equal bits. The last
  /// argument is the result; the others hold small whole numbers, so that no sum is rounded.
  void expectAsReference(const std::string &body, const std::vector<size_t> &sizes,
                         const std::string &type = "f32") {
    std::vector<std::vector<float>> data;
    for (size_t size : sizes)
      data.emplace_back(size);
    for (std::vector<float> &values : data)
      for (float &value : values)
        value = float(int(random() % 9) - 4);
    std::string arguments;
    std::vector<LaunchArgument> launch;
    std::vector<std::vector<float> *> buffers;
    for (auto [number, values] : llvm::enumerate(data)) {
      arguments +=
          formatv("{0}%p{1}: !tile.ptr<f32> {{tile.name = \"p{1}\", tile.divisibility = 16}",
                  number ? ", " : "", number);
      launch.push_back(bufferOf(values));
      buffers.push_back(&values);
    }
    std::string text = "func.func @kernel(" + arguments + ") {" + body + "\n  return\n}";
    std::vector<float> poison(sizes.back(), -77);
    data.back() = poison;
    runExpectingSuccess(text, launch);
    std::vector<float> expected = data.back();
    ASSERT_NE(expected, poison);
    numCopies = numShuffles = 0;
    for (unsigned numWarps : {1, 2, 4})
      for (unsigned numStages : {1, 2, 3})
        for (const char *name : {"toy64", "toy64:counting"}) {
          data.back() = poison;
          run(text, buffers, numWarps, numStages, name);
          ASSERT_EQ(data.back(), expected)
              << numWarps << " warps, " << numStages << " stages, " << name;
          numCopies += machine->numCopies;
          numShuffles += machine->numShuffles;
        }
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::mt19937 random{1};
  std::unique_ptr<WarpEvaluator> machine;
  unsigned numCopies = 0, numShuffles = 0; // of all runs of a kernel
};
} // namespace

TEST_F(ToyMachine, AddsMaskedVectors) {
  expectAsReference(lineOf("a", "%p0", "f32", 512) + lineOf("b", "%p1", "f32", 512) +
                        lineOf("c", "%p2", "f32", 512) + R"(
  %n = arith.constant dense<500> : tensor<512xi32>
  %m = arith.cmpi slt, %a_i, %n : tensor<512xi32>
  %x = tile.load %a mask %m : tensor<512xi1> : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  %y = tile.load %b mask %m : tensor<512xi1> : tensor<512x!tile.ptr<f32>> -> tensor<512xf32>
  %z = arith.addf %x, %y : tensor<512xf32>
  tile.store %c, %z mask %m : tensor<512xi1> : tensor<512x!tile.ptr<f32>>, tensor<512xf32>)",
                    {512, 512, 512});
}

TEST_F(ToyMachine, FoldsRowsAndColumns) {
  for (int axis : {0, 1}) {
    int kept = axis ? 16 : 128;
    expectAsReference(tileOf("a", "%p0", "f32", 16, 128, 128) + lineOf("c", "%p1", "f32", kept) +
                          formatv(R"(
  %x = tile.load %a : tensor<16x128x!tile.ptr<f32>> -> tensor<16x128xf32>
  %z = tile.reduce(%x) axis {0} {{
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tile.yield %s : f32
  } : (tensor<16x128xf32>) -> tensor<{1}xf32>
  tile.store %c, %z : tensor<{1}x!tile.ptr<f32>>, tensor<{1}xf32>)",
                                  axis, kept)
                              .str(),
                      {2048, size_t(kept)});
  }
}

TEST_F(ToyMachine, FoldsInOrder) {
  // Keeps the left one unless it is 0: any two that change places show.
  expectAsReference(tileOf("a", "%p0", "f32", 8, 256, 256) + lineOf("c", "%p1", "f32", 8) + R"(
  %x = tile.load %a : tensor<8x256x!tile.ptr<f32>> -> tensor<8x256xf32>
  %z = tile.reduce(%x) axis 1 {
  ^bb0(%l: f32, %r: f32):
    %two = arith.constant 2.0 : f32
    %d = arith.mulf %l, %two : f32
    %h = arith.subf %d, %l : f32
    %bits = arith.bitcast %h : f32 to i32
    %zero = arith.constant 0 : i32
    %empty = arith.cmpi eq, %bits, %zero : i32
    %s = arith.select %empty, %r, %h : f32
    tile.yield %s : f32
  } : (tensor<8x256xf32>) -> tensor<8xf32>
  tile.store %c, %z : tensor<8x!tile.ptr<f32>>, tensor<8xf32>)",
                    {2048, 8});
}

TEST_F(ToyMachine, ScansFromEitherEnd) {
  for (const char *direction : {"", "reverse "})
    expectAsReference(tileOf("a", "%p0", "f32", 4, 256, 256) +
                          tileOf("c", "%p1", "f32", 4, 256, 256) +
                          formatv(R"(
  %x = tile.load %a : tensor<4x256x!tile.ptr<f32>> -> tensor<4x256xf32>
  %z = tile.scan(%x) axis 1 {0}{{
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tile.yield %s : f32
  } : (tensor<4x256xf32>) -> tensor<4x256xf32>
  tile.store %c, %z : tensor<4x256x!tile.ptr<f32>>, tensor<4x256xf32>)",
                                  direction)
                              .str(),
                      {1024, 1024});
}

TEST_F(ToyMachine, TransposesThroughSharedMemory) {
  expectAsReference(tileOf("a", "%p0", "f32", 64, 32, 32) + tileOf("c", "%p1", "f32", 32, 64, 64) +
                        R"(
  %x = tile.load %a : tensor<64x32x!tile.ptr<f32>> -> tensor<64x32xf32>
  %z = tile.trans %x [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  tile.store %c, %z : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xf32>)",
                    {2048, 2048});
}

TEST_F(ToyMachine, SpreadsWhatItReducedOverRows) {
  expectAsReference(tileOf("a", "%p0", "f32", 32, 64, 64) + tileOf("c", "%p1", "f32", 32, 64, 64) +
                        R"(
  %x = tile.load %a : tensor<32x64x!tile.ptr<f32>> -> tensor<32x64xf32>
  %m = tile.reduce(%x) axis 0 {
  ^bb0(%l: f32, %r: f32):
    %s = arith.maxnumf %l, %r : f32
    tile.yield %s : f32
  } : (tensor<32x64xf32>) -> tensor<64xf32>
  %ms = tile.expand_dims %m axis 0 : tensor<64xf32> -> tensor<1x64xf32>
  %mb = tile.broadcast %ms : tensor<1x64xf32> -> tensor<32x64xf32>
  %z = arith.subf %x, %mb : tensor<32x64xf32>
  tile.store %c, %z : tensor<32x64x!tile.ptr<f32>>, tensor<32x64xf32>)",
                    {2048, 2048});
}

TEST_F(ToyMachine, ConvertsLayoutsBetweenItsLanes) {
  expectAsReference(tileOf("a", "%p0", "f32", 8, 16, 16) + tileOf("c", "%p1", "f32", 16, 8, 8) + R"(
  %x = tile.load %a : tensor<8x16x!tile.ptr<f32>> -> tensor<8x16xf32>
  %z = tile.trans %x [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  tile.store %c, %z : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xf32>)",
                    {128, 128});
  EXPECT_GT(numShuffles, 0u);
}

TEST_F(ToyMachine, ServesLanesInPhasesOfItsOwn) {
  auto module =
      lower("func.func @kernel() {\n  return\n}", /*numWarps=*/1, /*numStages=*/1, "toy64");
  SharedBanks banks = machineOf(*module).banks;
  EXPECT_EQ(banks.phaseOf(SharedUse::Read, 8, 64).span(), llvm::ArrayRef<uint8_t>({1, 2, 20, 40}));
  EXPECT_EQ(banks.phaseOf(SharedUse::Read, 4, 64).span(),
            llvm::ArrayRef<uint8_t>({1, 2, 4, 8, 16}));
  LinearLayout rows = blockedLayout({64, 64}, {1, 2}, {2, 32}, {1, 1}, {1, 0}),
               columns = blockedLayout({64, 64}, {1, 2}, {64, 1}, {1, 1}, {0, 1});
  LinearLayout buffer = conflictFreeLayout(rows, columns, sizeof(float), banks);
  EXPECT_EQ(bankConflicts(rows, buffer, SharedUse::Write, sizeof(float), banks), 1.0);
  EXPECT_EQ(bankConflicts(columns, buffer, SharedUse::Read, sizeof(float), banks), 1.0);
}

TEST_F(ToyMachine, GathersByIndex) {
  expectAsReference(lineOf("a", "%p0", "f32", 256) + lineOf("c", "%p1", "f32", 256) + R"(
  %x = tile.load %a : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %k = arith.constant dense<173> : tensor<256xi32>
  %i = arith.xori %a_i, %k : tensor<256xi32>
  %z = tile.gather %x [%i] axis 0 : tensor<256xf32>, tensor<256xi32> -> tensor<256xf32>
  tile.store %c, %z : tensor<256x!tile.ptr<f32>>, tensor<256xf32>)",
                    {256, 256});
}

/// The product of a [M, K] and b [K, N] in steps of `step` along K.
static std::string productText(int m, int n, int k, int step, bool isHalf) {
  std::string load = isHalf ? R"(
    %x = arith.truncf %xf : tensor<{0}x{2}xf32> to tensor<{0}x{2}xf16>
    %y = arith.truncf %yf : tensor<{2}x{1}xf32> to tensor<{2}x{1}xf16>)"
                            : R"(
    %x = arith.addf %xf, %xf : tensor<{0}x{2}xf32>
    %y = arith.addf %yf, %yf : tensor<{2}x{1}xf32>)";
  return tileOf("a", "%p0", "f32", m, step, k) + tileOf("b", "%p1", "f32", step, n, n) +
         tileOf("c", "%p2", "f32", m, n, n) +
         formatv((R"(
  %zero = arith.constant dense<0.0> : tensor<{0}x{1}xf32>
  %begin = arith.constant 0 : i32
  %end = arith.constant {3} : i32
  %by = arith.constant {2} : i32
  %da = arith.constant dense<{2}> : tensor<{0}x{2}xi32>
  %db = arith.constant dense<{4}> : tensor<{2}x{1}xi32>
  %z:3 = scf.for %i = %begin to %end step %by
      iter_args(%acc = %zero, %pa = %a, %pb = %b)
      -> (tensor<{0}x{1}xf32>, tensor<{0}x{2}x!tile.ptr<f32>>, tensor<{2}x{1}x!tile.ptr<f32>>) : i32 {{
    %xf = tile.load %pa : tensor<{0}x{2}x!tile.ptr<f32>> -> tensor<{0}x{2}xf32>
    %yf = tile.load %pb : tensor<{2}x{1}x!tile.ptr<f32>> -> tensor<{2}x{1}xf32>)" +
                  load + R"(
    %next = tile.dot %x, %y, %acc : tensor<{0}x{2}x{5}>, tensor<{2}x{1}x{5}> -> tensor<{0}x{1}xf32>
    %na = tile.addptr %pa, %da : tensor<{0}x{2}x!tile.ptr<f32>>, tensor<{0}x{2}xi32>
    %nb = tile.addptr %pb, %db : tensor<{2}x{1}x!tile.ptr<f32>>, tensor<{2}x{1}xi32>
    scf.yield %next, %na, %nb : tensor<{0}x{1}xf32>, tensor<{0}x{2}x!tile.ptr<f32>>, tensor<{2}x{1}x!tile.ptr<f32>>
  }
  tile.store %c, %z#0 : tensor<{0}x{1}x!tile.ptr<f32>>, tensor<{0}x{1}xf32>)")
                     .c_str(),
                 m, n, step, k, step * n, isHalf ? "f16" : "f32")
             .str();
}

TEST_F(ToyMachine, MultipliesByItsMatrixInstruction) {
  for (auto [m, n, k, step] : {std::array{32, 32, 64, 16}, {16, 64, 96, 32}, {64, 16, 16, 16}}) {
    expectAsReference(productText(m, n, k, step, true),
                      {size_t(m * k), size_t(k * n), size_t(m * n)});
    EXPECT_GT(machine->numProducts, 0u);
    EXPECT_EQ(numCopies > 0, k > step); // of later iterations, where there are any
  }
}

TEST_F(ToyMachine, MultipliesByScalarsWhereItHasNoInstruction) {
  expectAsReference(productText(16, 32, 32, 16, false), {512, 1024, 512});
  EXPECT_EQ(machine->numProducts, 0u);
}

/// Later iterations' tiles are loaded before the products, and lie in shared memory when they are
/// needed: one global load and one store to a slot per operand and iteration.
TEST_F(ToyMachine, PipelinesThroughRegisters) {
  std::string text =
      "func.func @kernel(%p0: !tile.ptr<f32>, %p1: !tile.ptr<f32>, %p2: !tile.ptr<f32>) {" +
      productText(32, 32, 64, 16, true) + "\n  return\n}";
  std::string remarks;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    remarks += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = lower(text, /*numWarps=*/2, /*numStages=*/2, "toy64");
  ASSERT_TRUE(module);
  EXPECT_NE(remarks.find("the copies of 2 loads run 1 iteration ahead"), std::string::npos)
      << remarks;
  unsigned numLoops = 0;
  module->walk([&](mlir::scf::ForOp loop) {
    ++numLoops;
    // One iteration for each of the two slots.
    unsigned iterations = 1;
    bool seenProduct = false, seenStore = false;
    loop.getBody()->walk([&](mlir::Operation *op) {
      seenProduct |= llvm::isa<simt::MmaFragmentOp>(op);
      if (llvm::isa<simt::GlobalLoadOp>(op)) {
        iterations += seenStore;
        seenProduct &= !seenStore;
        seenStore = false;
        EXPECT_FALSE(seenProduct) << "a load waits for products";
      }
      if (llvm::isa<mlir::LLVM::StoreOp>(op)) {
        EXPECT_TRUE(seenProduct) << "a store to shared memory waits for its load";
        seenStore = true;
      }
    });
    EXPECT_TRUE(seenProduct && seenStore);
    EXPECT_EQ(iterations, 2u);
  });
  EXPECT_EQ(numLoops, 1u);
}
