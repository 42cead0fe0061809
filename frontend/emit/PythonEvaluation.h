// What only Python can evaluate: expressions, calls and operators on compile-time values.
#ifndef FRONTEND_PYTHONEVALUATION_H
#define FRONTEND_PYTHONEVALUATION_H
#include "frontend/emit/Emitter.h"
#include "frontend/values/OperatorTable.h"
#include "frontend/values/OrReason.h"

namespace tw {

/// Returns true if a value is an object that Python alone understands.
bool isObject(const PyValue &value);

/// The value of an expression of compile-time values.
mlir::FailureOr<PyValue> evaluateInPython(Emitter &emitter, const Node &node);
OrReason<PyValue> tryEvaluateInPython(Emitter &emitter, const Node &node);

/// Python calls a function with compile-time arguments.
mlir::FailureOr<PyValue> callInPython(Emitter &emitter, const PyValue &callee,
                                      const Arguments &arguments, const Node &site);
OrReason<PyValue> tryCallInPython(Emitter &emitter, const PyValue &callee,
                                  const Arguments &arguments, const Node &site);
/// A builtin of Python on compile-time values, among them objects that only Python knows.
OrReason<PyValue> pythonCall(Emitter &emitter, llvm::StringRef function,
                             llvm::ArrayRef<PyValue> operands);
/// The same of a name of the language, as `constexpr_type`.
OrReason<PyValue> languageCall(Emitter &emitter, llvm::StringRef function,
                               llvm::ArrayRef<PyValue> operands);
mlir::FailureOr<PyValue> pythonFunction(Emitter &emitter, llvm::StringRef function,
                                        llvm::ArrayRef<PyValue> operands, const Node &site);

/// base[index] of compile-time values.
mlir::FailureOr<PyValue> pythonSubscript(Emitter &emitter, const PyValue &base,
                                         const PyValue &index, const Node &node);
OrReason<PyValue> pythonUnary(Emitter &emitter, UnaryOperator op, const PyValue &operand);
OrReason<PyValue> pythonBinary(Emitter &emitter, BinaryOperator op, const PyValue &lhs,
                               const PyValue &rhs);
OrReason<PyValue> pythonComparison(Emitter &emitter, Comparison op, const PyValue &lhs,
                                   const PyValue &rhs);
/// str() or repr() of a compile-time value; an error for one that is known only at run time.
mlir::FailureOr<PyValue> textOf(Emitter &emitter, const PyValue &value, bool isRepr,
                                const Node &node);
/// The truth value of a compile-time value.
mlir::FailureOr<bool> staticTruth(Emitter &emitter, const PyValue &value, const Node &node);

} // namespace tw
#endif
