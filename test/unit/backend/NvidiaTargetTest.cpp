// The NVIDIA target: its GPUs, symbols, prints and assertions, line tables and resources.
#include "backend/TargetKind.h"
#include "backend/inspect/Inspection.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "backend/nvidia/assemble/JitLink.h"
#include "backend/nvidia/assemble/PtxasProgram.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/NvidiaKernel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

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
  if (result.error.empty())
    GTEST_SKIP() << "no assembler of PTX on this machine";
  EXPECT_NE(result.error.find("no_such_instruction"), std::string::npos) << result.error;
}

TEST(NvidiaCompile, UnselectableCodeIsAnError) {
  NvidiaResult result = compileNvidia(R"(llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ())");
  EXPECT_NE(result.error, "");
  EXPECT_EQ(compileNvidia("simt.barrier").error, "");
}

/// Directories of libnvJitLink in the project's Python environment, where `make setup` puts it.
static std::vector<std::string> jitLinkDirectories() {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  fs::path root = fs::path(__FILE__).parent_path() / "../../../.venv/lib";
  for (const fs::directory_entry &python : fs::directory_iterator(root, error))
    found.push_back((python.path() / "site-packages/nvidia/cu13/lib").string());
  return found;
}

static void expectBareKernel(const AssembledPtx &assembled, const std::string &assembler) {
  EXPECT_EQ(assembled.assembler, assembler);
  std::map<std::string, int64_t> resources;
  EXPECT_GT(readCubinResources(assembled.cubin, assembled.log, "k", resources), 0u);
  EXPECT_GT(resources["registers"], 0);
  EXPECT_EQ(resources.count("spill_bytes"), 1u) << assembled.log;
  EXPECT_EQ(resources["spill_bytes"], 0);
  EXPECT_EQ(resources["stack_bytes"], 0);
}

TEST(NvidiaAssembler, TheLibraryAssembles) {
  AssembledPtx assembled;
  std::string error;
  bool isDone = nvidia::assembleWithJitLink(compileNvidia("simt.barrier").ptx(), "sm_80",
                                            jitLinkDirectories(), assembled, error);
  ASSERT_EQ(error, "");
  if (!isDone)
    GTEST_SKIP() << "no libnvJitLink on this machine";
  expectBareKernel(assembled, "nvJitLink");
  EXPECT_FALSE(nvidia::assembleWithJitLink(".version 8.0\n.target sm_80\njunk", "sm_80",
                                           jitLinkDirectories(), assembled, error));
  EXPECT_NE(error.find("junk"), std::string::npos) << error;
}

TEST(NvidiaAssembler, TheProgramAssembles) {
  AssembledPtx assembled;
  std::string error;
  bool isDone = nvidia::assembleWithProgram(compileNvidia("simt.barrier").ptx(), "sm_80", "",
                                            assembled, error);
  ASSERT_EQ(error, "");
  if (!isDone)
    GTEST_SKIP() << "no ptxas on this machine";
  expectBareKernel(assembled, "ptxas");
  EXPECT_FALSE(nvidia::assembleWithProgram(".version 8.0\n.target sm_80\njunk", "sm_80", "",
                                           assembled, error));
  EXPECT_NE(error.find("junk"), std::string::npos) << error;
}

TEST(NvidiaAssembler, AnotherAssemblerIsAnotherKey) {
  AssemblerSettings settings;
  std::string usual = identifyAssemblers(settings);
  EXPECT_EQ(usual, identifyAssemblers(settings));
  settings.ptxas = "/bin/sh"; // any file that is there
  std::string other = identifyAssemblers(settings);
  EXPECT_NE(usual, other);
  EXPECT_NE(other.find("ptxas "), std::string::npos) << other;
  EXPECT_NE(makeNvidiaTarget("sm_80", /*assembles=*/true)->describe(),
            makeNvidiaTarget("sm_80", /*assembles=*/true, settings)->describe());
}

TEST(NvidiaAssembler, ABrokenProgramLeavesTheWorkToTheLibrary) {
  AssemblerSettings settings{jitLinkDirectories(), "/bin/false"};
  AssembledPtx assembled;
  std::string error;
  std::string ptx = compileNvidia("simt.barrier").ptx();
  bool isDone = assemblePtx(ptx, "sm_80", settings, assembled, error);
  EXPECT_EQ(isDone, !assembled.cubin.empty())
      << error; // the program's failure counts where it is alone
}

TEST(NvidiaAssembler, OutputThatIsNotMachineCodeIsAFailure) {
  llvm::SmallString<128> program;
  int file = -1;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("assembler", "sh", file, program));
  llvm::FileRemover removeProgram(program);
  llvm::raw_fd_ostream(file, /*shouldClose=*/true)
      << "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\n"
         "stat -c %a \"$2\" \"$(dirname \"$2\")\"; printf half > \"$2\"\n";
  llvm::sys::fs::setPermissions(program, llvm::sys::fs::owner_all);
  AssembledPtx assembled;
  std::string error;
  EXPECT_FALSE(nvidia::assembleWithProgram("junk", "sm_80", program.str().str(), assembled, error));
  EXPECT_EQ(assembled.cubin, "");
  EXPECT_NE(error.find("not machine code"), std::string::npos) << error;
  EXPECT_NE(error.find("700"), std::string::npos) << "its directory is private: " << error;
}

/// A program that says it is some release of the assembler, for as long as it lives.
struct Release {
  explicit Release(const std::string &number) {
    int file = -1;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("release", "sh", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true)
        << "#!/bin/sh\necho Cuda compilation tools, release " << number << ", V" << number
        << ".1\n";
    llvm::sys::fs::setPermissions(path, llvm::sys::fs::owner_all);
  }
  ~Release() { llvm::sys::fs::remove(path); }
  std::string str() const { return path.str().str(); }

  llvm::SmallString<128> path;
};

TEST(NvidiaAssembler, TheReleaseThatAnArchitecturePrefersIsChosen) {
  Release old("12.9"), almost("13.3"), preferred("13.4"), next("14.0");
  std::string programs[] = {old.str(), "/bin/false", almost.str(), preferred.str(), next.str()};
  EXPECT_EQ(nvidia::choosePtxas(programs, 1304), preferred.str());
  EXPECT_EQ(nvidia::choosePtxas(programs, 1400), next.str());
  EXPECT_EQ(nvidia::choosePtxas(programs, 1401), old.str()); // none: the usual one
  EXPECT_EQ(nvidia::choosePtxas(programs, 0), old.str());
  EXPECT_EQ(nvidia::choosePtxas({}, 1304), "");
  EXPECT_EQ(findNvidiaArch("sm_120")->preferredAssembler, 1304u);
  EXPECT_EQ(findNvidiaArch("sm_80")->preferredAssembler, 0u);
}

TEST(NvidiaAssembler, AMissingProgramIsNoFailure) {
  AssembledPtx assembled;
  std::string error;
  EXPECT_FALSE(nvidia::assembleWithProgram("junk", "sm_80", "/no/such/ptxas", assembled, error));
  EXPECT_EQ(error, "");
}

TEST(NvidiaResources, GarbageIsNotRead) {
  std::map<std::string, int64_t> resources;
  EXPECT_EQ(
      readCubinResources("garbage", "8 bytes spill stores, 12 bytes spill loads", "k", resources),
      0u);
  EXPECT_EQ(resources["spill_bytes"], 20);
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
