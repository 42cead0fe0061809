// The public interface: from a source buffer to a launch, by way of memory and disk.
#include "backend/api/Compile.h"
#include "backend/api/Devices.h"
#include "backend/cpu/CpuTarget.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/nvidia/InstalledAssemblers.h"
#include "test/unit/runtime/TemporaryDirectory.h"
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace tw;
using namespace tw::api;
namespace fs = std::filesystem;

/// `def k(x, n): tl.store(x, n)`, with the entry's name given so that tests do not share kernels.
static std::string storeKernel(const std::string &name, const std::string &builtin = "store") {
  return R"({"version":1,"entry":"f0","functions":{"f0":{"name":")" + name +
         R"(","file":"/k.py","line":1,"source":"def k(x, n):\n    tl.store(x, n)\n",
    "ast":{"_":"FunctionDef","@":[1,1,2,19],"name":")" +
         name +
         R"(","decorator_list":[],"returns":null,"type_params":[],
      "args":{"_":"arguments","@":[1,1,1,1],"posonlyargs":[],
        "args":[{"_":"arg","@":[1,7,1,8],"arg":"x","annotation":null},
                {"_":"arg","@":[1,10,1,11],"arg":"n","annotation":null}],
        "vararg":null,"kwonlyargs":[],"kw_defaults":[],"kwarg":null,"defaults":[]},
      "body":[{"_":"Expr","@":[2,5,2,19],"value":
        {"_":"Call","@":[2,5,2,19],
         "func":{"_":"Attribute","@":[2,5,2,13],"value":{"_":"Name","@":[2,5,2,7],"id":"tl"},
                 "attr":"store"},
         "args":[{"_":"Name","@":[2,14,2,15],"id":"x"},{"_":"Name","@":[2,17,2,18],"id":"n"}],
         "keywords":[]}}]},
    "params":[{"name":"x","constexpr":false,"annotation":null},
              {"name":"n","constexpr":false,"annotation":null}],
    "names":{"tl":{"k":"module","v":"tilewright.language"},
             "tl.store":{"k":"builtin","v":")" +
         builtin + R"("}}}}})";
}

static Specialization storeSpecialization() {
  Specialization specialization;
  ArgumentSpec pointer, scalar;
  pointer.kind = ArgumentSpec::Kind::Pointer;
  pointer.name = "x";
  pointer.type = "u32";
  scalar.name = "n";
  scalar.type = "u32";
  specialization.arguments = {pointer, scalar};
  return specialization;
}

static std::string noEvaluator(const std::string &) { return R"({"error":"no Python here"})"; }

static std::string textOf(const CompileResult &result) {
  std::string text;
  for (const Report &report : result.reports)
    text += report.rendered;
  return text;
}

static CompileResult compileFor(const std::string &target, const std::string &source,
                                const CacheSettings &cache = {}) {
  return compile(KernelSource(source), storeSpecialization(), target, noEvaluator, cache);
}

TEST(CompileTest, CompiledKernelsRunOnEveryTarget) {
  for (const std::string &target : targets()) {
    if (target.starts_with("nvidia:") || target.starts_with("amd:") ||
        target.starts_with("spirv:"))
      continue; // compiled for, not run
    CompileResult result = compileFor(target, storeKernel("runs"));
    ASSERT_TRUE(result.kernel) << target << textOf(result);
    llvm::StringRef processor = target;
    if (processor.consume_front("cpu:") && !llvm::is_contained(cpuLevels(), processor))
      continue; // this one lacks its instructions
    const Artifact &artifact = result.kernel->artifact;
    ASSERT_EQ(artifact.parameters.size(), 2u);
    EXPECT_EQ(artifact.parameters[0].type, "*u32");
    EXPECT_TRUE(artifact.parameters[0].isStored);
    EXPECT_EQ(artifact.parameters[1].type, "u32");
    EXPECT_FALSE(artifact.parameters[1].isStored);
    uint32_t cell = 0;
    uint64_t address = reinterpret_cast<uint64_t>(&cell);
    std::vector<LaunchArgument> arguments = {{address, address, 4, false}, {4'000'000'000u}};
    std::optional<RuntimeError> error = launch(*result.kernel, {}, arguments);
    EXPECT_FALSE(error) << error->message;
    EXPECT_EQ(cell, 4'000'000'000u) << target;
  }
}

TEST(CompileTest, TargetsWithoutADeviceSayWhereToLaunch) {
  setTargetSetting("only-assemblers", test::installedAssemblers().paths);
  CompileResult result = compileFor("nvidia:sm_80", storeKernel("runs"));
  ASSERT_TRUE(result.kernel) << textOf(result);
  std::optional<RuntimeError> error = launch(*result.kernel, {}, {});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::TargetIsNoDevice);
  EXPECT_NE(error->hint.find("sim:sm_80"), std::string::npos) << error->hint;
}

TEST(CompileTest, OriginsAreMemoryThenDisk) {
  TemporaryDirectory directory;
  CacheSettings cache{directory.path + "/cache"};
  std::string source = storeKernel("origins");
  auto origin = [&] {
    CompileResult result = compileFor("cpu", source, cache);
    EXPECT_TRUE(result.kernel) << textOf(result);
    return result.kernel ? result.kernel->origin : Origin::Compiled;
  };
  EXPECT_EQ(origin(), Origin::Compiled);
  EXPECT_EQ(origin(), Origin::Memory);
  forgetLoadedKernels();
  EXPECT_EQ(origin(), Origin::Disk);
  EXPECT_EQ(origin(), Origin::Memory);
}

TEST(CompileTest, DamagedEntriesAreCompiledAgain) {
  TemporaryDirectory directory;
  CacheSettings cache{directory.path};
  std::string source = storeKernel("damaged");
  CompileResult first = compileFor("cpu", source, cache);
  ASSERT_TRUE(first.kernel) << textOf(first);
  const std::string &key = first.kernel->key;
  std::string path = directory.path + "/v1/" + key.substr(0, 2) + "/" + key;
  ASSERT_TRUE(fs::exists(path));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(300).put('\x55');
  forgetLoadedKernels();
  uint64_t corruptBefore = cacheStatistics().corrupt;
  CompileResult second = compileFor("cpu", source, cache);
  ASSERT_TRUE(second.kernel) << textOf(second);
  EXPECT_EQ(second.kernel->origin, Origin::Compiled);
  EXPECT_EQ(cacheStatistics().corrupt, corruptBefore + 1);
  EXPECT_EQ(second.kernel->artifact.binary, first.kernel->artifact.binary);
  forgetLoadedKernels();
  EXPECT_EQ(compileFor("cpu", source, cache).kernel->origin, Origin::Disk);
}

TEST(CompileTest, UnusableCacheIsOneWarningAndTheKernel) {
  TemporaryDirectory directory;
  std::ofstream(directory.path + "/file") << "no directory";
  CacheSettings cache{directory.path + "/file"};
  CompileResult first = compileFor("cpu", storeKernel("unusable_a"), cache);
  EXPECT_TRUE(first.kernel);
  ASSERT_EQ(first.reports.size(), 1u);
  EXPECT_EQ(first.reports[0].code, "TW0501");
  EXPECT_EQ(first.reports[0].severity, "warning");
  CompileResult second = compileFor("cpu", storeKernel("unusable_b"), cache);
  EXPECT_TRUE(second.kernel);
  EXPECT_TRUE(second.reports.empty()) << textOf(second);
}

TEST(CompileTest, ThreadsShareOneCompile) {
  std::atomic<int> numCompiled = 0, numFailed = 0;
  std::string source = storeKernel("shared");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      CompileResult result = compileFor("cpu", source);
      numFailed += !result.kernel;
      numCompiled += result.kernel && result.kernel->origin == Origin::Compiled;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numFailed, 0);
  EXPECT_EQ(numCompiled, 1);
}

TEST(CompileTest, UserErrorsAreReportsAndRepeat) {
  for (int i = 0; i < 2; ++i) {
    CompileResult result = compileFor("cpu", storeKernel("unknown", "no_such_function"));
    EXPECT_FALSE(result.kernel);
    ASSERT_FALSE(result.reports.empty());
    EXPECT_EQ(result.reports[0].severity, "error");
    EXPECT_EQ(result.reports[0].code.substr(0, 2), "TW");
    EXPECT_NE(result.reports[0].json.find("\"labels\""), std::string::npos);
  }
}

TEST(CompileTest, MalformedBuffersAreErrors) {
  for (const std::string source : {"", "{", "[]", R"({"version":1})", R"({"version":77})"}) {
    CompileResult result = compileFor("cpu", source);
    EXPECT_FALSE(result.kernel) << source;
    EXPECT_FALSE(result.reports.empty()) << source;
  }
}

TEST(CompileTest, UnknownTargetNamesTheKnownOnes) {
  CompileResult result = compileFor("toaster", storeKernel("toasted"));
  EXPECT_FALSE(result.kernel);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].code, "TW0401");
  EXPECT_NE(result.reports[0].rendered.find("reference"), std::string::npos);
}

TEST(CompileTest, EveryStageCanBeSeen) {
  KernelSource source(storeKernel("seen"));
  for (const std::string stage : {"tile", "lowered", "llvm-dialect", "llvm", "asm"}) {
    std::string text;
    CompileResult result = inspect(source, storeSpecialization(), "cpu", stage, noEvaluator, text);
    EXPECT_TRUE(result.reports.empty()) << textOf(result);
    EXPECT_NE(text.find("seen"), std::string::npos) << stage;
  }
  std::string text;
  CompileResult result =
      inspect(source, storeSpecialization(), "cpu", "sausage", noEvaluator, text);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].code, "TW0401");
}

TEST(CompileTest, MovedSourceHitsAndChangedSourceMisses) {
  std::string source = storeKernel("moved"), moved = source;
  moved.replace(moved.find("/k.py"), 5, "/other/k.py");
  ASSERT_TRUE(compileFor("cpu", source).kernel);
  EXPECT_EQ(compileFor("cpu", moved).kernel->origin, Origin::Memory);
  EXPECT_EQ(compileFor("cpu", storeKernel("moved2")).kernel->origin, Origin::Compiled);
}

TEST(CompileTest, KernelsAreFoundByTheDigestsOfTheirSource) {
  TemporaryDirectory directory;
  CacheSettings cache{directory.path};
  KernelSource source(storeKernel("found"), {std::string(64, 'a'), std::string(64, 'b')});
  for (const std::string target : {"cpu", "reference"}) {
    auto found = [&](const SourceDigests &digests, const CacheSettings &where) {
      return find(digests, storeSpecialization(), target, where);
    };
    uint64_t misses = cacheStatistics().misses;
    EXPECT_FALSE(found(source.digests(), cache));
    EXPECT_EQ(cacheStatistics().misses, misses) << "compile counts it";
    CompileResult made = compile(source, storeSpecialization(), target, noEvaluator, cache);
    ASSERT_TRUE(made.kernel) << textOf(made);
    auto inMemory = found(source.digests(), cache);
    ASSERT_TRUE(inMemory);
    EXPECT_EQ(inMemory->origin, Origin::Memory);
    EXPECT_EQ(inMemory->key, made.kernel->key);
    forgetLoadedKernels();
    auto onDisk = found(source.digests(), cache);
    ASSERT_TRUE(onDisk);
    EXPECT_EQ(onDisk->origin, Origin::Disk);
    forgetLoadedKernels();
    EXPECT_FALSE(found(source.digests(), {}));
    EXPECT_FALSE(found({std::string(64, 'c'), std::string(64, 'd')}, cache));
  }
  EXPECT_FALSE(find(source.digests(), storeSpecialization(), "toaster", cache));
}

TEST(CompileTest, LookingForAKernelHoldsUpNoCompile) {
  KernelSource source(storeKernel("sought"), {"meaning of sought", "all of sought"});
  std::vector<std::thread> threads;
  std::atomic<int> numCompiled = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto kernel = find(source.digests(), storeSpecialization(), "cpu", {});
      if (!kernel) {
        kernel = compile(source, storeSpecialization(), "cpu", noEvaluator, {}).kernel;
        numCompiled += kernel && kernel->origin == Origin::Compiled;
      }
      EXPECT_TRUE(kernel);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numCompiled, 1);
}

TEST(CompileTest, RecordsAreKeptBesideTheKernels) {
  TemporaryDirectory directory;
  CacheSettings cache{directory.path + "/cache"}, off{directory.path + "/cache", false};
  const std::string key(64, 'e');
  CacheStatistics before = cacheStatistics();
  EXPECT_FALSE(readRecord(key, cache));
  writeRecord(key, "text", off);
  EXPECT_FALSE(readRecord(key, cache));
  writeRecord(key, "text", cache);
  EXPECT_EQ(readRecord(key, cache), "text");
  EXPECT_FALSE(readRecord(key, off));
  EXPECT_FALSE(readRecord(std::string(64, 'f'), cache));
  EXPECT_EQ(cacheStatistics().hits, before.hits);
  EXPECT_EQ(cacheStatistics().misses, before.misses);
  EXPECT_EQ(cacheStatistics().writes, before.writes);
}

TEST(CompileTest, UnusableCacheKeepsNoRecords) {
  TemporaryDirectory directory;
  fs::create_directory(directory.path + "/target");
  fs::create_directory_symlink(directory.path + "/target", directory.path + "/link");
  CacheSettings cache{directory.path + "/link"};
  writeRecord(std::string(64, 'e'), "text", cache);
  EXPECT_FALSE(readRecord(std::string(64, 'e'), cache));
  EXPECT_TRUE(fs::is_empty(directory.path + "/target"));
}
