// What a pass says reaches the user as a coded report at the user's line; what it does wrong, as
// ours.
#include "backend/compile/PassRun.h"
#include "backend/compile/Compiler.h"
#include "ir/Diagnostic.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "runtime/codes/Codes.h"
#include <csignal>
#include <gtest/gtest.h>

using namespace tw;

namespace {
/// A pass that does what a test says.
struct ScriptedPass : mlir::PassWrapper<ScriptedPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScriptedPass)
  explicit ScriptedPass(std::function<void(mlir::ModuleOp)> script, bool fails = true)
      : script(std::move(script)), fails(fails) {}
  void runOnOperation() override {
    script(getOperation());
    if (fails)
      signalPassFailure();
  }
  std::function<void(mlir::ModuleOp)> script;
  bool fails;
};
} // namespace

/// The diagnostics of a failing pass over a module whose only function is at k.py:7, columns 5
/// to 9.
static std::vector<tw::Diagnostic> runScript(std::function<void(mlir::ModuleOp)> script) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @k() { return } loc("k.py":7:5 to 7:9))", context.get());
  mlir::PassManager pm(context.get());
  pm.addPass(std::make_unique<ScriptedPass>(std::move(script)));
  std::vector<tw::Diagnostic> diagnostics;
  EXPECT_FALSE(runPasses(pm, *module, diagnostics));
  if (isThreadContextAbandoned())
    (void)module.release();
  return diagnostics;
}

static mlir::Operation *kernelOf(mlir::ModuleOp module) { return &module.getBody()->front(); }

TEST(PassRunTest, CodedErrorsAreTheUsers) {
  std::vector<tw::Diagnostic> diagnostics = runScript([](mlir::ModuleOp module) {
    auto error = emitCoded(kernelOf(module)->getLoc(), Code::UnsupportedOperation)
                 << "no such instruction here";
    error.attachNote() << "use smaller tiles";
  });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::UnsupportedOperation);
  EXPECT_EQ(diagnostics[0].kind, DiagnosticKind::Unsupported);
  EXPECT_EQ(diagnostics[0].message, "no such instruction here");
  EXPECT_EQ(diagnostics[0].hint, "use smaller tiles");
  ASSERT_EQ(diagnostics[0].labels.size(), 1u);
  EXPECT_EQ(diagnostics[0].labels[0].span.line, 7);
  EXPECT_EQ(diagnostics[0].labels[0].span.column, 5);
}

TEST(PassRunTest, CodesAreNotReadFromText) {
  std::vector<tw::Diagnostic> diagnostics =
      runScript([](mlir::ModuleOp module) { kernelOf(module)->emitError("[TW0302] too large"); });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::CompilerFault);
  EXPECT_EQ(diagnostics[0].message, "[TW0302] too large");
}

TEST(PassRunTest, OtherErrorsAreTheCompilers) {
  std::vector<tw::Diagnostic> diagnostics =
      runScript([](mlir::ModuleOp module) { kernelOf(module)->emitError("illegal operation"); });
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::CompilerFault);
  EXPECT_EQ(diagnostics[0].kind, DiagnosticKind::Internal);
  EXPECT_EQ(diagnostics[0].message, "illegal operation");
}

TEST(PassRunTest, SilentFailuresAreTheCompilers) {
  std::vector<tw::Diagnostic> diagnostics = runScript([](mlir::ModuleOp) {});
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, Code::CompilerFault);
}

TEST(PassRunTest, CodedRemarksAreKeptOthersAreNot) {
  std::vector<tw::Diagnostic> diagnostics = runScript([](mlir::ModuleOp module) {
    emitCodedRemark(kernelOf(module), Code::LayoutConversion) << "loads are gathers";
    kernelOf(module)->emitRemark("internal chatter");
    emitCoded(kernelOf(module), Code::UnsupportedOperation) << "stop";
  });
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].severity, Severity::Remark);
  EXPECT_EQ(diagnostics[0].code, Code::LayoutConversion);
}

TEST(PassRunTest, OnlyTheChosenPassesRunAndAreSeen) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>("func.func @k() { return }", context.get());
  mlir::PassManager pm(context.get());
  std::vector<unsigned> ran, seen;
  for (unsigned number = 0; number < 4; ++number)
    pm.addPass(
        std::make_unique<ScriptedPass>([&, number](mlir::ModuleOp) { ran.push_back(number); },
                                       /*fails=*/false));
  PassRunOptions options;
  options.begin = 1;
  options.end = 3;
  options.afterPass = [&](unsigned number, const mlir::Pass &) { seen.push_back(number); };
  std::vector<tw::Diagnostic> diagnostics;
  EXPECT_TRUE(runPasses(pm, *module, diagnostics, options));
  EXPECT_EQ(ran, (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(seen, ran);
  EXPECT_TRUE(runPasses(pm, *module, diagnostics));
  EXPECT_EQ(ran, (std::vector<unsigned>{1, 2, 0, 1, 2, 3}));
}

TEST(PassRunTest, CrashingPassLeavesTheThreadWorking) {
  for (int i = 0; i < 3; ++i) {
    std::vector<tw::Diagnostic> diagnostics = runScript([](mlir::ModuleOp) { raise(SIGSEGV); });
    ASSERT_EQ(diagnostics.size(), 1u);
    EXPECT_EQ(diagnostics[0].code, Code::CompilerFault);
    EXPECT_EQ(runScript([](mlir::ModuleOp) {}).size(), 1u);
  }
}
