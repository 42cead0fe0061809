// Inline PTX: instructions and modifiers that LLVM IR cannot name.
#ifndef BACKEND_NVIDIA_INLINEPTX_H
#define BACKEND_NVIDIA_INLINEPTX_H
#include "mlir/IR/Builders.h"
#include <string>

namespace tw::nvidia {

/// Collects the operands of one piece of inline PTX. All results are added before any operand:
/// their numbers come first.
class InlinePtx {
public:
  InlinePtx(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  /// A register that the code writes. With `initial` it holds that value before: what the result is
  /// where a predicate keeps the code from writing. Returns its name in the text.
  std::string addResult(mlir::Type type, mlir::Value initial = nullptr);
  /// A register that the code writes before it has read all of its operands.
  std::string addEarlyResult(mlir::Type type, mlir::Value initial = nullptr);
  /// A register that the code reads.
  std::string addOperand(mlir::Value value);
  /// "@$4 " for a mask, nothing without one.
  std::string addGuard(mlir::Value mask);
  /// Says that the code orders all accesses of memory before and after it.
  void clobbersMemory() { isOrdered = true; }
  /// Code with effects stays where it is; other code is a function of its operands.
  llvm::SmallVector<mlir::Value> emit(llvm::StringRef text, bool hasEffects);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<std::string> resultConstraints, operandConstraints;
  bool isOrdered = false;
};

/// `$0 = mnemonic(operands...)` without effects.
mlir::Value emitPureInstruction(mlir::OpBuilder &builder, mlir::Location loc,
                                llvm::StringRef mnemonic, mlir::Type result,
                                mlir::ValueRange operands);

} // namespace tw::nvidia
#endif
