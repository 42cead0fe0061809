// From a kernel source buffer to a module: locations, facts of arguments, and buffers that are
// wrong.
#include "frontend/Frontend.h"
#include "frontend/emit/SourceDiagnostic.h"
#include "ir/RegisterDialects.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "gtest/gtest.h"

using namespace tw;

// def kernel(out, n, SIZE): store(out, helper(n))      def helper(v): return v + SHIFT
static constexpr llvm::StringLiteral kBuffer = R"({"version": 1, "entry": "f0", "functions": {
 "f0": {"name": "kernel", "file": "k.py", "line": 1, "source": "def kernel(out, n, SIZE):\n    store(out, helper(n))\n",
  "ast": {"_": "FunctionDef", "@": [1, 1, 2, 26], "name": "kernel", "body": [
    {"_": "Expr", "@": [2, 5, 2, 26], "value":
      {"_": "Call", "@": [2, 5, 2, 26], "func": {"_": "Name", "@": [2, 5, 2, 10], "id": "store"}, "args": [
        {"_": "Name", "@": [2, 11, 2, 14], "id": "out"},
        {"_": "Call", "@": [2, 16, 2, 25], "func": {"_": "Name", "@": [2, 16, 2, 22], "id": "helper"},
         "args": [{"_": "Name", "@": [2, 23, 2, 24], "id": "n"}], "keywords": []}], "keywords": []}}]},
  "params": [{"name": "out"}, {"name": "n"}, {"name": "SIZE", "constexpr": true}],
  "names": {"store": {"k": "builtin", "v": "store"}, "helper": {"k": "jit", "v": "f1"}}},
 "f1": {"name": "helper", "file": "k.py", "line": 5, "source": "def helper(v):\n    return v + SHIFT\n",
  "ast": {"_": "FunctionDef", "@": [5, 1, 6, 21], "name": "helper", "body": [
    {"_": "Return", "@": [6, 5, 6, 21], "value":
      {"_": "BinOp", "@": [6, 12, 6, 21], "op": "Add", "left": {"_": "Name", "@": [6, 12, 6, 13], "id": "v"},
       "right": {"_": "Name", "@": [6, 16, 6, 21], "id": "SHIFT"}}}]},
  "params": [{"name": "v"}], "names": {"SHIFT": {"k": "int", "v": "5"}}}}})";

namespace {
struct Frontend : testing::Test {
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerTileDialects(registry);
    return registry;
  }
  mlir::MLIRContext context{registry(), mlir::MLIRContext::Threading::DISABLED};
  StaticEvaluator evaluator;

  static std::vector<ArgumentSpec> arguments() {
    ArgumentSpec out, n, size;
    out.kind = ArgumentSpec::Kind::Pointer;
    out.name = "out";
    out.type = "i32";
    out.divisibility = 16;
    out.isStreaming = true;
    n.name = "n";
    n.type = "i32";
    size.kind = ArgumentSpec::Kind::Constexpr;
    size.name = "SIZE";
    size.constexprJson = R"({"k": "int", "v": "64"})";
    return {out, n, size};
  }
  FrontendResult build(std::string buffer, std::vector<ArgumentSpec> args = arguments()) {
    return buildTileIr(context, buffer, args, {}, evaluator);
  }
  std::string firstCode(const FrontendResult &result) {
    EXPECT_FALSE(bool(result.module));
    return result.diagnostics.empty() ? "none" : codeName(result.diagnostics.front().code);
  }
  static std::string replaced(llvm::StringRef from, llvm::StringRef to) {
    std::string text = kBuffer.str();
    size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos) << from.str();
    return text.replace(at, from.size(), to.str());
  }
};
} // namespace

TEST_F(Frontend, ParametersBecomeArgumentsWithFacts) {
  FrontendResult result = build(kBuffer.str());
  ASSERT_TRUE(bool(result.module));
  auto function = *result.module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(function.getName(), "kernel");
  ASSERT_EQ(function.getNumArguments(), 2u); // a constexpr is none
  EXPECT_EQ(result.parameterSources, (std::vector<int>{0, 1}));
  EXPECT_EQ(function.getArgAttrOfType<mlir::StringAttr>(0, tile::kArgName).getValue(), "out");
  EXPECT_EQ(function.getArgAttrOfType<mlir::IntegerAttr>(0, tile::kArgDivisibility).getInt(), 16);
  EXPECT_TRUE(function.getArgAttr(0, tile::kArgStreaming));
  EXPECT_FALSE(function.getArgAttr(1, tile::kArgDivisibility));
}

TEST_F(Frontend, OperationsKnowTheirSpanAndTheirCall) {
  FrontendResult result = build(kBuffer.str());
  ASSERT_TRUE(bool(result.module));
  int numAdds = 0;
  result.module->walk([&](mlir::arith::AddIOp add) {
    ++numAdds;
    SourceSpan span = spanOf(add.getLoc());
    EXPECT_EQ(span.file, "k.py");
    EXPECT_EQ(std::tie(span.line, span.column, span.endLine, span.endColumn),
              std::make_tuple(6, 12, 6, 21));
    std::vector<SourceLabel> calls = callStackOf(add.getLoc());
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].span.line, 2);
    EXPECT_EQ(calls[0].span.column, 16);
  });
  EXPECT_EQ(numAdds, 1);
}

TEST_F(Frontend, AnArgumentOfOneIsAConstant) {
  std::vector<ArgumentSpec> args = arguments();
  args[1].isOne = true;
  FrontendResult result = build(kBuffer.str(), args);
  ASSERT_TRUE(bool(result.module));
  EXPECT_EQ(result.parameterSources, std::vector<int>{0});
  result.module->walk([&](mlir::arith::AddIOp) { ADD_FAILURE() << "1 + 5 is not folded"; });
}

TEST_F(Frontend, AnArgumentOfAKnownValueComputesAsOneOfItsType) {
  std::vector<ArgumentSpec> args = arguments();
  args[1].equals = 7;
  FrontendResult result = build(kBuffer.str(), args);
  ASSERT_TRUE(bool(result.module));
  EXPECT_EQ(result.parameterSources, std::vector<int>{0});
  int numAdds = 0;
  result.module->walk([&](mlir::arith::AddIOp add) {
    ++numAdds;
    EXPECT_TRUE(add.getType().isInteger(32));
  });
  EXPECT_EQ(numAdds, 1);
  args[1].equals = int64_t(1) << 31;
  EXPECT_EQ(firstCode(build(kBuffer.str(), args)), "TW0124") << "an int32 ends before";
}

TEST_F(Frontend, AnErrorInACallShowsTheCall) {
  FrontendResult result = build(replaced("\"id\": \"SHIFT\"", "\"id\": \"SHIFTS\""));
  EXPECT_EQ(firstCode(result), "TW0101");
  const Diagnostic &diagnostic = result.diagnostics.front();
  EXPECT_EQ(diagnostic.labels.front().span.line, 6);
  ASSERT_EQ(diagnostic.callStack.size(), 1u);
  EXPECT_EQ(diagnostic.callStack[0].span.line, 2);
  EXPECT_NE(diagnostic.hint.find("SHIFT"), std::string::npos);
}

TEST_F(Frontend, AStaticExpressionIsAskedFor) {
  std::string request;
  evaluator = [&](const std::string &text) {
    request = text;
    return std::string(R"({"value": {"k": "int", "v": "9"}})");
  };
  FrontendResult result = build(replaced(R"({"_": "Name", "@": [6, 16, 6, 21], "id": "SHIFT"})",
                                         R"({"_": "Dict", "keys": [], "values": []})"));
  EXPECT_TRUE(bool(result.module));
  EXPECT_NE(request.find(R"("function":"f1")"), std::string::npos) << request;
  evaluator = [](const std::string &) { return std::string("not JSON"); };
  EXPECT_EQ(firstCode(build(replaced(R"({"_": "Name", "@": [6, 16, 6, 21], "id": "SHIFT"})",
                                     R"({"_": "Dict", "keys": [], "values": []})"))),
            "TW0116");
}

TEST_F(Frontend, MalformedBuffersAreReported) {
  EXPECT_EQ(firstCode(build("")), "TW0190");
  EXPECT_EQ(firstCode(build("[]")), "TW0190");
  EXPECT_EQ(firstCode(build(std::string(100000, '['))), "TW0190");
  EXPECT_EQ(firstCode(build(replaced("\"version\": 1", "\"version\": 2"))), "TW0190");
  EXPECT_EQ(firstCode(build(replaced("\"entry\": \"f0\"", "\"entry\": \"f9\""))), "TW0190");
  EXPECT_EQ(firstCode(build(replaced("{\"k\": \"int\", \"v\": \"5\"}", "{\"k\": \"int\"}"))),
            "TW0190");
  EXPECT_EQ(firstCode(build(replaced("\"id\": \"out\"", "\"id\": \".jumped\""))), "TW0190");
  EXPECT_EQ(firstCode(build(replaced("\"v\": \"f1\"", "\"v\": \"f7\""))), "TW0190");
}

TEST_F(Frontend, TruncatedBuffersNeverCrash) {
  for (size_t size = 0; size < kBuffer.size(); size += 7)
    EXPECT_EQ(firstCode(build(kBuffer.substr(0, size).str())), "TW0190");
}

TEST_F(Frontend, ArgumentsThatDoNotFitTheKernelAreReported) {
  std::vector<ArgumentSpec> args = arguments();
  args.pop_back();
  EXPECT_EQ(firstCode(build(kBuffer.str(), args)), "TW0124");
  args = arguments();
  args[1].type = "i33";
  EXPECT_EQ(firstCode(build(kBuffer.str(), args)), "TW0124");
  args = arguments();
  std::swap(args[0], args[1]);
  EXPECT_EQ(firstCode(build(kBuffer.str(), args)), "TW0124");
  args = arguments();
  args[2].constexprJson = "{";
  EXPECT_EQ(firstCode(build(kBuffer.str(), args)), "TW0124");
}
