// Compiles functions in LLVM and vector dialects through expand-math, or functions of one lane
// through expand-simt-math, to machine code, for tests of values.
#include "VectorJit.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tw::test;

struct VectorJit::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*function)(const void *, const void *, void *, int64_t) = nullptr;
};

VectorJit::VectorJit(std::unique_ptr<State> state) : state(std::move(state)) {}
VectorJit::~VectorJit() = default;

unsigned tw::test::hostVectorBytes() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512f") && features.lookup("avx512dq") && features.lookup("avx512vl"))
    return 64;
  return features.lookup("avx2") && features.lookup("fma") ? 32 : 16;
}

/// A loop over vectors around the function's body.
static std::string moduleText(StringRef in, StringRef out, StringRef inputElement,
                              StringRef outputElement, unsigned lanes, StringRef body) {
  return llvm::formatv(R"(
    llvm.func @apply(%pa: !llvm.ptr, %pb: !llvm.ptr, %pr: !llvm.ptr, %n: i64) {{
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      llvm.br ^head(%zero : i64)
    ^head(%i: i64):
      %more = arith.cmpi slt, %i, %n : i64
      llvm.cond_br %more, ^body, ^end
    ^body:
      %lanes = arith.constant {5} : i64
      %first = arith.muli %i, %lanes : i64
      %qa = llvm.getelementptr %pa[%first] : (!llvm.ptr, i64) -> !llvm.ptr, {3}
      %qb = llvm.getelementptr %pb[%first] : (!llvm.ptr, i64) -> !llvm.ptr, {3}
      %qr = llvm.getelementptr %pr[%first] : (!llvm.ptr, i64) -> !llvm.ptr, {4}
      %a = llvm.load %qa {{alignment = 1} : !llvm.ptr -> {0}
      %b = llvm.load %qb {{alignment = 1} : !llvm.ptr -> {0}
      {2}
      llvm.store %r, %qr {{alignment = 1} : {1}, !llvm.ptr
      %next = arith.addi %i, %one : i64
      llvm.br ^head(%next : i64)
    ^end:
      llvm.return
    })",
                       in, out, body, inputElement, outputElement, lanes);
}

static void loadDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                      math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                      tw::simt::SimtDialect>();
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
}

static LogicalResult lowerToLlvm(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createSCFToControlFlowPass());
  if (failed(passes.run(module)))
    return failure();
  RewritePatternSet shapeCasts(module.getContext());
  vector::populateVectorShapeCastLoweringPatterns(shapeCasts);
  if (failed(applyPatternsGreedily(module, std::move(shapeCasts))))
    return failure();
  LLVMTypeConverter types(module.getContext());
  LLVMConversionTarget target(*module.getContext());
  RewritePatternSet patterns(module.getContext());
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

static LogicalResult expandVectors(ModuleOp module, unsigned vectorBytes) {
  SmallVector<tw::tile::Feature> features; // as processors with such registers have them
  if (vectorBytes > 16)
    features.push_back(tw::tile::Feature::FMA);
  if (vectorBytes > 32)
    features.push_back(tw::tile::Feature::ScaleByPower);
  MLIRContext *context = module.getContext();
  context->loadDialect<tw::tile::TileDialect>();
  module->setAttr(tw::kTargetAttribute,
                  tw::tile::SimdAttr::get(context, vectorBytes, /*registers=*/16, /*line_bytes=*/64,
                                          /*cache_bytes=*/32 << 10, {}, {}, "", features));
  PassManager passes(context);
  passes.addPass(tw::createExpandMath());
  return passes.run(module);
}

/// Calls of the stand-ins take the place of the machine's instructions.
static LogicalResult expandLane(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(tw::createExpandSimtMath());
  if (failed(passes.run(module)))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type single = builder.getF32Type(), kind = builder.getI32Type();
  Location loc = module.getLoc();
  auto declare = [&](StringRef name, ArrayRef<Type> operands) {
    auto type = LLVM::LLVMFunctionType::get(single, operands);
    return LLVM::LLVMFuncOp::create(builder, loc, name, type);
  };
  LLVM::LLVMFuncOp approximate = declare("lane_approximate", {kind, single});
  LLVM::LLVMFuncOp divide = declare("lane_divide", {single, single});
  module.walk([&](Operation *op) {
    IRRewriter rewriter(op);
    if (auto approx = dyn_cast<tw::simt::ApproxOp>(op)) {
      Value number =
          LLVM::ConstantOp::create(rewriter, loc, kind, static_cast<int64_t>(approx.getKind()));
      rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, approximate,
                                                ValueRange{number, approx.getSource()});
    } else if (isa<tw::simt::DivideOp>(op)) {
      rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, divide, op->getOperands());
    }
  });
  return success();
}

static llvm::Error link(llvm::orc::LLJIT &jit, llvm::orc::ThreadSafeModule module,
                        const LaneMachine &machine) {
  auto symbolOf = [](auto *function) {
    return llvm::orc::ExecutorSymbolDef(llvm::orc::ExecutorAddr::fromPtr(function),
                                        llvm::JITSymbolFlags::Exported);
  };
  llvm::orc::SymbolMap symbols;
  if (machine.approximate)
    symbols[jit.mangleAndIntern("lane_approximate")] = symbolOf(machine.approximate);
  if (machine.divide)
    symbols[jit.mangleAndIntern("lane_divide")] = symbolOf(machine.divide);
  if (llvm::Error error = jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)))
    return error;
  using llvm::orc::DynamicLibrarySearchGenerator;
  char prefix = jit.getDataLayout().getGlobalPrefix();
  for (const char *library : {"libmvec.so.1", "libm.so.6"}) {
    auto generator = DynamicLibrarySearchGenerator::Load(library, prefix);
    if (!generator)
      return generator.takeError();
    jit.getMainJITDylib().addGenerator(std::move(*generator));
  }
  return jit.addIRModule(std::move(module));
}

template <typename Expand>
std::unique_ptr<VectorJit> VectorJit::build(const std::string &text, Expand expand,
                                            const LaneMachine &machine) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module || failed(expand(*module)) || failed(lowerToLlvm(*module)))
    return nullptr;
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*module, *llvmContext);
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!llvmModule || !jit) {
    llvm::logAllUnhandledErrors(jit.takeError(), llvm::errs());
    return nullptr;
  }
  llvmModule->setDataLayout((*jit)->getDataLayout());
  auto state = std::make_unique<State>();
  state->jit = std::move(*jit);
  llvm::Error error = link(*state->jit, {std::move(llvmModule), std::move(llvmContext)}, machine);
  if (error) {
    llvm::logAllUnhandledErrors(std::move(error), llvm::errs());
    return nullptr;
  }
  auto address = state->jit->lookup("apply");
  if (!address) {
    llvm::logAllUnhandledErrors(address.takeError(), llvm::errs());
    return nullptr;
  }
  state->function = address->toPtr<decltype(state->function)>();
  return std::unique_ptr<VectorJit>(new VectorJit(std::move(state)));
}

std::unique_ptr<VectorJit> VectorJit::compile(const VectorFunction &function,
                                              unsigned vectorBytes) {
  std::string in = llvm::formatv("vector<{0}x{1}>", function.lanes, function.inputElement);
  std::string out = llvm::formatv("vector<{0}x{1}>", function.lanes, function.outputElement);
  std::string text = moduleText(in, out, function.inputElement, function.outputElement,
                                function.lanes, function.body);
  return build(
      text, [&](ModuleOp module) { return expandVectors(module, vectorBytes); }, LaneMachine());
}

std::unique_ptr<VectorJit> VectorJit::compile(const LaneFunction &function,
                                              const LaneMachine &machine) {
  std::string text = moduleText(function.inputElement, function.outputElement,
                                function.inputElement, function.outputElement, 1, function.body);
  return build(text, expandLane, machine);
}

void VectorJit::run(const void *a, const void *b, void *out, int64_t numVectors) const {
  state->function(a, b, out, numVectors);
}
