// A compilation that is looked into: dumps of passes, stages that files replace, files that replay
// a fault.
#include "backend/compile/Compiler.h"
#include "backend/compile/PassRun.h"
#include "backend/inspect/Inspection.h"
#include "ir/Diagnostic.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>

using namespace tw;

static testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (llvm::StringRef(text).contains(part))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

namespace {
using Names = std::vector<std::string>;
using Script = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

/// A pass that does what a test says, under the name of one that ends a stage.
struct NamedPass : mlir::PassWrapper<NamedPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NamedPass)
  NamedPass(std::string name, Script script) : name(std::move(name)), script(std::move(script)) {}
  llvm::StringRef getArgument() const override { return name; }
  void runOnOperation() override {
    if (mlir::failed(script(getOperation())))
      signalPassFailure();
  }
  std::string name;
  Script script;
};

/// A target of two stages, lowered and llvm-dialect, whose code is the text of the module.
struct ScriptedTarget final : Target {
  std::string name() const override { return "scripted"; }
  std::string describe() const override { return "scripted"; }
  bool runsTilePasses() const override { return false; }
  void addPasses(StagedPasses &passes, const CompileOptions &) const override {
    passes.beginStage("lowered", "test.lowered is set");
    passes.addPass(std::make_unique<NamedPass>("lower-simd", toLowered));
    passes.addPass(mlir::createCSEPass());
    passes.beginStage("llvm-dialect", "test.llvm is set");
    passes.addPass(std::make_unique<NamedPass>("lower-to-llvm", toLlvm));
  }
  bool compile(mlir::ModuleOp lowered, Artifact &artifact, std::string &error) const override {
    error = codeError;
    artifact.binary = printModule(lowered, false);
    report(lowered);
    return error.empty();
  }
  llvm::StringRef textStage() const override { return "asm"; }
  bool compileText(const std::string &text, Artifact &artifact, std::string &error) const override {
    artifact.binary = "compiled " + text;
    error = text.empty() ? "it is empty" : "";
    return error.empty();
  }
  bool print(mlir::ModuleOp lowered, CodeForm, std::string &text, std::string &) const override {
    text = "code";
    report(lowered);
    return true;
  }

  static Script mark(std::string mark) {
    return [mark](mlir::ModuleOp module) {
      module->setAttr(mark, mlir::UnitAttr::get(module.getContext()));
      return mlir::success();
    };
  }
  Script toLowered = mark("test.lowered"), toLlvm = mark("test.llvm");
  std::string codeError;
  std::function<void(mlir::ModuleOp)> report = [](mlir::ModuleOp) {}; // by the code's maker
};

class StageRunTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("stage-run", path));
    directory = path.str().str();
    debug.reproducerDirectory = directory;
    debug.buildId = "b1234";
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  bool compile() {
    std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kSource, context.get());
    bool compiled = compileModule(*module, target, options, artifact, diagnostics, debug);
    if (isThreadContextAbandoned())
      (void)module.release();
    return compiled;
  }
  bool inspect(llvm::StringRef stage, const InspectionStart &start = {}) {
    std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kSource, context.get());
    return inspectModule(*module, target, options, stage, text, diagnostics, debug, start);
  }
  void write(const std::string &name, const std::string &content) {
    std::ofstream(directory + "/" + name) << content;
  }
  /// The names of the files in a directory below the test's own.
  Names list(const std::string &below = "") {
    Names names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(directory + "/" + below, error), end;
         !error && entry != end; entry.increment(error))
      names.push_back(llvm::sys::path::filename(entry->path()).str());
    llvm::sort(names);
    return names;
  }
  std::string read(const std::string &name) {
    auto buffer = llvm::MemoryBuffer::getFile(directory + "/" + name);
    return buffer ? (*buffer)->getBuffer().str() : "no file " + name;
  }
  /// The only reproducer, which the only diagnostic must name.
  std::string reproducer() {
    EXPECT_EQ(diagnostics.size(), 1u);
    for (const std::string &name : list())
      if (llvm::StringRef(name).ends_with(".mlir")) {
        EXPECT_TRUE(contains(diagnostics.front().hint, directory + "/" + name));
        return read(name);
      }
    return "";
  }

  static constexpr const char *kSource = R"(func.func @put() { return } loc("k.py":7:5 to 7:9))";
  std::string directory, text;
  ScriptedTarget target;
  CompileOptions options;
  DebugSettings debug;
  Artifact artifact;
  std::vector<tw::Diagnostic> diagnostics;
};
} // namespace

TEST_F(StageRunTest, DumpsHoldEachPassThatChangedTheModule) {
  debug.dumpDirectory = directory;
  debug.key = "0123456789abcdef";
  ASSERT_TRUE(compile());
  EXPECT_EQ(list("put-0123456789ab"), (Names{"00-input.mlir", "01-lower-simd.mlir",
                                             "03-lower-to-llvm.mlir", "04-llvm.ll", "05-code.s"}));
  EXPECT_TRUE(contains(read("put-0123456789ab/01-lower-simd.mlir"), "test.lowered"));
  EXPECT_TRUE(diagnostics.empty());
}

TEST_F(StageRunTest, DumpsOfAnEarlierCompilationGo) {
  debug.dumpDirectory = directory;
  ASSERT_TRUE(compile());
  write("put/07-old.mlir", "");
  write("put/notes.txt", "");
  ASSERT_TRUE(compile());
  EXPECT_EQ(list("put"), (Names{"00-input.mlir", "01-lower-simd.mlir", "03-lower-to-llvm.mlir",
                                "04-llvm.ll", "05-code.s", "notes.txt"}));
}

TEST_F(StageRunTest, ADirectoryThatCannotBeWrittenIsOneWarning) {
  write("file", "");
  debug.dumpDirectory = directory + "/file";
  ASSERT_TRUE(compile());
  ASSERT_GE(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::UnwrittenDumps);
  EXPECT_EQ(diagnostics[0].severity, Severity::Warning);
}

TEST_F(StageRunTest, NoPassRunsAfterTheStageThatIsAskedFor) {
  target.toLlvm = [](mlir::ModuleOp) { return mlir::failure(); };
  ASSERT_TRUE(inspect("lowered"));
  EXPECT_TRUE(contains(text, "test.lowered"));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_FALSE(inspect("llvm-dialect"));
}

TEST_F(StageRunTest, ALaterStageCanBeTheInput) {
  ASSERT_TRUE(inspect("llvm-dialect", {"lowered"}));
  EXPECT_TRUE(contains(text, "test.llvm"));
  EXPECT_FALSE(contains(text, "test.lowered"));
  ASSERT_TRUE(inspect("llvm-dialect", {"", 3}));
  EXPECT_FALSE(contains(text, "test.lowered"));
  EXPECT_FALSE(inspect("llvm-dialect", {"loered"}));
  EXPECT_TRUE(contains(diagnostics.back().hint, "did you mean lowered?"));
}

TEST_F(StageRunTest, AnOverrideIsTakenInsteadOfTheStage) {
  write("put.lowered", "module attributes {test.mine} { func.func @put() { return } }");
  debug.overrideDirectory = directory;
  ASSERT_TRUE(compile());
  EXPECT_TRUE(contains(artifact.binary, "test.mine"));
  EXPECT_TRUE(contains(artifact.binary, "test.llvm"));
  EXPECT_FALSE(contains(artifact.binary, "test.lowered"));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::StageFromFile);
  EXPECT_EQ(diagnostics[0].severity, Severity::Warning);
}

TEST_F(StageRunTest, CodeCanBeOverridden) {
  write("put.asm", "mine");
  debug.overrideDirectory = directory;
  ASSERT_TRUE(compile());
  EXPECT_EQ(artifact.binary, "compiled mine");
  ASSERT_TRUE(inspect("asm"));
  EXPECT_EQ(text, "mine");
}

TEST_F(StageRunTest, AnOverrideThatIsNoIrIsAnErrorAtItsLine) {
  write("put.tile", "func.func @put() {\n  nothing\n}");
  debug.overrideDirectory = directory;
  EXPECT_FALSE(compile());
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[1].code, Code::UnfitStageFile);
  EXPECT_EQ(diagnostics[1].kind, DiagnosticKind::Compile);
  EXPECT_TRUE(llvm::StringRef(diagnostics[1].labels[0].span.file).ends_with("put.tile"));
  EXPECT_EQ(diagnostics[1].labels[0].span.line, 2);
}

TEST_F(StageRunTest, AnOverrideOfAnotherKernelIsRefused) {
  write("put.tile", "func.func @put(%x: i32) { return }");
  debug.overrideDirectory = directory;
  EXPECT_FALSE(compile());
  EXPECT_EQ(diagnostics.back().code, Code::UnfitStageFile);
  EXPECT_TRUE(contains(diagnostics.back().message, "parameters"));
}

TEST_F(StageRunTest, CodeWithoutAWayBackCannotBeOverridden) {
  write("put.llvm", "define void @put() { ret void }");
  debug.overrideDirectory = directory;
  EXPECT_FALSE(compile());
  EXPECT_EQ(diagnostics.back().code, Code::UnfitStageFile);
}

TEST_F(StageRunTest, AFailingPassLeavesAReproducer) {
  target.toLlvm = [](mlir::ModuleOp module) { return module.emitError("no such thing"); };
  EXPECT_FALSE(compile());
  std::string file = reproducer();
  EXPECT_TRUE(contains(file, "// The module before the pass lower-to-llvm, number 3"));
  EXPECT_TRUE(contains(file, "// no such thing\n// build b1234\n"));
  EXPECT_TRUE(
      contains(file, "--target scripted --num-warps 4 --num-stages 3 --unchecked --from-pass 3 "));
  EXPECT_TRUE(contains(file, "--pass-pipeline='builtin.module(lower-to-llvm)'"));
  EXPECT_TRUE(contains(file, "test.lowered"));
  EXPECT_TRUE(contains(file, "\"k.py\":7:5"));
  EXPECT_TRUE(contains(diagnostics[0].hint, "--from-pass 3"));
}

TEST_F(StageRunTest, ACrashingPassLeavesAReproducer) {
  target.toLlvm = [](mlir::ModuleOp) {
    raise(SIGSEGV);
    return mlir::success();
  };
  EXPECT_FALSE(compile());
  EXPECT_TRUE(contains(reproducer(), "before the pass lower-to-llvm, number 3"));
}

TEST_F(StageRunTest, IrThatDoesNotVerifyLeavesTheIrBeforeIt) {
  options.extra = "verify";
  target.toLowered = [](mlir::ModuleOp module) {
    findKernel(module).getBody().front().getTerminator()->erase();
    return mlir::success();
  };
  EXPECT_FALSE(compile());
  std::string file = reproducer();
  EXPECT_TRUE(contains(file, "before the pass lower-simd, number 1"));
  EXPECT_TRUE(contains(file, "return"));
  EXPECT_TRUE(contains(file, "--options verify"));
}

TEST_F(StageRunTest, AFailureOfCodeGenerationLeavesBothIrs) {
  target.codeError = "cannot select";
  EXPECT_FALSE(compile());
  EXPECT_TRUE(contains(reproducer(), "--from-stage llvm-dialect --emit object"));
  EXPECT_EQ(llvm::count_if(list(), [](llvm::StringRef n) { return n.ends_with(".ll"); }), 1);
}

TEST_F(StageRunTest, ReproducersGoWhereDumpsGo) {
  debug.reproducerDirectory = "";
  debug.dumpDirectory = directory;
  target.toLlvm = [](mlir::ModuleOp) { return mlir::failure(); };
  EXPECT_FALSE(compile());
  EXPECT_TRUE(contains(reproducer(), "number 3"));
}

TEST_F(StageRunTest, TheUsersErrorsLeaveNone) {
  target.toLlvm = [](mlir::ModuleOp module) {
    return emitCoded(module, Code::SharedMemoryExceeded) << "too large";
  };
  EXPECT_FALSE(compile());
  EXPECT_TRUE(list().empty());
}

TEST_F(StageRunTest, RemarksAreCollectedWhereTheyAreAskedFor) {
  target.toLowered = [](mlir::ModuleOp module) {
    emitCodedRemark(findKernel(module), Code::NarrowAccess) << "narrow";
    return mlir::success();
  };
  ASSERT_TRUE(compile());
  EXPECT_TRUE(diagnostics.empty());
  debug.collectsRemarks = true;
  ASSERT_TRUE(compile());
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].severity, Severity::Remark);
  EXPECT_EQ(diagnostics[0].labels[0].span.line, 7);
}

TEST_F(StageRunTest, RemarksOnTheCodeAreCollectedToo) {
  target.report = [](mlir::ModuleOp module) {
    emitCodedRemark(findKernel(module), Code::SpilledRegisters).append("spilled").attachNote()
        << "use fewer";
    findKernel(module).emitRemark("chatter");
  };
  ASSERT_TRUE(compile());
  EXPECT_TRUE(diagnostics.empty());
  debug.collectsRemarks = true;
  ASSERT_TRUE(compile());
  ASSERT_TRUE(inspect("asm"));
  ASSERT_EQ(diagnostics.size(), 2u);
  for (const tw::Diagnostic &diagnostic : diagnostics) {
    EXPECT_EQ(diagnostic.code, Code::SpilledRegisters);
    EXPECT_EQ(diagnostic.hint, "use fewer");
    EXPECT_EQ(diagnostic.labels[0].span.line, 7);
  }
}
