// A function to build into, operands of any type for it, and what the tests ask of the results.
#ifndef TEST_UNIT_FRONTEND_TILEBUILDERFIXTURE_H
#define TEST_UNIT_FRONTEND_TILEBUILDERFIXTURE_H
#include "frontend/tiles/TileBuilder.h"
#include "ir/RegisterDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace tw {

class TileBuilderTest : public ::testing::Test {
protected:
  using Shape = std::vector<int64_t>;

  TileBuilderTest() : context(makeRegistry()), builder(&context), tiles(builder) {
    context.loadAllAvailableDialects();
    module = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    function = mlir::func::FuncOp::create(builder, builder.getUnknownLoc(), "kernel",
                                          builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  /// What was built must be valid, whatever a test looked at.
  void TearDown() override {
    finishFunction();
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module))) << text();
  }

  /// Ends the function's body and gives it the type of its parameters, once.
  void finishFunction() {
    if (!function.front().empty() &&
        function.front().back().hasTrait<mlir::OpTrait::IsTerminator>())
      return;
    builder.setInsertionPointToEnd(&function.front());
    mlir::func::ReturnOp::create(builder, builder.getUnknownLoc());
    function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(), {}));
  }

  static DType dtype(llvm::StringRef name) {
    return name.consume_front("*") ? DType{findDType(name).row, true} : findDType(name);
  }

  /// A parameter: "fp32", or "*fp32" for a pointer; a tile when it has a shape.
  TypedValue value(llvm::StringRef name, const Shape &shape = {}) {
    DType type = dtype(name);
    mlir::Type irType = type.irType(&context);
    if (!shape.empty())
      irType = mlir::RankedTensorType::get(shape, irType);
    return {function.front().addArgument(irType, builder.getUnknownLoc()), type};
  }

  TypedValue literal(int64_t number) {
    return *tiles.intLiteral(llvm::APInt(64, number, true), number < 0);
  }

  static std::string opOf(const TypedValue &value) {
    mlir::Operation *op = value.value.getDefiningOp();
    return op ? op->getName().getStringRef().str() : "argument";
  }

  /// "op type", for a result: "arith.addf float32[8]"; the code, for an error.
  template <typename T> static std::string result(T built) {
    return built ? opOf(*built) + " " + built->str() : codeName(*built.reason().code);
  }
  static std::string result(std::optional<Reason> error) {
    return error ? codeName(*error->code) : "built";
  }
  static std::string result(TilesOr built) {
    if (!built)
      return codeName(*built.reason().code);
    std::string text;
    for (const TypedValue &value : *built)
      text += (text.empty() ? "" : ", ") + opOf(value) + " " + value.str();
    return text;
  }

  /// Readable before the function is finished, too.
  std::string text() {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->print(stream, mlir::OpPrintingFlags().assumeVerified());
    return printed;
  }
  bool contains(llvm::StringRef expected) { return llvm::StringRef(text()).contains(expected); }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  TileBuilder tiles;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerTileDialects(registry);
    return registry;
  }
};

} // namespace tw
#endif
