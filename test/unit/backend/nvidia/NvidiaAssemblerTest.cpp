// The assemblers of PTX: which are found, which comes first, and what they make.
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "test/unit/backend/nvidia/InstalledAssemblers.h"
#include "test/unit/backend/nvidia/NvidiaKernel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw;
using namespace tw::nvidia;
using namespace tw::test;

static void expectBareKernel(const AssembledPtx &assembled, llvm::StringRef assembler) {
  EXPECT_EQ(assembled.assembler, assembler);
  Artifact artifact;
  artifact.symbol = "k";
  artifact.assembled = assembled.cubin;
  readCubin(assembled.log, artifact);
  EXPECT_GT(artifact.codeBytes, 0u);
  EXPECT_GT(artifact.resources["registers"], 0);
  EXPECT_EQ(artifact.resources.count("spill_bytes"), 1u) << assembled.log;
  EXPECT_EQ(artifact.resources["spill_bytes"], 0);
  EXPECT_EQ(artifact.resources["stack_bytes"], 0);
}

/// Assembles a kernel, and a text that is none.
static void expectTakesPtx(const Assembler &assembler, llvm::StringRef name) {
  AssembledPtx assembled;
  std::string error;
  EXPECT_TRUE(
      assemblePtx(compileNvidia("simt.barrier").ptx(), "sm_80", assembler, assembled, error))
      << error;
  expectBareKernel(assembled, name);
  EXPECT_EQ(findRoutines(assembled.cubin), std::vector<std::string>{});
  EXPECT_FALSE(
      assemblePtx(".version 8.0\n.target sm_80\njunk", "sm_80", assembler, assembled, error));
  EXPECT_NE(error.find("junk"), std::string::npos) << error;
}

TEST(NvidiaAssembler, TheLibraryAssembles) {
  Assembler library = installedJitLink();
  expectTakesPtx(library, nameOf(library));
  EXPECT_EQ(nameOf(library).substr(0, 13), "nvJitLink 13.");
}

TEST(NvidiaAssembler, TheProgramsAssemble) {
  for (const std::string &release : installedReleases()) {
    expectTakesPtx(installedPtxas(release), "ptxas " + release);
    EXPECT_EQ(nameOf(installedPtxas(release)), "ptxas " + release);
  }
}

/// A shuffle, by hand: no pass could take it away.
static constexpr const char *kShuffle = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %rd;
  .reg .b32 %r<2>;
  ld.param.b64 %rd, [p];
  ld.global.b32 %r0, [%rd];
  shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;
  st.global.b32 [%rd], %r1;
  ret;
}
)";

TEST(NvidiaAssembler, OnlyTheLibraryCallsFunctionsForShuffles) {
  AssembledPtx assembled;
  std::string error;
  ASSERT_TRUE(
      assemblePtx(kShuffle, "sm_80", installedPtxas(installedReleases()[0]), assembled, error))
      << error;
  EXPECT_EQ(findRoutines(assembled.cubin), std::vector<std::string>{});
  ASSERT_TRUE(assemblePtx(kShuffle, "sm_80", installedJitLink(), assembled, error)) << error;
  EXPECT_EQ(findRoutines(assembled.cubin), std::vector<std::string>{"__cuda_sm70_shflsync_bfly"});
}

/// A program in a file of its own, which lives as long as this does.
struct Script {
  explicit Script(llvm::StringRef text) {
    int file = -1;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ptxas", "sh", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << "#!/bin/sh\n" << text;
    llvm::sys::fs::setPermissions(path, llvm::sys::fs::owner_all);
  }
  ~Script() { llvm::sys::fs::remove(path); }
  Script(const Script &) = delete;
  std::string str() const { return path.str().str(); }
  Assembler assembler() const { return {Assembler::Kind::Ptxas, str()}; }

  llvm::SmallString<128> path;
};

/// A program that says it is some release of the assembler.
static std::string sayRelease(llvm::StringRef number) {
  return "echo Cuda compilation tools, release " + number.str() + ", V" + number.str() + ".1\n";
}

/// Returns what a target with this program alone gives to cache keys.
static std::string keyWith(const Script &program, bool assembles = true) {
  return makeNvidiaTarget("sm_80", assembles, {{program.str()}})->describe();
}

TEST(NvidiaAssembler, AnotherAssemblerIsAnotherKey) {
  Script program(sayRelease("13.0"));
  std::string before = keyWith(program), unassembled = keyWith(program, /*assembles=*/false);
  EXPECT_EQ(keyWith(program), before);
  namespace fs = std::filesystem;
  fs::file_time_type time = fs::last_write_time(program.str());
  fs::last_write_time(program.str(), time + std::chrono::seconds(1));
  EXPECT_NE(keyWith(program), before) << "one of the same size";
  std::ofstream(program.str(), std::ios::app) << "exit 0";
  fs::last_write_time(program.str(), time);
  EXPECT_NE(keyWith(program), before) << "one of the same time";
  EXPECT_EQ(keyWith(program, /*assembles=*/false), unassembled);
}

TEST(NvidiaAssembler, SettingsMayLeaveOutWhatTheMachineHas) {
  std::string path = installedPtxas(installedReleases()[0]).path;
  AssemblerSettings only{{"/no/such/ptxas", path, path}};
  std::vector<Assembler> found = findAssemblers(only);
  ASSERT_EQ(found.size(), 1u) << "files that are there, once";
  EXPECT_EQ(found[0].path, path);
  EXPECT_EQ(makeNvidiaTarget("sm_80", /*assembles=*/true, only)->describeAssembler(),
            "ptxas " + installedReleases()[0] + ", " + path);
  EXPECT_EQ(makeNvidiaTarget("sm_80", /*assembles=*/true)->describeAssembler(), "");
  EXPECT_EQ(makeNvidiaTarget("sm_80", /*assembles=*/false, only)->describeAssembler(), "");
}

TEST(NvidiaAssembler, TheSearchPathComesAfterWhatIsNamed) {
  Script named(sayRelease("13.0"));
  std::string program = installedPtxas(installedReleases()[1]).path,
              folder = llvm::sys::path::parent_path(program).str();
  std::string before = getenv("PATH") ? getenv("PATH") : "";
  setenv("PATH", (folder + ":" + before).c_str(), /*overwrite=*/1);
  std::vector<Assembler> found = findAssemblers({{named.str()}, /*searchesMachine=*/true});
  setenv("PATH", before.c_str(), /*overwrite=*/1);
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0].path, named.str());
  EXPECT_TRUE(llvm::sys::fs::equivalent(found[1].path, program)) << found[1].path;
}

TEST(NvidiaAssembler, ABrokenProgramLeavesTheWorkToTheNext) {
  AssembledPtx assembled;
  std::string error, ptx = compileNvidia("simt.barrier").ptx();
  Assembler broken{Assembler::Kind::Ptxas, "/bin/false"};
  EXPECT_TRUE(assemblePtx(ptx, "sm_80", {broken, installedJitLink()}, assembled, error)) << error;
  expectBareKernel(assembled, nameOf(installedJitLink()));
  EXPECT_FALSE(assemblePtx(ptx, "sm_80", broken, assembled, error));
  EXPECT_NE(error.find("/bin/false failed (status 1)"), std::string::npos) << error;
}

TEST(NvidiaAssembler, AnAssemblerThatIsTooOldIsNoFailure) {
  AssembledPtx assembled;
  std::string error, ptx = compileNvidia("simt.barrier").ptx();
  Script old(
      "echo \"ptxas fatal : Value 'sm_120' is not defined for option 'gpu-name'\"; exit 1\n");
  EXPECT_TRUE(assemblePtx(ptx, "sm_80", old.assembler(), assembled, error)) << error;
  EXPECT_EQ(assembled.cubin, "") << "the driver assembles";
  EXPECT_TRUE(assemblePtx(ptx, "sm_80", {old.assembler(), installedPtxas(installedReleases()[0])},
                          assembled, error));
  expectBareKernel(assembled, "ptxas " + installedReleases()[0]);
}

TEST(NvidiaAssembler, AComplaintAboutTheTextIsNotAskedForTwice) {
  AssembledPtx assembled;
  std::string error;
  Script asked("touch \"$0.asked\"; exit 1\n");
  EXPECT_FALSE(assemblePtx(".version 8.0\n.target sm_80\njunk", "sm_80",
                           {installedPtxas(installedReleases()[0]), asked.assembler()}, assembled,
                           error));
  EXPECT_NE(error.find("junk"), std::string::npos) << error;
  EXPECT_FALSE(llvm::sys::fs::exists(asked.str() + ".asked"));
}

TEST(NvidiaAssembler, ReleasesWithoutANoteAreNamedByTheirFile) {
  Script program(sayRelease("12.4"));
  EXPECT_EQ(nameOf(program.assembler()), "ptxas 12.4.1");
  EXPECT_EQ(findToolsVersion("no version"), "");
  EXPECT_EQ(readAssembler("garbage"), "");
}

TEST(NvidiaAssembler, OutputThatIsNotMachineCodeIsAFailure) {
  Script program("while [ \"$1\" != -o ]; do shift; done\n"
                 "stat -c %a \"$2\" \"$(dirname \"$2\")\"; printf half > \"$2\"\n");
  AssembledPtx assembled;
  std::string error;
  EXPECT_FALSE(assemblePtx("junk", "sm_80", program.assembler(), assembled, error));
  EXPECT_EQ(assembled.cubin, "");
  EXPECT_NE(error.find("not machine code"), std::string::npos) << error;
  EXPECT_NE(error.find("700"), std::string::npos) << "its directory is private: " << error;
}

TEST(NvidiaAssembler, TheReleasesThatAnArchitecturePrefersComeFirst) {
  Script old(sayRelease("12.9")), almost(sayRelease("13.3")), best(sayRelease("13.4")),
      next(sayRelease("14.0")), silent("exit 1\n");
  Assembler library{Assembler::Kind::JitLink, "/no/such/libnvJitLink.so"};
  std::vector<Assembler> found = {old.assembler(),  silent.assembler(), almost.assembler(),
                                  best.assembler(), next.assembler(),   library};
  auto first = [&](ReleaseRange range) {
    std::vector<Assembler> ranked = rankAssemblers(found, range);
    EXPECT_EQ(ranked.size(), found.size());
    EXPECT_EQ(ranked.back().path, library.path);
    return ranked.front().path;
  };
  EXPECT_EQ(first({1304, 1304}), best.str());
  EXPECT_EQ(first({1303, 1304}), almost.str());
  EXPECT_EQ(first({1305, ~0u}), next.str());
  EXPECT_EQ(first({1500, ~0u}), old.str()); // none: the order in which they were found
  EXPECT_EQ(first({}), old.str());
  EXPECT_TRUE(rankAssemblers({}, {1304, 1304}).empty());
}

TEST(NvidiaAssembler, AMissingProgramIsAFailure) {
  AssembledPtx assembled;
  std::string error;
  Assembler missing{Assembler::Kind::Ptxas, "/no/such/ptxas"};
  EXPECT_FALSE(assemblePtx("junk", "sm_80", missing, assembled, error));
  EXPECT_NE(error, "");
}
