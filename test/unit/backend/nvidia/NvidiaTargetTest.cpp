// The NVIDIA target: its GPUs, symbols, prints and assertions, line tables and resources.
#include "backend/TargetKind.h"
#include "backend/inspect/Inspection.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/nvidia/NvidiaKernel.h"

using namespace tw;
using namespace tw::test;

TEST(NvidiaArchs, UnknownOnesAreRefusedWithTheClosest) {
  EXPECT_EQ(makeNvidiaTarget("sm_81"), nullptr);
  EXPECT_EQ(closestName("sm_90", nvidiaArchs()), "sm_90a");
  EXPECT_EQ(closestName("SM100", nvidiaArchs()), "sm_100a");
  EXPECT_EQ(closestName("sm_81", nvidiaArchs()), "sm_80");
}

TEST(NvidiaArchs, EachIsDescribed) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect>();
  for (const NvidiaArch &arch : nvidiaArchTable()) {
    tile::TargetAttr target = describeNvidia(*context, arch);
    EXPECT_EQ(target.getWarpSize(), 32u);
    EXPECT_EQ(target.getSharedBytes(), arch.sharedBytes);
    bool hasFp8 = llvm::any_of(target.getMma(), [](tile::MmaAttr mma) {
      return llvm::isa<mlir::Float8E4M3FNType>(mma.getA());
    });
    EXPECT_EQ(hasFp8, arch.number == 89 || arch.number >= 120) << arch.name.str();
    EXPECT_EQ(makeNvidiaTarget(arch.name.str())->name(), "nvidia:" + arch.name.str());
  }
}

TEST(NvidiaSymbols, AreValidInPtx) {
  std::unique_ptr<Target> target = makeNvidiaTarget("sm_80");
  EXPECT_EQ(target->symbolOf("add_kernel"), "add_kernel");
  EXPECT_EQ(target->symbolOf("vprintf"), "vprintf$");
  EXPECT_EQ(target->symbolOf("caf\xc3\xa9"), "caf$c3$a9");
}

TEST(NvidiaDebug, PrintsHaveTheFormatOfOtherDevices) {
  std::string text = R"(
    %v = simt.global_load %p : !llvm.ptr<1> -> f16
    simt.print "100% x:", %v : f16 at %n mask %m {hex = false, is_signed = true, shape = array<i64: 4, 8>}
    simt.print "b:", %m : i1 at %n mask %m {hex = false, is_signed = false, shape = array<i64>}
    simt.print "h", %n : i32 at %n mask %m {hex = true, is_signed = true, shape = array<i64: 32>}
    simt.print "p", %p : !llvm.ptr<1> at %n mask %m {hex = false, is_signed = true, shape = array<i64: 2>}
    simt.print "only" at %n mask %m {hex = false, is_signed = true, shape = array<i64>})";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "") << result.ptx();
  EXPECT_EQ(countOf(result.ptx(), "vprintf,"), 5) << result.ptx();
  EXPECT_EQ(countOf(result.ptx(), ".extern .func"), 1);
  for (const std::string &arch : nvidiaArchs())
    expectAssembles(text, arch);
}

TEST(NvidiaDebug, AssertionsCallTheDriver) {
  std::string text = R"(
    simt.assert %m, "n is 50%" at %n {shape = array<i64: 4, 8>})";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(countOf(result.ptx(), "__assertfail,"), 1) << result.ptx();
  expectAssembles(text, "sm_80");
}

TEST(NvidiaLines, NameTheUsersFileWithoutItsDirectory) {
  std::string text = R"(
    %v = simt.global_load %p : !llvm.ptr<1> -> f32 loc("/somewhere/kernel.py":12:5)
    %w = arith.addf %v, %v : f32 loc(callsite("/other/lib.py":40:3 at "/somewhere/kernel.py":14:7))
    simt.global_store %q, %w : !llvm.ptr<1>, f32 loc("/somewhere/kernel.py":16:5))";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  llvm::StringRef ptx = result.ptx();
  EXPECT_TRUE(ptx.contains(".file\t1 \"kernel.py\", 1, 0")) << result.ptx();
  EXPECT_TRUE(ptx.contains("\"lib.py\", 1, 0")) << result.ptx();
  EXPECT_TRUE(ptx.contains(".loc\t1 12 5")) << result.ptx();
  EXPECT_TRUE(ptx.contains(".loc\t2 40 3")) << result.ptx();
  EXPECT_TRUE(ptx.contains(".loc\t1 16 5")) << result.ptx();
  EXPECT_FALSE(ptx.contains("somewhere")) << result.ptx();
  expectAssembles(text, "sm_80");
}

TEST(NvidiaCompile, IsDeterministic) {
  std::string text =
      "simt.barrier\n%t = simt.thread_id\nsimt.global_store %q, %t : !llvm.ptr<1>, i32";
  EXPECT_EQ(compileNvidia(text).ptx(), compileNvidia(text).ptx());
}

TEST(NvidiaCompile, RejectedCodeIsAnError) {
  std::string bad = R"(llvm.inline_asm has_side_effects "no_such_instruction;", "" : () -> ())";
  NvidiaResult result = compileNvidia(bad, "sm_80", /*assembles=*/true);
  EXPECT_NE(result.error.find("no_such_instruction"), std::string::npos) << result.error;
}

TEST(NvidiaCompile, UnselectableCodeIsAnError) {
  NvidiaResult result = compileNvidia(R"(llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ())");
  EXPECT_NE(result.error, "");
  EXPECT_EQ(compileNvidia("simt.barrier").error, "");
}

TEST(NvidiaResources, GarbageIsNotRead) {
  Artifact artifact;
  artifact.assembled = "garbage";
  nvidia::readCubin("8 bytes spill stores, 12 bytes spill loads", artifact);
  EXPECT_EQ(artifact.codeBytes, 0u);
  EXPECT_EQ(artifact.resources["spill_bytes"], 20);
  EXPECT_TRUE(nvidia::findRoutines("garbage").empty());
}

TEST(NvidiaStages, AMissingStageListsThoseOfTheTarget) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @k() { return }", context.get());
  std::vector<Diagnostic> diagnostics;
  std::string text;
  EXPECT_FALSE(inspectModule(*module, *makeNvidiaTarget("sm_80"), {}, "asm", text, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].message, "there is no stage `asm` on target nvidia:sm_80");
  EXPECT_NE(diagnostics[0].hint.find("ptx, cubin, resources"), std::string::npos);
}

TEST(NvidiaStages, TooManyWarpsAreRefused) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  for (int numWarps : {0, 3, 64}) {
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>("func.func @k() { return }", context.get());
    CompileOptions options;
    options.numWarps = numWarps;
    std::vector<Diagnostic> diagnostics;
    Artifact artifact;
    EXPECT_FALSE(
        compileModule(*module, *makeNvidiaTarget("sm_80"), options, artifact, diagnostics));
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_EQ(diagnostics[0].code, Code::TooManyWarps);
  }
}

TEST(NvidiaStages, LimitsOfRegistersThatCannotBeKeptAreRefused) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  for (const char *limit : {"0", "-1", "23", "256", "many", "", "99999999999999999999"}) {
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>("func.func @k() { return }", context.get());
    CompileOptions options;
    options.extra = std::string("verify,maxnreg=") + limit;
    std::vector<Diagnostic> diagnostics;
    Artifact artifact;
    EXPECT_FALSE(
        compileModule(*module, *makeNvidiaTarget("sm_80"), options, artifact, diagnostics));
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_EQ(diagnostics[0].code, Code::RegisterLimit) << limit;
  }
}
