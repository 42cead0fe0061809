// Builds inline assembly and calls of bitcode from typed operands: what the user wrote is checked
// against them.
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
  TilesOr inlineAsm(const AssemblyText &assembly, llvm::ArrayRef<TypedValue> sources,
                    llvm::ArrayRef<DType> dtypes);
  /// The function of the user's bitcode for each element. An error names source i as i.
  TileOr externCall(llvm::StringRef symbol, bool isPure, llvm::ArrayRef<TypedValue> sources,
                    DType dtype);

private:
  /// The sources under their common shape, and that shape: empty for scalars.
  struct Sources {
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<mlir::Value> values;
  };
  OrReason<Sources> underOneShape(llvm::ArrayRef<TypedValue> sources);
  mlir::Type resultType(DType dtype, llvm::ArrayRef<int64_t> shape) const;
};

} // namespace tw
#endif
