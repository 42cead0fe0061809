// Calls of functions that the user's bitcode defines, in the LLVM dialect.
#include "passes/llvm/ExternCalls.h"
#include "ir/Diagnostic.h"
#include "ir/tile/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;

namespace {
struct LowerExternCall : ConvertOpToLLVMPattern<tile::ExternCallOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(tile::ExternCallOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    SmallVector<Type> parameters;
    for (Value source : adaptor.getSources())
      parameters.push_back(getElementTypeOrSelf(source.getType()));
    std::string name = (tile::kExternPrefix + op.getSymbol()).str();
    auto module = op->getParentOfType<ModuleOp>();
    Type result = getElementTypeOrSelf(type);
    auto before = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (before && before.getFunctionType() != LLVM::LLVMFunctionType::get(result, parameters))
      return emitCoded(op, Code::BitcodeMisfit)
             << "`" << op.getSymbol() << "` has two types in this kernel";
    FailureOr<LLVM::LLVMFuncOp> function =
        LLVM::lookupOrCreateFn(rewriter, module, name, parameters, result);
    if (failed(function))
      return failure();
    (*function)->setAttr(tile::kExternFunction, rewriter.getUnitAttr());
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, call(rewriter, op, *function, adaptor.getSources()));
      return success();
    }
    Value results = LLVM::PoisonOp::create(rewriter, op.getLoc(), type);
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      Value index = LLVM::ConstantOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), lane);
      SmallVector<Value> elements;
      for (Value source : adaptor.getSources())
        elements.push_back(LLVM::ExtractElementOp::create(rewriter, op.getLoc(), source, index));
      results = LLVM::InsertElementOp::create(rewriter, op.getLoc(), results,
                                              call(rewriter, op, *function, elements), index);
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static Value call(OpBuilder &builder, tile::ExternCallOp op, LLVM::LLVMFuncOp function,
                    ValueRange sources) {
    auto call = LLVM::CallOp::create(builder, op.getLoc(), function, sources);
    call.setNoUnwind(true);
    if (op.getIsPure()) {
      call.setWillReturn(true);
      auto none = LLVM::ModRefInfo::NoModRef;
      call.setMemoryEffectsAttr(
          LLVM::MemoryEffectsAttr::get(builder.getContext(), {none, none, none}));
    }
    return call.getResult();
  }
};
} // namespace

void tw::populateExternCallPatterns(const LLVMTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<LowerExternCall>(converter);
}
