// Builds inline assembly from typed operands: its text and constraints are checked against them.
#ifndef FRONTEND_ASSEMBLYBUILDER_H
#define FRONTEND_ASSEMBLYBUILDER_H
#include "frontend/tiles/OperandBuilder.h"

namespace tw {

/// Assembly text as the user writes it.
struct AssemblyText {
  std::string text, constraints;
  bool isPure = true;
  int64_t pack = 1; // elements that one copy of the text takes
};

class AssemblyBuilder : public OperandBuilder {
public:
  AssemblyBuilder(mlir::OpBuilder &builder, mlir::Location location) : OperandBuilder(builder) {
    setLocation(location);
  }
  /// One result for each dtype. An error names the text as operand 0, the constraints as 1 and
  /// source i as 2 + i.
  Values inlineAsm(const AssemblyText &assembly, llvm::ArrayRef<TypedValue> sources,
                   llvm::ArrayRef<DType> dtypes);
};

} // namespace tw
#endif
