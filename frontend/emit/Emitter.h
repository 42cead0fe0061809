// Walks a kernel's syntax tree and emits Tile IR: the state that statements, expressions, control
// flow and calls share. The first error ends the walk: every function answers failure once it is
// reported.
#ifndef FRONTEND_EMITTER_H
#define FRONTEND_EMITTER_H
#include "frontend/Frontend.h"
#include "frontend/Progress.h"
#include "frontend/emit/Arguments.h"
#include "frontend/emit/Scopes.h"
#include "frontend/emit/SourceDiagnostic.h"
#include "frontend/tiles/TileBuilder.h"

namespace tw {

class Emitter : public Progress {
public:
  Emitter(mlir::OpBuilder &builder, const Program &program, const FrontendOptions &options,
          const StaticEvaluator &evaluator, std::vector<Diagnostic> &diagnostics)
      : builder(builder), tiles(builder), program(program), options(options), evaluator(evaluator),
        diagnostics(diagnostics) {
    builder.setListener(&operations);
  }
  ~Emitter() { builder.setListener(nullptr); }

  mlir::OpBuilder &builder;
  TileBuilder tiles;
  const Program &program;
  const FrontendOptions &options;

  // Reporting, in SourceReports.cpp.
  mlir::LogicalResult error(Code code, const Node &site, const llvm::Twine &message,
                            const llvm::Twine &hint, std::vector<SourceLabel> labels = {});
  mlir::LogicalResult error(const OperandError &error, const Node &site,
                            llvm::ArrayRef<const Node *> operands);
  mlir::LogicalResult unsupported(const Node &site, const llvm::Twine &what,
                                  const llvm::Twine &hint);
  mlir::LogicalResult absent(const Absent &absent, llvm::StringRef name, const Node &site);
  mlir::LogicalResult rejectAbsent(const Value &value, const Node &node);
  void remark(const Node &site, std::string text);
  SourceLabel label(const Node &node, std::string text) const;
  bool hasFailed() const;
  size_t numReports() const { return diagnostics.size(); }
  void dropReportsAfter(size_t count) { diagnostics.resize(count); }
  /// Operations are built for this node from now on.
  void locate(const Node &node);
  mlir::Location location() const { return tiles.location(); }

  // Names.
  Frame &frame() { return *frames.back(); }
  ValueOr readName(const Node &node);
  /// The captured value of a dotted chain such as `tw.load`; nullopt when it is not one.
  std::optional<ValueOr> readChain(const Node &node);
  void bind(llvm::StringRef name, Value value, const Node &site, bool isConstexpr = false);
  mlir::LogicalResult assign(const Node &target, const Value &value);
  Value flag(llvm::StringRef name);
  void setFlag(llvm::StringRef name, Value value);

  // Expressions.
  ValueOr eval(const Node &node);
  ValueOr evalByKind(const Node &node);
  ValueOr evalBoolOp(const Node &node);
  ValueOr evalCompare(const Node &node);
  mlir::FailureOr<TypedValue> toRuntime(const Value &value, const Node &node);
  mlir::FailureOr<mlir::Value> toCondition(const Value &value, const Node &node);
  /// An error for a pointer in the place of a condition that may never be evaluated.
  mlir::LogicalResult refusePointer(const TypedValue &condition, const Node &node);
  ValueOr binary(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                 const Node &lhsNode, const Node &rhsNode);
  /// Debug builds check sums, differences and products of integers, but those of the language's own
  /// library, of combining functions, and where `mayWrap` (`sanitize_overflow=False`).
  bool mayWrap = false;
  bool checksOverflowHere();
  ValueOr unary(llvm::StringRef op, const Value &operand, const Node &site, const Node &node);
  ValueOr compare(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                  const Node &lhsNode, const Node &rhsNode);
  ValueOr attribute(const Value &base, llvm::StringRef name, const Node &node);
  ValueOr subscript(const Value &base, const Value &index, const Node &node);
  ValueOr finish(TileBuilder::Value result, const Node &site,
                 llvm::ArrayRef<const Node *> operands);
  /// The elements for iteration or unpacking, else an error.
  mlir::FailureOr<std::vector<Value>> elements(const Value &value, const Node &node);
  /// Python evaluates an expression of compile-time values.
  ValueOr evaluateInPython(const Node &node);
  std::optional<Value> tryEvaluateInPython(const Node &node);
  /// str() or repr() of a compile-time value; an error for one that is known only at run time.
  ValueOr textOf(const Value &value, bool isRepr, const Node &node);
  ValueOr finish(StaticResult result, const Node &site);
  /// A builtin of Python on compile-time values, among them objects that only Python knows.
  std::optional<Value> pythonCall(llvm::StringRef function, llvm::ArrayRef<Value> operands,
                                  std::string &reason);
  ValueOr pythonFunction(llvm::StringRef function, llvm::ArrayRef<Value> operands,
                         const Node &site);
  /// base[index] of compile-time values.
  ValueOr pythonSubscript(const Value &base, const Value &index, const Node &node);
  StaticResult pythonOperator(llvm::StringRef op, const Value &lhs, const Value &rhs,
                              bool isComparison);
  mlir::FailureOr<bool> staticTruth(const Value &value, const Node &node);

  /// An error for an effect on memory or output inside of a combining function, whose calls have
  /// neither an order nor a number.
  mlir::LogicalResult refuseInCombine(const Node &site, const llvm::Twine &what);

  // Statements and control flow.
  mlir::LogicalResult checkDepth(const Node &node);
  mlir::LogicalResult emitBlock(llvm::ArrayRef<const Node *> body);
  mlir::LogicalResult emitStatement(const Node &node);
  mlir::LogicalResult emitIf(const Node &node, llvm::ArrayRef<const Node *> rest,
                             bool &hasEmittedRest);
  mlir::LogicalResult emitFor(const Node &node);
  mlir::LogicalResult emitWhile(const Node &node);
  /// Emits both arms of a run-time branch and joins the names.
  mlir::LogicalResult branch(mlir::Value condition, const Node &site, Emit thenArm, Emit elseArm);
  /// Emits code that runs unless the flag is set.
  mlir::LogicalResult unlessSet(llvm::StringRef flagName, const Node &site, Emit body);
  void leaveLoop();

  // Calls.
  ValueOr call(const Value &callee, Arguments arguments, const Node &site);
  ValueOr inlineFunction(const Callable &callee, Arguments arguments, const Node &site);
  ValueOr callPythonBuiltin(const Callable &callee, Arguments &arguments, const Node &site);
  /// Python calls a function with compile-time arguments. The other form reports no failure.
  ValueOr callInPython(const Value &callee, const Arguments &arguments, const Node &site);
  std::optional<Value> tryCallInPython(const Value &callee, const Arguments &arguments,
                                       const Node &site, std::string &reason);
  ValueOr callBuiltin(const Callable &callee, Arguments &arguments, const Node &site);
  ValueOr construct(const Callable &type, Arguments arguments, const Node &site);
  ValueOr callMethod(const Callable &method, Arguments arguments, const Node &site);
  /// Emits a frame's body and answers what it returns.
  ValueOr emitFunctionBody(std::shared_ptr<Frame> frame, const Node &site);
  ValueOr makeClosure(const Node &node);

  std::vector<std::shared_ptr<Frame>> frames;
  const llvm::json::Value &keep(llvm::json::Value json) {
    return answers.emplace_back(std::move(json));
  }

private:
  std::optional<Value> askPython(const Node &node, std::string &reason);
  std::optional<Value> askPython(llvm::json::Object expression, llvm::json::Object names,
                                 std::string &reason);

  const StaticEvaluator &evaluator;
  std::deque<llvm::json::Value> answers; // values point into them
  std::vector<Diagnostic> &diagnostics;
};

} // namespace tw
#endif
